"""joint_spans, one loop for one sign, in float64. A vector is a list of numbers; every segmentation is looked at."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

Vector = Sequence[float]
Matrix = Sequence[Vector]
Segment = tuple[int, int, str | None]  # words [start, end), and a label; None is one word outside
Scores = Mapping[Segment, float]


@dataclass(frozen=True)
class Measure:
    scale: float
    temperature: float
    name_weight: float


@dataclass(frozen=True)
class Measures:
    intents: Measure | None  # in training alone
    types: Measure
    spans: Measure


@dataclass(frozen=True)
class Head:
    """A softmax regression: of each intent the weights of a sentence's numbers, and what stands beside them."""

    weights: Mapping[str, Vector]
    bias: Mapping[str, float]


@dataclass(frozen=True)
class Names:
    """Vectors of labels by their keys."""

    intents: Mapping[str, Vector]
    types: Mapping[str, Vector]
    spans: Mapping[str, Vector]
    no_slot: Vector


@dataclass(frozen=True)
class Told:
    """An utterance: a row of 6k + 4 numbers for each word, the sentence's own vector, intent and slots."""

    words: Matrix
    sentence: Vector
    intent: str
    slots: Sequence[tuple[int, int, str]] = ()

    def part(self, word: int, number: int) -> Vector:
        """A word's type, or how it looks as a first, a last or a middle word, or before a span or after it: 0 to 5."""
        width = (len(self.words[word]) - 4) // 6
        return self.words[word][number * width : (number + 1) * width]

    def border(self, word: int, number: int) -> float:
        """A word's score for being outside, beginning a span, going on or ending one: 0 to 3."""
        return self.words[word][len(self.words[word]) - 4 + number]

    @property
    def labels(self) -> list[str | None]:
        """Of each word."""
        found: list[str | None] = [None] * len(self.words)
        for start, end, label in self.slots:
            found[start:end] = [label] * (end - start)
        return found


def cosine(a: Vector, b: Vector) -> float:
    products = sum(x * y for x, y in zip(a, b, strict=True))
    return products / math.sqrt(sum(x * x for x in a)) / math.sqrt(sum(y * y for y in b))


def likeness(thing: Vector, name: Vector, examples: Matrix, measure: Measure) -> float:
    """τ log Σ_m w_m exp(s·cos(x, m) / τ) / Σ_m w_m: the name weighs what it weighs, an example one."""
    members = [(measure.name_weight, name), *((1.0, example) for example in examples)]
    scaled = [(weight, measure.scale * cosine(thing, member) / measure.temperature) for weight, member in members]
    highest = max(value for _, value in scaled)
    total = sum(weight * math.exp(value - highest) for weight, value in scaled)
    return measure.temperature * (highest + math.log(total / sum(weight for weight, _ in scaled)))


def span_vector(told: Told, start: int, end: int) -> list[float]:
    """The views of the first word and the last one, the mean view of all, and those of the words before and after."""
    first, last = told.part(start, 1), told.part(end - 1, 2)
    middles = [told.part(word, 3) for word in range(start, end)]
    found = [first[k] + last[k] + sum(middle[k] for middle in middles) / len(middles) for k in range(len(first))]
    if start > 0:
        found = [x + y for x, y in zip(found, told.part(start - 1, 4), strict=True)]
    if end < len(told.words):
        found = [x + y for x, y in zip(found, told.part(end, 5), strict=True)]
    return found


def log_shares(scores: Mapping[str, float]) -> dict[str, float]:
    """The logarithms of a softmax."""
    highest = max(scores.values())
    total = highest + math.log(sum(math.exp(value - highest) for value in scores.values()))
    return {name: value - total for name, value in scores.items()}


def head_scores(told: Told, head: Head) -> dict[str, float]:
    """log P(intent), by a head that is fitted to a bot: of the sentence at length one."""
    length = math.sqrt(sum(x * x for x in told.sentence))
    return log_shares(
        {
            intent: sum(w * x / length for w, x in zip(row, told.sentence, strict=True)) + head.bias[intent]
            for intent, row in head.weights.items()
        }
    )


def likeness_scores(told: Told, support: Sequence[Told], names: Names, measures: Measures) -> dict[str, float]:
    """What intents score in training."""
    assert measures.intents is not None
    return {
        intent: likeness(
            told.sentence, name, [other.sentence for other in support if other.intent == intent], measures.intents
        )
        for intent, name in names.intents.items()
    }


def word_score(told: Told, word: int, label: str | None, support: Sequence[Told], names: Names, m: Measure) -> float:
    """How like a word is to the words of a label; of no label, to those outside all slots."""
    examples = [other.part(place, 0) for other in support for place, its in enumerate(other.labels) if its == label]
    return likeness(told.part(word, 0), names.no_slot if label is None else names.types[label], examples, m)


def span_score(
    told: Told, start: int, end: int, label: str, support: Sequence[Told], names: Names, measures: Measures
) -> float:
    """s(i, j, y) = like(span, spans of y) + Σ_t like(word t, words of y) + begin(i) + Σ_{t>i} go on(t) + end(j)."""
    examples = [
        span_vector(other, first, last) for other in support for first, last, its in other.slots if its == label
    ]
    total = likeness(span_vector(told, start, end), names.spans[label], examples, measures.spans)
    for word in range(start, end):
        total += word_score(told, word, label, support, names, measures.types)
    total += told.border(start, 1)
    for word in range(start + 1, end):
        total += told.border(word, 2)
    return total + told.border(end - 1, 3)


