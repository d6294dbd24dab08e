"""Learning curves: the dev scores of runs after each of their epochs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from handful.figures.figure import Figure, Missing, Numbers, Part, caption, line_encodings, parts, plain, shown
from handful.figures.lines import Cell, Line, corpus_order, lines_of, mean
from handful.figures.records import Record

TITLE = "Learning curves"
_METRICS = ("dev intent accuracy, %", "dev slot F1 (strict), %")


@dataclass(frozen=True, slots=True)
class Curve:
    line: Line
    trained_on: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Point:
    step: int
    scores: tuple[float, float, float]  # intent accuracy, slot F1 strict and released; means over runs
    runs: int


def curve_figures(cells: Sequence[Cell]) -> list[Figure | Missing]:
    known = [cell for cell in cells if any(record.curve for record in cell.records)]
    if not known:
        reason = "No record has the dev scores of its run: `handful bench` makes records that do."
        return [Missing(TITLE, reason)]
    return [_figure(part) for part in parts(known)]


def curves_of(cells: Sequence[Cell]) -> list[Curve]:
    """A run that was scored on several data or at several U_max has one curve."""
    runs: defaultdict[tuple[Line, str], dict[int | None, Record]] = defaultdict(dict)
    for cell in cells:
        for record in cell.records:
            if record.curve:
                runs[cell.line, record.train_corpus or record.corpus].setdefault(record.train_seed, record)
    return [
        Curve(line, trained_on, _averaged([record.curve for record in own.values()]))
        for (line, trained_on), own in runs.items()
    ]


def _averaged(curves: Sequence[tuple[tuple[int, float, float, float], ...]]) -> tuple[Point, ...]:
    """Runs may end early, so a step is the mean of those that reached it."""
    steps: defaultdict[int, list[tuple[float, float, float]]] = defaultdict(list)
    for curve in curves:
        for step, *scores in curve:
            steps[step].append((scores[0], scores[1], scores[2]))
    return tuple(
        Point(step, (mean(s[0] for s in own), mean(s[1] for s in own), mean(s[2] for s in own)), len(own))
        for step, own in sorted(steps.items())
    )


def _figure(part: Part) -> Figure:
    import altair as alt

    lines = lines_of(part.cells)
    curves = curves_of(part.cells)
    panels = []
    for corpus in sorted({curve.trained_on for curve in curves}, key=corpus_order):
        row = []
        for number, metric in enumerate(_METRICS):
            values = [
                {"line": curve.line.label, "step": point.step, "value": round(point.scores[number], 3)}
                for curve in curves
                if curve.trained_on == corpus
                for point in curve.points
            ]
            row.append(_panel(values, f"{corpus}: {metric.split(',')[0]}", metric, line_encodings(lines, dashes=True)))
        panels.append(alt.hconcat(*row))
    numbers = tuple(
        (curve.trained_on, curve.line.label, point.step, *map(shown, point.scores), point.runs)
        for curve in curves
        for point in curve.points
    )
    used = [record for cell in part.cells for record in cell.records if record.curve]
    return Figure(
        f"curves-{part.name}",
        f"{TITLE}: {part.title}",
        "Scores on dev episodes by the steps of training. A curve that still rises at its end would gain by a larger "
        "budget; one that falls has begun to learn its train intents by heart.",
        f"{caption(used, 'strict')} Curves are of dev episodes, whose number the runs' settings tell; the rest is of "
        "the records that hold them. Of several runs, a step is the mean of those that reached it.",
        plain(alt.vconcat(*panels)),
        (
            Numbers(
                ("trained on", "line", "step", "intent accuracy %", "slot F1 strict %", "slot F1 released %", "runs"),
                numbers,
                names=2,
            ),
        ),
    )


def _panel(values: list[dict[str, Any]], title: str, metric: str, encodings: dict[str, Any]) -> Any:
    import altair as alt

    base = alt.Chart(alt.InlineData(values=values)).encode(
        x=alt.X("step:Q", title="training step", axis=alt.Axis(tickMinStep=1)),
        y=alt.Y("value:Q", scale=alt.Scale(domain=[0, 100]), title=metric),
    )
    strokes = base.mark_line(strokeWidth=2).encode(color=encodings["color"], strokeDash=encodings["strokeDash"])
    points = base.mark_point(filled=True, size=50, opacity=1).encode(color=encodings["color"], shape=encodings["shape"])
    return alt.layer(strokes, points).properties(width=340, height=200, title=title)
