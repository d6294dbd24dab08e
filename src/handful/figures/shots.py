"""Quality against the number of support examples of a query's intent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from handful.figures.figure import (
    Figure,
    Missing,
    Numbers,
    Part,
    caption,
    f1,
    line_encodings,
    parts,
    plain,
    shown,
)
from handful.figures.lines import Cell, corpora_of, lines_of

TITLE = "Quality against shots"
BINS = ((1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, None))
_METRICS = ("intent accuracy, %", "slot F1 (strict), %")


def shots_figures(cells: Sequence[Cell]) -> list[Figure | Missing]:
    """One for each U_max: the larger support set has other episodes, so their queries are not to be added up."""
    known = [cell for cell in cells if _records(cell)]
    if not known:
        reason = "No record has counts by the number of examples: `handful bench` makes records that do."
        return [Missing(TITLE, reason)]
    return [
        _figure(part, u_max)
        for u_max in sorted({cell.u_max for cell in known})
        for part in parts([cell for cell in known if cell.u_max == u_max])
    ]


def _figure(part: Part, u_max: int) -> Figure:
    import altair as alt

    lines = lines_of(part.cells)
    corpora = corpora_of(part.cells)
    found = {cell: by_bin(cell) for cell in part.cells}
    panels = []
    for corpus in corpora:
        row = []
        for number, metric in enumerate(_METRICS):
            values = [
                {"line": cell.line.label, "k": name, "value": round(value, 3)}
                for cell in part.cells
                if cell.corpus == corpus
                for name, (_, *scores) in found[cell].items()
                if (value := scores[number]) is not None
            ]
            row.append(_panel(values, f"{corpus}: {metric.split(',')[0]}", metric, line_encodings(lines, dashes=True)))
        panels.append(alt.hconcat(*row))
    numbers = tuple(
        (cell.corpus, cell.line.label, name, queries, shown(accuracy), shown(score))
        for cell in part.cells
        for name, (queries, accuracy, score) in found[cell].items()
    )
    return Figure(
        f"shots-{part.name}-{u_max}",
        f"{TITLE}: {part.title}, U_max {u_max}",
        "A query counts at the number of examples that the support set has of its intent. Lines that rise make use of "
        "more examples; the left end is what one example is worth. Few queries stand behind some points: the table "
        "tells how many.",
        f"{caption([r for c in part.cells for r in _records(c)], 'strict')} Counts of several seeds are added up.",
        plain(alt.vconcat(*panels)),
        (Numbers(("data", "line", "examples", "queries", "intent accuracy %", "slot F1 strict %"), numbers, names=3),),
    )


def _panel(values: list[dict[str, Any]], title: str, metric: str, encodings: dict[str, Any]) -> Any:
    import altair as alt

    names = [bin_name(*own) for own in BINS]
    base = alt.Chart(alt.InlineData(values=values)).encode(
        x=alt.X(
            "k:O", scale=alt.Scale(domain=names), title="support examples of the intent", axis=alt.Axis(labelAngle=0)
        ),
        y=alt.Y("value:Q", scale=alt.Scale(domain=[0, 100]), title=metric),
    )
    strokes = base.mark_line(strokeWidth=2).encode(color=encodings["color"], strokeDash=encodings["strokeDash"])
    points = base.mark_point(filled=True, size=50, opacity=1).encode(color=encodings["color"], shape=encodings["shape"])
    return alt.layer(strokes, points).properties(width=340, height=200, title=title)


def by_bin(cell: Cell) -> dict[str, tuple[int, float | None, float | None]]:
    """Queries, intent accuracy and strict F1 in percent, by bin; a bin without queries is not there."""
    counts = [row for record in _records(cell) for row in record.details.shots]
    found: dict[str, tuple[int, float | None, float | None]] = {}
    for low, high in BINS:
        own = [row for row in counts if low <= row[0] and (high is None or row[0] <= high)]
        queries, right, spans_right, predicted, gold = (sum(row[column] for row in own) for column in range(1, 6))
        if queries:
            found[bin_name(low, high)] = (queries, 100 * right / queries, f1(spans_right, predicted, gold))
    return found


def bin_name(low: int, high: int | None) -> str:
    if high is None:
        return f"{low}+"
    return str(low) if low == high else f"{low}–{high}"


def _records(cell: Cell) -> list[Any]:
    return [record for record in cell.records if record.details is not None and record.details.shots]