def segment_scores(
    told: Told,
    labels: Sequence[str],
    support: Sequence[Told],
    names: Names,
    measures: Measures,
    longest: int,
) -> dict[Segment, float]:
    """Of every segment that a sentence could have, where these labels are open to it."""
    found: dict[Segment, float] = {}
    for start in range(len(told.words)):
        outside = word_score(told, start, None, support, names, measures.types)
        found[start, start + 1, None] = outside + told.border(start, 0)
        for end in range(start + 1, min(start + longest, len(told.words)) + 1):
            for label in labels:
                found[start, end, label] = span_score(told, start, end, label, support, names, measures)
    return found


def segmentations(scores: Scores, length: int, start: int = 0) -> Iterator[tuple[Segment, ...]]:
    """All ways to cut the words from `start` on into segments that have a score."""
    if start == length:
        yield ()
    for segment in scores:
        if segment[0] == start and segment[1] <= length:
            for rest in segmentations(scores, length, segment[1]):
                yield (segment, *rest)


def score(scores: Scores, segmentation: Sequence[Segment]) -> float:
    return sum(scores[segment] for segment in segmentation)


def log_partition(scores: Scores, length: int) -> float:
    every = [score(scores, found) for found in segmentations(scores, length)]
    return max(every) + math.log(sum(math.exp(value - max(every)) for value in every))


def best_segmentation(scores: Scores, length: int) -> tuple[Segment, ...]:
    return max(segmentations(scores, length), key=lambda found: score(scores, found))


def share(scores: Scores, length: int, segment: Segment) -> float:
    """Of all segmentations' weight, that of those with this segment."""
    total = log_partition(scores, length)
    return sum(math.exp(score(scores, found) - total) for found in segmentations(scores, length) if segment in found)


def each_label_once(scores: Scores, length: int, support: Sequence[Told]) -> Scores:
    """Where the best segmentation has a label twice that no utterance of the support has twice: the span that gains
    most keeps it, all others lose it; and so on until there is none."""
    best, kept = best_segmentation(scores, length), {}
    for label in {label for _, _, label in best if label is not None}:
        found = [segment for segment in best if segment[2] == label]
        shown_twice = any(sum(its == label for _, _, its in told.slots) > 1 for told in support)
        if len(found) > 1 and not shown_twice:
            kept[label] = max(found, key=lambda s: scores[s] - sum(scores[w, w + 1, None] for w in range(s[0], s[1])))
    if not kept:
        return scores
    left = {segment: value for segment, value in scores.items() if kept.get(segment[2], segment) == segment}
    return each_label_once(left, length, support)


def open_labels(support: Sequence[Told], intent: str) -> list[str]:
    """Those that the support shows with an intent."""
    return sorted({label for told in support if told.intent == intent for _, _, label in told.slots})


def intent_loss(told: Told, support: Sequence[Told], names: Names, measures: Measures) -> float:
    """-log P(intent)."""
    return -log_shares(likeness_scores(told, support, names, measures))[told.intent]


def slot_loss(
    told: Told, support: Sequence[Told], labels: Sequence[str], names: Names, measures: Measures, longest: int
) -> float:
    """-log P(slots | intent). A span whose label is not open, or that is too long, counts as words outside."""
    scores = segment_scores(told, labels, support, names, measures, longest)
    gold = {(start, end, label) for start, end, label in told.slots if label in labels and end - start <= longest}
    covered = {word for start, end, _ in gold for word in range(start, end)}
    outside = [(word, word + 1, None) for word in range(len(told.words)) if word not in covered]
    return log_partition(scores, len(told.words)) - score(scores, [*gold, *outside])


def episode_loss(
    support: Sequence[Told],
    query: Sequence[Told],
    names: Names,
    measures: Measures,
    support_weight: float,
    longest: int,
) -> tuple[float, float]:
    """Of intents and of slots, the mean over the utterances; one of the support is told by all the others."""
    asked = [(told, [other for other in support if other is not told], support_weight) for told in support]
    asked += [(told, list(support), 1.0) for told in query]
    intents, slots = 0.0, 0.0
    for told, others, weight in asked:
        # What an intent's slots are is known from the whole support: leaving out takes examples, not labels.
        labels = open_labels(support, told.intent)
        intents += weight * intent_loss(told, others, names, measures)
        slots += weight * slot_loss(told, others, labels, names, measures, longest)
    total = sum(weight for _, _, weight in asked)
    return intents / total, slots / total


@dataclass(frozen=True)
class Decision:
    intent: str
    scores: Mapping[str, float]  # of all intents: their log-probability and what their slots gain
    segments: tuple[Segment, ...]
    shares: tuple[float, ...]  # of each segment that has a label


def decide(
    told: Told,
    support: Sequence[Told],
    head: Head,
    names: Names,
    measures: Measures,
    evidence: float,
    longest: int,
    once: bool = True,
) -> Decision:
    """An intent is worth its log-probability and `evidence` times what its best segmentation gains over one without
    spans."""
    length, worth, tables = len(told.words), {}, {}
    for intent, log_probability in head_scores(told, head).items():
        tables[intent] = segment_scores(told, open_labels(support, intent), support, names, measures, longest)
        bare = score(tables[intent], [(word, word + 1, None) for word in range(length)])
        gain = score(tables[intent], best_segmentation(tables[intent], length)) - bare
        worth[intent] = log_probability + evidence * gain
    intent = max(worth, key=lambda name: worth[name])
    if once:
        tables[intent] = each_label_once(tables[intent], length, support)
    segments = best_segmentation(tables[intent], length)
    spans = [segment for segment in segments if segment[2] is not None]
    return Decision(intent, worth, segments, tuple(share(tables[intent], length, span) for span in spans))
