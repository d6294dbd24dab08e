"""What a cell scored: the mean of its records, and how far it may be off."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from enum import StrEnum

from handful.figures.figure import shown
from handful.figures.lines import Cell, mean
from handful.figures.records import Metric, Record

SPREAD = (
    "± is the 95 % interval over episodes where there is one record, and the standard deviation over records where "
    "there are several, which differ in their seeds."
)


class Measure(StrEnum):
    INTENT = "intent accuracy"
    STRICT = "slot F1 (strict)"
    RELEASED = "slot F1 (released)"


@dataclass(frozen=True, slots=True)
class Score:
    mean: float  # in percent
    spread: float | None

    def __str__(self) -> str:
        return shown(self.mean) if self.spread is None else f"{shown(self.mean)} ± {shown(self.spread)}"


def score(cell: Cell, measure: Measure) -> Score:
    found = [_metric(record, measure) for record in cell.records]
    if len(found) == 1:
        return Score(found[0].mean, found[0].ci95)
    means = [metric.mean for metric in found]
    return Score(mean(means), statistics.stdev(means))


def _metric(record: Record, measure: Measure) -> Metric:
    match measure:
        case Measure.INTENT:
            return record.intent_accuracy
        case Measure.STRICT:
            return record.slot_f1_strict
        case Measure.RELEASED:
            return record.slot_f1_released
