"""The overview: every row's intents and slots on every data set, and which is the best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from handful.figures.figure import Figure, Missing, Numbers, Part, caption, parts, plain
from handful.figures.lines import Cell, corpora_of, lines_of
from handful.figures.scores import SPREAD, Measure, Score, score

TITLE = "Quality"
_SHAPES = ("circle", "diamond", "square", "triangle-up", "cross")
_STEP = 13  # of a score; a line has one for each U_max
_WIDTH = 190


def headline(cells: Sequence[Cell]) -> Numbers:
    """The best of each data set and U_max, of intents and of slots; of one line alone there is no best."""
    rows = []
    for corpus in corpora_of(cells):
        for u_max in sorted({cell.u_max for cell in cells if cell.corpus == corpus}):
            own = [cell for cell in cells if (cell.corpus, cell.u_max) == (corpus, u_max)]
            for measure in (Measure.INTENT, Measure.STRICT) if len(own) > 1 else ():
                best = max(own, key=lambda cell, of=measure: score(cell, of).mean)
                rows.append((corpus, u_max, measure, best.line.label, str(score(best, measure))))
    return Numbers(("data", "U_max", "of", "best", "%"), tuple(rows), names=4)


def quality_figures(cells: Sequence[Cell]) -> list[Figure | Missing]:
    if not cells:
        return [Missing(TITLE, "No record is of the split test: `handful bench` makes records that are.")]
    return [_figure(part) for part in parts(cells)]


def _figure(part: Part) -> Figure:
    import altair as alt

    u_maxes = sorted({cell.u_max for cell in part.cells})
    panels = [
        alt.hconcat(
            *(
                _panel([cell for cell in part.cells if cell.corpus == corpus], measure, corpus, u_maxes)
                for measure in Measure
            ),
            bounds="flush",  # a number that stands out of its panel shall not move the next one
            spacing=40,
        ).resolve_scale(yOffset="independent")
        for corpus in corpora_of(part.cells)
    ]
    numbers = tuple(
        (
            cell.corpus,
            cell.line.label,
            cell.u_max,
            *(str(score(cell, measure)) for measure in Measure),
            len(cell.records),
        )
        for cell in part.cells
    )
    return Figure(
        f"quality-{part.name}",
        f"{TITLE}: {part.title}",
        "Higher is better. Strict slot F1 chooses among all tags of the support set. The released scorer, that of "
        "the paper authors' code, is told which tags the queries have, and so is kinder.",
        f"{caption([r for c in part.cells for r in c.records], 'strict and released')} {SPREAD}",
        plain(alt.vconcat(*panels).resolve_scale(yOffset="independent")),
        (Numbers(("data", "line", "U_max", *(f"{measure} %" for measure in Measure), "records"), numbers, names=2),),
    )


def _panel(cells: Sequence[Cell], measure: Measure, corpus: str, u_maxes: Sequence[int]) -> Any:
    import altair as alt

    lines = lines_of(cells)
    values = [_point(cell, score(cell, measure)) for cell in cells]
    first = measure is Measure.INTENT  # the others stand beside it and need no names
    own = [str(u_max) for u_max in u_maxes if any(cell.u_max == u_max for cell in cells)]
    base = alt.Chart(alt.InlineData(values=values)).encode(
        y=alt.Y(
            "line:N",
            scale=alt.Scale(domain=[line.short for line in lines], paddingInner=0.25, paddingOuter=0.15),
            title=None,
            axis=alt.Axis(labels=first, ticks=first, labelLimit=300, grid=True),
        ),
        yOffset=alt.YOffset("u_max:N", scale=alt.Scale(domain=own)),
        color=alt.Color(
            "line:N",
            scale=alt.Scale(domain=[line.short for line in lines], range=[line.colour for line in lines]),
            legend=None,
        ),
    )
    across = alt.X("value:Q", scale=alt.Scale(domain=[0, 100]), title=f"{measure}, %")
    names = [str(u_max) for u_max in u_maxes]
    shapes = alt.Scale(domain=names, range=[_SHAPES[number % len(_SHAPES)] for number in range(len(names))])
    legend = alt.Legend(title="U_max", orient="bottom", direction="horizontal")
    rules = base.mark_rule(strokeWidth=1.5).encode(x=alt.X("low:Q"), x2="high:Q")
    points = base.mark_point(filled=True, size=45, opacity=1).encode(
        x=across, shape=alt.Shape("u_max:N", scale=shapes, legend=legend)
    )
    texts = base.mark_text(align="left", baseline="middle", dx=5, fontSize=9, style="value").encode(
        x=alt.X("high:Q"), text="text:N", color=alt.value("#1c2128")
    )
    return alt.layer(rules, points, texts).properties(
        width=_WIDTH, height=_STEP * len(own) * len(lines) + 14, title=f"{corpus}: {measure}"
    )


def _point(cell: Cell, found: Score) -> dict[str, object]:
    spread = found.spread or 0
    return {
        "line": cell.line.short,
        "u_max": str(cell.u_max),
        "value": round(found.mean, 3),
        "low": round(max(0, found.mean - spread), 3),
        "high": round(min(100, found.mean + spread), 3),
        "text": f"{found.mean:.1f}",
    }
