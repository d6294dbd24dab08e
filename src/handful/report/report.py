"""A report: who was asked for what, how that went, and what to know before reading the figures. Also as plain data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from handful.report.assessment import Assessment, Row
from handful.report.cases import Case, Span, found_spans, gold_spans

FORMAT = 1


@dataclass(frozen=True, slots=True)
class CrossValidation:
    folds: int
    seed: int

    def __str__(self) -> str:
        return f"its own examples, cross-validated in {self.folds} folds (seed {self.seed})"

    def as_json(self) -> dict[str, Any]:
        return {"mode": "cross-validation", "folds": self.folds, "seed": self.seed}


@dataclass(frozen=True, slots=True)
class Against:
    file: str

    def __str__(self) -> str:
        return f"the utterances of {self.file}"

    def as_json(self) -> dict[str, Any]:
        return {"mode": "against", "file": self.file}


@dataclass(frozen=True, slots=True)
class Report:
    bot: str
    intents: int
    slots: int
    examples: int
    learner: str
    asked: CrossValidation | Against
    assessment: Assessment
    notes: tuple[str, ...] = ()  # what to know before reading the figures

    def as_json(self) -> dict[str, Any]:
        """Plain data, described in docs/reading-a-report.md. What changes its meaning changes `format`."""
        found = self.assessment
        return {
            "format": FORMAT,
            "bot": {
                "name": self.bot,
                "intents": self.intents,
                "slots": self.slots,
                "examples": self.examples,
                "learner": self.learner,
            },
            "asked": {**self.asked.as_json(), "utterances": len(found.cases)},
            "notes": list(self.notes),
            "scores": {
                "intent_accuracy": _rounded(found.intent_accuracy),
                "slot_f1": _rounded(found.slot_f1),
                "joint_accuracy": _rounded(found.joint_accuracy),
                "calibration_error": _rounded(found.calibration_error),
                "rejected": found.rejected,
                "rejected_though_guessed": found.rejected_though_guessed,
            },
            "intents": [_row(row) for row in found.intents],
            "slots": [_row(row) for row in found.slots],
            "confusion": [asdict(pair) for pair in found.confusion],
            "calibration": [
                {
                    "low": own.low,
                    "high": own.high,
                    "count": own.count,
                    "right": own.right,
                    "accuracy": _rounded(own.accuracy),
                    "confidence": _rounded(own.confidence),
                }
                for own in found.bins
            ],
            "errors": [_error(case) for case in found.errors],
        }


def _row(row: Row) -> dict[str, Any]:
    return {
        "name": row.name,
        "precision": _rounded(row.precision),
        "recall": _rounded(row.recall),
        "f1": _rounded(row.f1),
        "support": row.there,
        "predicted": row.said,
        "right": row.right,
    }


def _error(case: Case) -> dict[str, Any]:
    return {
        "text": case.utterance.text,
        "fault": case.fault,
        "sureness": _rounded(case.sureness),
        "gold": {"intent": case.utterance.intent, "slots": [_span(span) for span in gold_spans(case.utterance)]},
        "parsed": {
            "intent": case.said,
            "guess": case.guess.name,
            "confidence": _rounded(case.guess.confidence),
            "slots": [
                {**_span(span), "confidence": _rounded(slot.confidence)}
                for span, slot in zip(found_spans(case.parse), case.parse.slots, strict=True)
            ],
        },
        "nearest": [
            {
                "text": near.utterance.text,
                "intent": near.utterance.intent,
                "slots": [_span(span) for span in gold_spans(near.utterance)],
                "similarity": _rounded(near.similarity),
            }
            for near in case.nearest
        ],
    }


def _span(span: Span) -> dict[str, Any]:
    return {"slot": span.key, "start": span.start, "end": span.end}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(float(value), 4)
