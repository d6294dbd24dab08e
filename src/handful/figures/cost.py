"""Quality against cost: what training, evaluation and memory buy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from handful.figures.figure import Figure, Missing, Numbers, caption, plain, shown
from handful.figures.lines import SHAPES, Cell, corpora_of, encoder_order, lines_of, mean
from handful.figures.scores import SPREAD, Measure, score

TITLE = "Quality against cost"
_MEASURES = (Measure.INTENT, Measure.STRICT)
_OWN = "on the data itself"
_WIDTH, _HEIGHT = 220, 150


@dataclass(frozen=True, slots=True)
class Cost:
    """Means over the records that know it."""

    train_seconds: float | None
    eval_seconds: float | None
    episode_seconds: float | None  # to adapt to an episode's support set and answer its queries
    peak_mb: float | None


_PANELS = (
    ("train_seconds", "training, seconds"),
    ("episode_seconds", "evaluation, seconds an episode"),
    ("peak_mb", "peak memory, MB"),
)


def cost_figures(cells: Sequence[Cell]) -> list[Figure | Missing]:
    """One for each U_max, with all encoders in it: what another encoder costs is the question."""
    known = [cell for cell in cells if any(getattr(cost(cell), name) for name, _ in _PANELS)]
    if not known:
        reason = "No record tells its seconds or its memory: `handful bench` makes records that do."
        return [Missing(TITLE, reason)]
    return [_figure([c for c in known if c.u_max == u_max], u_max) for u_max in sorted({c.u_max for c in known})]


def cost(cell: Cell) -> Cost:
    records = cell.records
    return Cost(
        _mean(record.train_seconds for record in records),
        _mean(record.eval_seconds for record in records),
        _mean(r.eval_seconds / r.episodes for r in records if r.eval_seconds is not None and r.episodes),
        _mean(record.peak_mb for record in records),
    )


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return mean(known) if known else None


def frontier(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Of (cost, quality), those that nothing beats at the same cost or less; from the cheapest up."""
    found: list[tuple[float, float]] = []
    for point in sorted(points, key=lambda own: (own[0], -own[1])):
        if not found or point[1] > found[-1][1]:
            found.append(point)
    return found


def _figure(cells: Sequence[Cell], u_max: int) -> Figure:
    import altair as alt

    corpora = corpora_of(cells)
    # Of one line alone there is nothing to weigh against anything: it is in the table.
    drawn = [corpus for corpus in corpora if sum(cell.corpus == corpus for cell in cells) > 1] or corpora
    shown_cells = [cell for cell in cells if cell.corpus in drawn]
    marks = _marks(shown_cells)
    hollow = f" Hollow marks are {' or '.join(foreign)}." if (foreign := _foreign(shown_cells)) else ""
    panels = [
        alt.hconcat(
            *(
                _panel([c for c in cells if c.corpus == corpus], measure, name, title, f"{corpus}: {measure}", marks)
                for name, title in _PANELS
            )
        )
        for corpus in drawn
        for measure in _MEASURES
    ]
    return Figure(
        f"cost-{u_max}",
        f"{TITLE}: U_max {u_max}",
        "Further up is better, further left is cheaper. Costs are on logarithmic scales, and no axis begins at nought. "
        "The grey steps are the best there is up to a cost: what lies below them is beaten by something that costs no "
        f"more. What was never trained, or did not tell a cost, is in the table alone.{hollow}",
        f"{caption([r for c in cells for r in c.records], 'strict')} {SPREAD} Costs are means over records. Seconds "
        "are those of the machines that did the work, which may have had other work as well; one training may serve "
        "several data sets and U_max. `handful bench` scores the two U_max of a run in one process, 20 first: what was "
        "encoded then is not encoded again at 100. Peak memory is that of the whole process, with the training where "
        "that was done in it.",
        plain(alt.vconcat(*panels)),
        (_numbers(cells),),
    )


def _marks(cells: Sequence[Cell]) -> dict[str, Any]:
    """Colour is the row, shape the encoder; what was trained on other data as well is hollow."""
    import altair as alt

    colours = {line.row: line.colour for line in lines_of(cells)}
    colour = alt.Scale(domain=list(colours), range=list(colours.values()))
    encoders = sorted({cell.line.encoder for cell in cells}, key=encoder_order)
    shapes = [SHAPES[number % len(SHAPES)] for number in range(len(encoders))]
    ways = [_OWN, *_foreign(cells)]

    def legend(title: str, columns: int) -> alt.Legend:
        return alt.Legend(title=title, orient="bottom", columns=columns, labelLimit=300, symbolSize=60)

    return {
        "color": alt.Color("row:N", scale=colour, legend=legend("row", 4)),
        "fill": alt.Fill("row:N", scale=colour, legend=None),
        "shape": alt.Shape("encoder:N", scale=alt.Scale(domain=encoders, range=shapes), legend=legend("encoder", 2)),
        "fillOpacity": alt.FillOpacity(
            "way:N",
            scale=alt.Scale(domain=ways, range=[1 if way == _OWN else 0 for way in ways]),
            legend=None,  # Vega draws none of an opacity that is all or nothing: the text says it
        ),
    }


def _foreign(cells: Iterable[Cell]) -> list[str]:
    return sorted({cell.line.training for cell in cells if cell.line.training})


def _panel(cells: Sequence[Cell], measure: Measure, name: str, title: str, heading: str, marks: dict[str, Any]) -> Any:
    import altair as alt

    # A logarithm knows no nought: what costs nothing was not trained.
    known = [(cell, value, score(cell, measure).mean) for cell in cells if (value := getattr(cost(cell), name))]
    values = [
        {
            "row": cell.line.row,
            "encoder": cell.line.encoder,
            "way": cell.line.training or _OWN,
            "cost": round(value, 5),
            "value": round(quality, 3),
        }
        for cell, value, quality in known
    ]
    steps = [{"cost": round(at, 5), "value": round(of, 3)} for at, of in frontier([own[1:] for own in known])]
    scale = alt.Scale(type="log", nice=False, padding=14)
    across = alt.X("cost:Q", scale=scale, title=title, axis=alt.Axis(tickCount=4, format="~g"))
    up = alt.Y("value:Q", scale=alt.Scale(zero=False, padding=10), title=f"{measure}, %", axis=alt.Axis(tickCount=6))
    best = (
        alt.Chart(alt.InlineData(values=steps))
        .mark_line(interpolate="step-after", strokeWidth=1, style="diagonal")
        .encode(x=across, y=up)
    )
    points = (
        alt.Chart(alt.InlineData(values=values))
        .mark_point(size=42, strokeWidth=1.5, opacity=0.9)
        .encode(x=across, y=up, **marks)
    )
    return alt.layer(best, points).properties(width=_WIDTH, height=_HEIGHT, title=heading)


def _numbers(cells: Sequence[Cell]) -> Numbers:
    rows = []
    for cell in cells:
        found = cost(cell)
        rows.append(
            (
                cell.corpus,
                cell.line.label,
                *(str(score(cell, measure)) for measure in _MEASURES),
                shown(found.train_seconds, 0),
                shown(found.eval_seconds),
                shown(found.episode_seconds, 3),
                shown(found.peak_mb, 0),
                len(cell.records),
            )
        )
    return Numbers(
        (
            "data",
            "line",
            *(f"{measure} %" for measure in _MEASURES),
            "trained, s",
            "evaluated, s",
            "s an episode",
            "peak MB",
            "records",
        ),
        tuple(rows),
        names=2,
    )
