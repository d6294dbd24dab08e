"""Reliability: how often an intent of a given confidence is right."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from handful.figures.figure import Figure, Missing, Numbers, Part, caption, parts, plain, shown
from handful.figures.lines import Cell, corpora_of
from handful.report.assessment import Bin, expected_calibration_error
from handful.training.details import BINS

TITLE = "Calibration"
_COLUMNS = 4
_SIZE = 150
_TITLE_WIDTH = 27  # characters above a panel


def calibration_figures(cells: Sequence[Cell]) -> list[Figure | Missing]:
    """One for each U_max: confidences of the larger support set are those of other episodes."""
    known = [cell for cell in cells if _records(cell)]
    if not known:
        reason = "No record has counts by confidence: `handful bench` makes records that do."
        return [Missing(TITLE, reason)]
    return [
        _figure(part, u_max)
        for u_max in sorted({cell.u_max for cell in known})
        for part in parts([cell for cell in known if cell.u_max == u_max])
    ]


def reliability(cell: Cell) -> tuple[Bin, ...]:
    """Counts of several seeds are added up."""
    records = _records(cell)
    found = []
    for number in range(BINS):
        own = [record.details.calibration[number] for record in records]
        count, confidences, right = (sum(row[column] for row in own) for column in range(3))
        mean = confidences / count if count else None
        found.append(Bin(number / BINS, (number + 1) / BINS, int(count), int(right), mean))
    return tuple(found)


def _figure(part: Part, u_max: int) -> Figure:
    import altair as alt

    found = {cell: reliability(cell) for cell in part.cells}
    # A panel for each line: reliabilities run close to the same diagonal and would hide each other.
    grids = [
        alt.concat(
            *(_panel(cell, bins) for cell, bins in found.items() if cell.corpus == corpus),
            columns=_COLUMNS,
            title=alt.TitleParams(corpus, fontSize=13, offset=10),
        )
        for corpus in corpora_of(part.cells)
    ]
    return Figure(
        f"calibration-{part.name}-{u_max}",
        f"{TITLE}: {part.title}, U_max {u_max}",
        "Can an intent's confidence be taken at its word? Above the dashed line it is right more often than it says, "
        "below it less often. A point is a tenth of the scale, its size the share of the queries that fall into it. "
        "The calibration error (ECE) is the distance from the line, averaged over the queries.",
        f"{caption([r for c in part.cells for r in _records(c)], 'strict')} {BINS} bins of equal width; counts of "
        "several seeds are added up.",
        plain(alt.vconcat(*grids)),
        (_errors(found), _bins(found)),
    )


def _panel(cell: Cell, bins: Sequence[Bin]) -> Any:
    import altair as alt

    total = sum(own.count for own in bins)
    values = [
        {"confidence": round(own.confidence, 4), "right": round(own.accuracy, 4), "share": round(own.count / total, 4)}
        for own in bins
        if own.confidence is not None and own.accuracy is not None
    ]
    unit = alt.Scale(domain=[0, 1])
    axis = alt.Axis(format=".0%", values=[0, 0.5, 1], grid=False)
    diagonal = (
        alt.Chart(alt.InlineData(values=[{"confidence": 0, "right": 0}, {"confidence": 1, "right": 1}]))
        .mark_line(strokeDash=[4, 4], strokeWidth=1, style="diagonal")
        .encode(x="confidence:Q", y="right:Q")
    )
    base = alt.Chart(alt.InlineData(values=values)).encode(
        x=alt.X("confidence:Q", scale=unit, axis=axis, title="confidence"),
        y=alt.Y("right:Q", scale=unit, axis=axis, title="right"),
    )
    stroke = base.mark_line(strokeWidth=1.5, color=cell.line.colour)
    # By area, and the same in every panel.
    size = alt.Size("share:Q", scale=alt.Scale(domain=[0, 1], range=[12, 500]), legend=None)
    points = base.mark_circle(opacity=0.85, color=cell.line.colour).encode(size=size)
    heading = [
        *textwrap.wrap(cell.line.short, _TITLE_WIDTH),
        f"ECE {shown(_percent(expected_calibration_error(bins)))} %",
    ]
    return alt.layer(diagonal, stroke, points).properties(
        width=_SIZE, height=_SIZE, title=alt.TitleParams(heading, fontSize=11, fontWeight="normal")
    )


def _errors(found: dict[Cell, tuple[Bin, ...]]) -> Numbers:
    rows = []
    for cell, bins in found.items():
        queries = sum(own.count for own in bins)
        confidences = sum(own.count * own.confidence for own in bins if own.confidence is not None)
        right = sum(own.right for own in bins)
        error = expected_calibration_error(bins)
        shares = (error, confidences / queries, right / queries)
        rows.append((cell.corpus, cell.line.label, queries, *(shown(_percent(share)) for share in shares)))
    return Numbers(
        ("data", "line", "queries", "calibration error %", "mean confidence %", "intents right %"), tuple(rows), names=2
    )


def _bins(found: dict[Cell, tuple[Bin, ...]]) -> Numbers:
    rows = tuple(
        (
            cell.corpus,
            cell.line.label,
            f"{100 * own.low:.0f}–{100 * own.high:.0f}",
            own.count,
            shown(_percent(own.confidence)),
            shown(_percent(own.accuracy)),
        )
        for cell, bins in found.items()
        for own in bins
        if own.count
    )
    return Numbers(("data", "line", "confidence %", "queries", "mean confidence %", "right %"), rows, names=3)


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _records(cell: Cell) -> list[Any]:
    return [
        r for r in cell.records if r.details is not None and any(queries for queries, _, _ in r.details.calibration)
    ]
