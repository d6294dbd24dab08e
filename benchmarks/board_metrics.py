"""What a board reports, from gold annotation and predictions: fractions of tasks, and percents with intervals.

A span is right if its label and both its borders are, by characters. Metrics of a single test file get a bootstrap
over its sentences; those of several tasks an interval by Student's t over the tasks.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from confidence_metrics import Floats, auroc, calibration_error
from numpy.typing import NDArray
from peer_answers import Span

from handful.training.scoring import SpanCounts

Bools = NDArray[np.bool_]
Rows = NDArray[np.intp]
RESAMPLES, BOOTSTRAP_SEED = 1000, 0
ERRORS_ALLOWED = 0.05


@dataclass(frozen=True, slots=True)
class GoldSentence:
    intent: str
    spans: frozenset[Span]


@dataclass(frozen=True, slots=True)
class BoardPrediction:
    """What a system says of a sentence; None is what it cannot say."""

    intent: str | None = None  # the likeliest, whether the sentence is rejected or not
    confidence: float | None = None  # of that intent
    spans: tuple[Span, ...] | None = None
    span_confidences: tuple[float, ...] | None = None
    in_scope: float | None = None  # the higher, the likelier some intent of the bot is meant
    rejected: bool | None = None


@dataclass(frozen=True, slots=True, eq=False)
class IntentOutcomes:
    """One row a sentence, [n] each; nan and None where a system has no such score or no threshold."""

    right: Bools
    confidences: Floats
    in_scope: Floats
    rejected: Bools | None

    @classmethod
    def of(cls, right: Sequence[bool], predictions: Sequence[BoardPrediction]) -> IntentOutcomes:
        rejections = [prediction.rejected for prediction in predictions]
        return cls(
            np.array(right, dtype=bool),
            np.array([prediction.confidence for prediction in predictions], dtype=float),
            np.array([prediction.in_scope for prediction in predictions], dtype=float),
            None if None in rejections else np.array(rejections, dtype=bool),
        )

    def __len__(self) -> int:
        return len(self.right)

    def __getitem__(self, rows: Rows) -> IntentOutcomes:
        rejected = None if self.rejected is None else self.rejected[rows]
        return IntentOutcomes(self.right[rows], self.confidences[rows], self.in_scope[rows], rejected)


@dataclass(frozen=True, slots=True, eq=False)
class SlotOutcomes:
    counts: SpanCounts  # over all sentences
    exact: Bools  # [n]: each span of the sentence found, and no other
    confidences: Floats = field(default_factory=lambda: np.zeros(0))  # of predicted spans, [m]
    right: Bools = field(default_factory=lambda: np.zeros(0, dtype=bool))  # [m]

    @classmethod
    def of(cls, gold: Sequence[GoldSentence], predictions: Sequence[BoardPrediction]) -> SlotOutcomes:
        counts, exact, confidences, right = SpanCounts(), [], [], []
        for sentence, prediction in zip(gold, predictions, strict=True):
            # Sets, not sequences: a span predicted twice earns credit once.
            found = frozenset(prediction.spans or ())
            counts += SpanCounts(len(found & sentence.spans), len(found), len(sentence.spans))
            exact.append(found == sentence.spans)
            confidences += prediction.span_confidences or ()
            right += [span in sentence.spans for span in prediction.spans or ()]
        if confidences and len(confidences) != len(right):
            raise ValueError(f"found {len(confidences)} confidences of {len(right)} spans, expected one of each")
        return cls(counts, np.array(exact, dtype=bool), np.array(confidences), np.array(right, dtype=bool))


def coverage_at_error(scores: Floats, right: Bools, allowed: float = ERRORS_ALLOWED) -> float:
    """The largest share of sentences, the surest first, of which at most so many are wrong. [n], [n].

    Sentences of one score are answered together or not at all: no threshold lies between them.
    """
    order = np.argsort(-scores, kind="stable")
    ranked, wrong = scores[order], np.cumsum(~right[order])
    answered = np.arange(1, len(ranked) + 1)
    last_of_score = np.append(ranked[1:] != ranked[:-1], True)
    possible = answered[last_of_score & (wrong <= allowed * answered)]
    return float(possible.max(initial=0) / len(ranked))


def in_scope_accuracy(inside: IntentOutcomes) -> float:
    if inside.rejected is None:
        raise ValueError("the system rejects nothing: it has no threshold")
    return float((inside.right & ~inside.rejected).mean())


def out_of_scope_recall(outside: IntentOutcomes) -> float:
    if outside.rejected is None:
        raise ValueError("the system rejects nothing: it has no threshold")
    return float(outside.rejected.mean())


def coverage_at_5(inside: IntentOutcomes, outside: IntentOutcomes) -> float:
    """Of all sentences, in scope or not, ranked by in_scope × confidence; an answer out of scope is wrong."""
    scores = [part.in_scope * part.confidences for part in (inside, outside)]
    return coverage_at_error(np.concatenate(scores), np.concatenate([inside.right, outside.right]))


# Of the outcomes in scope and out of scope.
INTENT_METRICS: Mapping[str, Callable[[IntentOutcomes, IntentOutcomes], float]] = {
    "intent_accuracy": lambda inside, _: float(inside.right.mean()),
    "intent_ece": lambda inside, _: calibration_error(inside.confidences, inside.right),
    "auroc": lambda inside, outside: auroc(inside.in_scope, outside.in_scope),
    "in_scope_accuracy": lambda inside, _: in_scope_accuracy(inside),
    "oos_recall": lambda _, outside: out_of_scope_recall(outside),
    "coverage_at_5": coverage_at_5,
}
SLOT_METRICS: Mapping[str, Callable[[IntentOutcomes, SlotOutcomes], float]] = {
    "slot_f1": lambda _, slots: slots.counts.f1,
    "joint_accuracy": lambda intents, slots: float((intents.right & slots.exact).mean()),
    "slot_ece": lambda _, slots: calibration_error(slots.confidences, slots.right) if len(slots.right) else 0.0,
}


@dataclass(frozen=True, slots=True, eq=False)
class TaskOutcomes:
    """Of one task: its queries, and its sentences that are out of scope."""

    inside: IntentOutcomes
    outside: IntentOutcomes
    slots: SlotOutcomes

    @classmethod
    def of(cls, gold: Sequence[GoldSentence], predictions: Sequence[BoardPrediction]) -> TaskOutcomes:
        """`predictions` are those of the gold sentences, and behind them those of sentences out of scope."""
        inside, outside = predictions[: len(gold)], predictions[len(gold) :]
        right = [said.intent == sentence.intent for said, sentence in zip(inside, gold, strict=True)]
        return cls(
            IntentOutcomes.of(right, inside),
            IntentOutcomes.of([False] * len(outside), outside),  # whatever is answered there is wrong
            SlotOutcomes.of(gold, inside),
        )

    def fraction(self, metric: str) -> float:
        if metric in SLOT_METRICS:
            return SLOT_METRICS[metric](self.inside, self.slots)
        return INTENT_METRICS[metric](self.inside, self.outside)


# -- means and intervals, in percent ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Interval:
    mean: float
    ci95: float | None  # half the width of the 95 % interval; None: one value has none

    def in_percent(self) -> dict[str, float | None]:
        half = None if self.ci95 is None else round(100 * self.ci95, 3)
        return {"mean": round(100 * self.mean, 3), "ci95": half}


def over_sentences(metric: str, task: TaskOutcomes) -> Interval:
    """Half of the bootstrap's 95 % interval; sentences in and out of scope are drawn apart, as many as there are."""
    if metric in SLOT_METRICS:
        raise ValueError(f"{metric} has no interval over sentences: boards with slots have several tasks")
    statistic = INTENT_METRICS[metric]
    rng, inside, outside = np.random.default_rng(BOOTSTRAP_SEED), task.inside, task.outside
    drawn = [
        statistic(inside[_resample(rng, len(inside))], outside[_resample(rng, len(outside))]) for _ in range(RESAMPLES)
    ]
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Interval(statistic(inside, outside), float(high - low) / 2)


