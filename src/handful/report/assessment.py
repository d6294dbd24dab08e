"""Cases counted: how often the intent, the slots and the whole were right, for which intents and slots, and how far
the confidences can be trusted. Scores are fractions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from handful.parser.parse import FALLBACK
from handful.report.cases import Case, worst_first
from handful.training.scoring import SpanCounts

BINS = 10


@dataclass(frozen=True, slots=True)
class Row:
    """An intent or a slot. What was never said has no precision, what was never there no recall."""

    name: str
    right: int
    said: int
    there: int

    @property
    def precision(self) -> float | None:
        return self.right / self.said if self.said else None

    @property
    def recall(self) -> float | None:
        return self.right / self.there if self.there else None

    @property
    def f1(self) -> float:
        """A row exists where the name was there or was said, so this is always a number."""
        return 2 * self.right / (self.said + self.there)


@dataclass(frozen=True, slots=True)
class Confused:
    gold: str
    said: str  # FALLBACK where it was rejected
    count: int


@dataclass(frozen=True, slots=True)
class Bin:
    """The parses whose confidence lies in [low, high), or [low, 1] for the last."""

    low: float
    high: float
    count: int
    right: int
    confidence: float | None  # the mean; none in an empty bin

    @property
    def accuracy(self) -> float | None:
        return self.right / self.count if self.count else None


@dataclass(frozen=True, slots=True)
class Assessment:
    cases: tuple[Case, ...]
    errors: tuple[Case, ...]  # the worst first
    right_intents: int
    right_parses: int  # intent and every slot
    rejected: int
    rejected_though_guessed: int  # of these, where the best guess was the intent
    spans: SpanCounts
    intents: tuple[Row, ...]  # from the worst F1 up, as the slots
    slots: tuple[Row, ...]
    confusion: tuple[Confused, ...]  # all pairs, right ones too, from the most frequent down
    bins: tuple[Bin, ...]

    @property
    def intent_accuracy(self) -> float:
        return self.right_intents / len(self.cases)

    @property
    def slot_f1(self) -> float | None:
        """None where there are no slots and none were found: nothing was measured."""
        return self.spans.f1 if self.spans.gold or self.spans.predicted else None

    @property
    def joint_accuracy(self) -> float:
        return self.right_parses / len(self.cases)

    @property
    def calibration_error(self) -> float:
        return expected_calibration_error(self.bins)

    @property
    def confused(self) -> tuple[Confused, ...]:
        """The wrong ones; what was rejected comes last, for it was not taken for anything."""
        wrong = [pair for pair in self.confusion if pair.gold != pair.said]
        return tuple(sorted(wrong, key=lambda pair: pair.said == FALLBACK))


def assess(cases: Sequence[Case]) -> Assessment:
    if not cases:
        raise ValueError("there is nothing to assess")
    rejected = [case for case in cases if case.said == FALLBACK]
    return Assessment(
        cases=tuple(cases),
        errors=worst_first(tuple(cases)),
        right_intents=sum(case.right_intent for case in cases),
        right_parses=sum(case.fault is None for case in cases),
        rejected=len(rejected),
        rejected_though_guessed=sum(c.guess.name == c.utterance.intent and not c.right_intent for c in rejected),
        spans=sum((case.spans for case in cases), SpanCounts()),
        intents=intent_rows(cases),
        slots=slot_rows(cases),
        confusion=confusion_of(cases),
        bins=confidence_bins(cases, BINS),
    )


def intent_rows(cases: Iterable[Case]) -> tuple[Row, ...]:
    """Of what the file or the bot calls an intent: rejecting is one only where it was asked for."""
    pairs = Counter((case.utterance.intent, case.said) for case in cases)
    rows = _rows(
        right={gold: count for (gold, said), count in pairs.items() if gold == said},
        said=_summed((said, count) for (_, said), count in pairs.items()),
        there=_summed((gold, count) for (gold, _), count in pairs.items()),
    )
    return tuple(row for row in rows if row.there or row.name != FALLBACK)


def slot_rows(cases: Sequence[Case]) -> tuple[Row, ...]:
    return _rows(
        right=Counter(span.key for case in cases for span in case.gold & case.found),
        said=Counter(span.key for case in cases for span in case.found),
        there=Counter(span.key for case in cases for span in case.gold),
    )


def confusion_of(cases: Iterable[Case]) -> tuple[Confused, ...]:
    counts = Counter((case.utterance.intent, case.said) for case in cases)
    found = [Confused(gold, said, count) for (gold, said), count in counts.items()]
    return tuple(sorted(found, key=lambda pair: (-pair.count, pair.gold, pair.said)))


def confidence_bins(cases: Iterable[Case], bins: int) -> tuple[Bin, ...]:
    """Equal widths. The confidence is that of the best guess, so a parse that was rejected counts by its guess."""
    edges = [number / bins for number in range(bins + 1)]
    held: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    for case in cases:
        name, confidence = case.guess
        held[min(int(confidence * bins), bins - 1)].append((confidence, name == case.utterance.intent))
    return tuple(
        Bin(low, high, len(own), sum(right for _, right in own), _mean([confidence for confidence, _ in own]))
        for (low, high), own in zip(pairwise(edges), held, strict=True)
    )


def expected_calibration_error(bins: Sequence[Bin]) -> float:
    """Σ_b n_b / n · |accuracy_b − confidence_b|: by how much, on average, a confidence differs from how often it is
    right."""
    total = sum(own.count for own in bins)
    return sum(
        own.count / total * abs(own.accuracy - own.confidence)
        for own in bins
        if own.accuracy is not None and own.confidence is not None
    )


def _rows(right: Mapping[str, int], said: Mapping[str, int], there: Mapping[str, int]) -> tuple[Row, ...]:
    names = dict.fromkeys([*there, *said])
    rows = [Row(name, right.get(name, 0), said.get(name, 0), there.get(name, 0)) for name in names]
    return tuple(sorted(rows, key=lambda row: (row.f1, -row.there, row.name)))


def _summed(pairs: Iterable[tuple[str, int]]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for name, count in pairs:
        counts[name] += count
    return counts


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
