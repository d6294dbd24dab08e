"""Two scorers of slots that are never mixed, intent accuracy, and exact match. Scores are fractions here.

strict    a prediction never sees the query's labels; a gold span whose label the support lacks is a miss.
released  what the authors' code computes: query words whose gold tag the support lacks are deleted before spans
          are read (the predictions for it come from candidate tags cut to the query's own gold).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, fields

from handful.data.bio import slots_of, tag_set, utterance_tags
from handful.types import Episode, Prediction

Tags = Sequence[str]


@dataclass(frozen=True, slots=True)
class SpanCounts:
    right: int = 0
    predicted: int = 0
    gold: int = 0

    def __add__(self, other: SpanCounts) -> SpanCounts:
        return SpanCounts(self.right + other.right, self.predicted + other.predicted, self.gold + other.gold)

    @property
    def f1(self) -> float:
        """Where there is nothing to find, finding nothing is perfect and anything else is worthless."""
        if self.gold == 0:
            return 1.0 if self.predicted == 0 else 0.0
        return 2 * self.right / (self.predicted + self.gold)


def span_counts(gold: Tags, predicted: Tags) -> SpanCounts:
    if len(gold) != len(predicted):
        raise ValueError(f"{len(gold)} gold tags and {len(predicted)} predicted ones")
    wanted, found = set(slots_of(gold)), set(slots_of(predicted))
    return SpanCounts(len(wanted & found), len(found), len(wanted))


def span_f1(gold: Iterable[Tags], predicted: Iterable[Tags]) -> float:
    """Micro F1 over the spans of all sentences."""
    return sum((span_counts(g, p) for g, p in zip(gold, predicted, strict=True)), SpanCounts()).f1


def released_span_f1(gold: Iterable[Tags], predicted: Iterable[Tags], support_tags: Set[str]) -> float:
    """The authors' figure: words whose gold tag the support lacks vanish, and spans are read from what is left."""
    kept_gold, kept_predicted = [], []
    for gold_tags, predicted_tags in zip(gold, predicted, strict=True):
        kept = [pair for pair in zip(gold_tags, predicted_tags, strict=True) if pair[0] in support_tags]
        kept_gold.append([pair[0] for pair in kept])
        kept_predicted.append([pair[1] for pair in kept])
    return span_f1(kept_gold, kept_predicted)


@dataclass(frozen=True, slots=True)
class EpisodeScore:
    intent_accuracy: float
    slot_f1_strict: float
    slot_f1_released: float
    joint_accuracy: float  # intent right and every span right, strictly predicted


METRICS = tuple(field.name for field in fields(EpisodeScore))


def score_episode(episode: Episode, strict: Sequence[Prediction], released: Sequence[Prediction]) -> EpisodeScore:
    """`strict` are predictions that saw no label; `released` those with the query's gold tags as candidates."""
    gold = [utterance_tags(utterance) for utterance in episode.query]
    right_intent = [p.intent == u.intent for p, u in zip(strict, episode.query, strict=True)]
    right_spans = [set(slots_of(p.tags)) == set(slots_of(g)) for p, g in zip(strict, gold, strict=True)]
    return EpisodeScore(
        sum(right_intent) / len(right_intent),
        span_f1(gold, [p.tags for p in strict]),
        released_span_f1(gold, [p.tags for p in released], tag_set(episode.support)),
        sum(i and s for i, s in zip(right_intent, right_spans, strict=True)) / len(right_intent),
    )


@dataclass(frozen=True, slots=True)
class Interval:
    mean: float
    ci95: float | None  # half the width of the normal 95 % interval over episodes; none for a single episode


def interval(values: Sequence[float]) -> Interval:
    if not values:
        raise ValueError("there is nothing to average")
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return Interval(mean, None)
    variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return Interval(mean, 1.96 * math.sqrt(variance / len(values)))