def _resample(rng: np.random.Generator, size: int) -> Rows:
    return rng.integers(0, size, size) if size else np.zeros(0, dtype=np.intp)


def over_tasks(fractions: Sequence[float]) -> Interval:
    return Interval(statistics.fmean(fractions), student_half_width(fractions))


def over_domains(fractions: Sequence[Sequence[float]]) -> Interval:
    """The mean of the domains' means. The domains are fixed, so only their episodes vary:
    the variance is Σ_d s_d² / n_d / D²."""
    means = [statistics.fmean(own) for own in fractions]
    if any(len(own) < 2 for own in fractions):
        return Interval(statistics.fmean(means), None)
    variance = sum(statistics.variance(own) / len(own) for own in fractions) / len(fractions) ** 2
    half = student_quantile(sum(len(own) - 1 for own in fractions)) * variance**0.5
    return Interval(statistics.fmean(means), half)


def student_half_width(values: Sequence[float]) -> float | None:
    """Half the width of the 95 % interval of a mean, by Student's t; one value has none."""
    if len(values) < 2:
        return None
    return student_quantile(len(values) - 1) * statistics.stdev(values) / len(values) ** 0.5


def student_quantile(freedom: int) -> float:
    """97.5 % of Student's t."""
    from scipy.special import stdtrit  # tables are made without scipy

    return float(stdtrit(freedom, 0.975))
