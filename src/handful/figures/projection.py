"""Figure 2 of the paper: sentence embeddings on a plane, before and after training."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from handful.figures.figure import Figure, Missing, Numbers, plain, shown
from handful.figures.records import FIGURE_2, Panel, Projection

if TYPE_CHECKING:
    import altair as alt

TITLE = "Figure 2: sentences on a plane"
_COLOURS = (
    "#2f6fd0",
    "#e0762b",
    "#1a9850",
    "#c0392b",
    "#8a63d2",
    "#8c6d1f",
    "#d64a8a",
    "#7d8a96",
    "#1b9fb3",
    "#6b8e23",
)
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
_SIZE = 230


def projection_figure(projection: Projection | None) -> Figure | Missing:
    """A column for each panel, a row for each split: in one panel, twelve intents would hide each other."""
    import altair as alt

    if projection is None:
        return Missing(TITLE, f"There is no {FIGURE_2} among the results: `handful bench --figure` makes it.")
    rows = [
        alt.hconcat(*(_panel(projection, panel, split) for panel in projection.panels))
        for split in range(len(projection.splits))
        if _intents(projection, split)
    ]
    # A legend for each row: the intents of train and test are never the same.
    chart = alt.vconcat(*rows).resolve_scale(color="independent", shape="independent")
    return Figure("figure2", TITLE, _says(projection), _caption(projection), plain(chart), _numbers(projection))


def _intents(projection: Projection, split: int) -> list[int]:
    return sorted({point[2] for panel in projection.panels for point in panel.points if point[3] == split})


def _panel(projection: Projection, panel: Panel, split: int) -> alt.Chart:
    import altair as alt

    numbers = _intents(projection, split)
    names = [projection.intents[number] for number in numbers]
    name = projection.splits[split]
    values = [{"x": x, "y": y, "intent": projection.intents[i]} for x, y, i, own in panel.points if own == split]
    separation = panel.separation.get(name)
    legend = alt.Legend(title=f"{name} intents", labelLimit=300, symbolSize=60, symbolOpacity=1)
    # By the intent's number, so that it looks the same in every panel.
    colours = alt.Scale(domain=names, range=[_COLOURS[number % len(_COLOURS)] for number in numbers])
    shapes = alt.Scale(domain=names, range=[_SHAPES[number % len(_SHAPES)] for number in numbers])
    return (
        alt.Chart(alt.InlineData(values=values))
        .mark_point(filled=True, size=22, opacity=0.75)
        .encode(
            x=alt.X("x:Q", axis=None, scale=_extent(panel, 0)),
            y=alt.Y("y:Q", axis=None, scale=_extent(panel, 1)),
            color=alt.Color("intent:N", scale=colours, legend=legend),
            shape=alt.Shape("intent:N", scale=shapes, legend=legend),
        )
        .properties(width=_SIZE, height=_SIZE, title=f"{panel.name}, {name}: silhouette {shown(separation, 2)}")
    )


def _extent(panel: Panel, axis: int) -> alt.Scale:
    """The same for train and test: it is one plane."""
    import altair as alt

    values = [point[axis] for point in panel.points]
    return alt.Scale(domain=[min(values, default=0), max(values, default=1)], nice=False, zero=False, padding=6)


def _says(projection: Projection) -> str:
    panels = projection.panels
    found = []
    for split in projection.splits:
        known = [f"{p.name} {shown(p.separation[split], 2)}" for p in panels if split in p.separation]
        if known:
            found.append(f"{split} intents {', '.join(known)}")
    told = f" Mean silhouette in the full space: {'; '.join(found)}." if found else ""
    return (
        "Each point is a sentence, its colour and shape the intent. The more the intents of a panel lie apart, the "
        f"better an example or two will tell them from each other.{told} A silhouette is 1 where intents are far "
        "apart and 0 where they overlap; distances on the plane itself mean little."
    )


def _caption(projection: Projection) -> str:
    names = ", ".join(f"{p.name} ({'untrained' if p.row is None else f'row {p.row}'})" for p in projection.panels)
    budget = f" Trained with {projection.budget}." if projection.budget else ""
    return (
        f"Panels: {names}, with MiniLM. Data: {projection.corpus}, splits {' and '.join(projection.splits)}; whole "
        f"splits and no episodes, so there is no U_max and no scorer. Seed {projection.seed}. "
        f"Method: {projection.method}.{budget}"
    )


def _numbers(projection: Projection) -> tuple[Numbers, ...]:
    separation = tuple(
        (p.name, p.row or "untrained", *(shown(p.separation.get(split), 4) for split in projection.splits))
        for p in projection.panels
    )
    counts = [Counter((point[3], point[2]) for point in panel.points) for panel in projection.panels]
    points = tuple(
        (projection.splits[split], projection.intents[intent], *(count[split, intent] for count in counts))
        for split in range(len(projection.splits))
        for intent in _intents(projection, split)
    )
    return (
        Numbers(("panel", "row", *(f"silhouette, {split}" for split in projection.splits)), separation, names=2),
        Numbers(("split", "intent", *(f"points, {panel.name}" for panel in projection.panels)), points, names=2),
    )
