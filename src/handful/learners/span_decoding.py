"""From views of sentences to predictions: intents and slots decided together, many sentences at once, in numpy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import torch
from threadpoolctl import ThreadpoolController

from handful.data.bio import tags_of
from handful.encoders.encoding import Array
from handful.learners.span_support import SpanSupport
from handful.model.prototypes import Floats
from handful.model.segments import best_segmentations, log_sum, span_probabilities
from handful.model.span_network import Measures, Names, Views
from handful.model.spans import IMPOSSIBLE, Measure, Members, Numbers, class_subset, likeness, range_sums
from handful.types import Prediction, RankedIntent, Slot, Utterance, Words

if TYPE_CHECKING:
    from handful.learners.joint_spans import JointSpansLearner

_OUTSIDE_EXAMPLES = 2048  # of the words outside all slots; a bot of ten thousand examples has no need of more
_MOST_INTENTS = 8  # of a sentence, whose slots are looked at before one is chosen: a thousand alike must not cost more
_NUMBERS_AT_A_TIME = 1 << 23  # what the spans of a long list of sentences may take of the memory


class AdaptedSpans:
    def __init__(self, learner: JointSpansLearner, support: Sequence[Utterance]) -> None:
        self._learner = learner
        self._shown = shown = SpanSupport(support, learner.config.descriptions)
        network = learner.network
        with torch.inference_mode():
            names = network.names(shown.intent_texts, shown.slot_texts)
            self._measures = _plain(network.measures())
        self._numbers_a_word, self._numbers_a_span = 0, network.width
        seen = learner.see([utterance.sentence for utterance in support])
        vectors = Names(*(part.numpy() for part in (names.intents, names.types, names.spans)))
        parts = ((np.array(rows), self._views([seen[row] for row in rows])) for rows in self._batches(seen))
        self._members = shown.members_in(parts, vectors)
        self._outside = _sampled(class_subset(self._members.types, [len(shown.labels.slots)]))
        self._numbers_a_word = self._largest(self._members.types)
        self._numbers_a_span = max(network.width, self._largest(self._members.spans))
        self._of_intent: dict[int, tuple[Numbers, Members, Members]] = {}
        # Two scorers ask for the same sentences one after the other.
        self._last: tuple[tuple[Words, ...], list[tuple[Array, Array]]] | None = None

    def predict(self, sentences: Sequence[Words], *, tag_candidates: Set[str] | None = None) -> list[Prediction]:
        if not sentences:
            return []
        last = self._last  # read once: another thread may be predicting, too
        if last is None or last[0] != tuple(sentences):
            self._last = last = (tuple(sentences), self._learner.see(sentences))
        seen = last[1]
        found: dict[int, Prediction] = {}
        # numpy's threads and torch's would take turns in waiting for each other: products this small want one.
        with _blas_threads().limit(limits=1, user_api="blas"):
            for rows in self._batches(seen):
                found |= zip(rows, self._decoded([seen[row] for row in rows], tag_candidates), strict=True)
        return [found[row] for row in range(len(seen))]

    def _batches(self, seen: Sequence[tuple[Array, Array]]) -> Iterator[list[int]]:
        """Sentences of like lengths, as many as fit the memory that their spans may take, with their vectors or with
        their likenesses to all examples of an intent: a short one should not pay for a long one."""
        batch: list[int] = []
        for row in sorted(range(len(seen)), key=lambda row: len(seen[row][0])):
            length = len(seen[row][0])
            spans = min(self._shown.longest, length) * self._numbers_a_span
            size = (len(batch) + 1) * length * (spans + self._numbers_a_word)
            if batch and size > _NUMBERS_AT_A_TIME:
                yield batch
                batch = []
            batch.append(row)
        yield batch

    def _largest(self, members: Members) -> int:
        """The most members that the slots of one intent have."""
        slots = self._shown.open_slots
        sizes = np.bincount(members.classes, minlength=slots.shape[1])[: slots.shape[1]]
        return int((slots @ sizes).max())

    def _views(self, seen: Sequence[tuple[Array, Array]]) -> Views:
        rows, means = np.concatenate([own for own, _ in seen]), np.stack([mean for _, mean in seen])
        return Views.of(rows, means, [len(own) for own, _ in seen], self._shown.longest)

    def _decoded(self, seen: Sequence[tuple[Array, Array]], allowed: Set[str] | None) -> list[Prediction]:
        views, measures = self._views(seen), self._measures
        count, steps = views.outside.shape
        intents = likeness(views.sentences, self._members.intents, measures.intents).astype(np.float64)
        flat = views.types.reshape(count * steps, -1)
        outside = views.outside + likeness(flat, self._outside, measures.types).reshape(count, steps)

        rows, chosen = self._plausible(intents, views, outside)
        best, labels, whole = self._span_scores(views, rows, chosen, None)
        paths, scores = best_segmentations(outside[rows], best, [views.lengths[row] for row in rows])
        # The intents are the strict ones, whatever tags the released scorer lets slots have.
        gains = np.maximum(scores - _all_outside(outside, views.lengths)[rows], 0.0)
        intents[rows, chosen] += self._learner.config.evidence * gains
        kept = np.flatnonzero(chosen == intents.argmax(1)[rows])  # one a sentence, in order
        if allowed is None:
            best, labels, whole, paths = best[kept], labels[kept], whole[kept], [paths[place] for place in kept]
        else:
            best, labels, whole = self._span_scores(views, rows[kept], chosen[kept], allowed)
            paths, _ = best_segmentations(outside, best, views.lengths)
        shares = span_probabilities(outside, whole, views.lengths, paths)
        probabilities = np.exp(intents - log_sum(intents)[:, None])
        return [
            self._prediction(
                probabilities[row], path, labels[row], best[row], whole[row], shares[row], views.lengths[row]
            )
            for row, path in enumerate(paths)
        ]

    def _plausible(self, intents: Floats, views: Views, outside: Floats) -> tuple[Numbers, Numbers]:
        """Sentences and the intents that could win there; sentences in order.

        What a segmentation can gain is bounded: no span or word is liker to a label than a cosine of one. An intent
        that would not win with that gain is out, exactly; of many that could, the likeliest few are looked at.
        """
        weight = self._learner.config.evidence
        if not weight:
            return np.arange(len(intents)), intents.argmax(1)
        sizes = np.arange(1, views.borders.shape[2] + 1)
        most = views.borders + self._measures.spans.scale + self._measures.types.scale * sizes
        _, scores = best_segmentations(outside, most, views.lengths)
        # Never below nought: all words outside is a segmentation, too (rounding may say otherwise).
        room = weight * np.maximum(scores - _all_outside(outside, views.lengths), 0.0)
        open_ones = intents + room[:, None] >= intents.max(1, keepdims=True)
        if intents.shape[1] > _MOST_INTENTS:
            last = np.partition(intents, -_MOST_INTENTS, axis=1)[:, -_MOST_INTENTS]
            open_ones &= intents >= last[:, None]
        rows, chosen = np.nonzero(open_ones)
        return rows, chosen

    def _span_scores(
        self, views: Views, rows: Numbers, chosen: Numbers, allowed: Set[str] | None
    ) -> tuple[Floats, Numbers, Floats]:
        """Of sentences with an intent each: the best label of every span, what it scores, and log Σ over the labels.

        [P] sentences, [P] intents -> [P, T, L] each.
        """
        shape = (len(rows), *views.borders.shape[1:])
        best, labels, whole = np.full(shape, IMPOSSIBLE), np.zeros(shape, dtype=np.intp), np.full(shape, IMPOSSIBLE)
        for intent in np.unique(chosen):
            slots, types, spans = self._slots_of(int(intent))
            if not len(slots):
                continue
            own = np.flatnonzero(chosen == intent)
            scores = _scored(views, rows[own], types, spans, self._measures)
            if allowed is not None:
                scores = np.where(self._allowed(slots, shape[2], allowed), scores, IMPOSSIBLE)
            number = scores.argmax(-1)
            best[own], labels[own] = scores.max(-1), slots[number]
            whole[own] = log_sum(scores)
        return best, labels, whole

    def _slots_of(self, intent: int) -> tuple[Numbers, Members, Members]:
        """The slots that the support shows with an intent, and their examples."""
        known = self._of_intent.get(intent)
        if known is None:
            slots = np.flatnonzero(self._shown.open_slots[intent])
            known = slots, class_subset(self._members.types, slots), class_subset(self._members.spans, slots)
            self._of_intent[intent] = known
        return known

    def _allowed(self, slots: Numbers, longest: int, allowed: Set[str]) -> Floats:
        """Which of the intent's labels a span of each size may have. [L, K]."""
        names = [self._shown.labels.slots[number] for number in slots]
        begins, goes_on = ([f"{kind}-{name}" in allowed for name in names] for kind in "BI")
        sizes = np.arange(longest)[:, None]
        return np.array(begins) & ((sizes == 0) | np.array(goes_on))

    def _prediction(
        self,
        probabilities: Floats,
        path: Sequence[tuple[int, int]],
        labels: Numbers,
        best: Floats,
        whole: Floats,
        shares: Sequence[float],
        length: int,
    ) -> Prediction:
        intents = self._shown.labels.intents
        order = np.argsort(-probabilities, kind="stable").tolist()
        # map, not a loop: a bot may have a thousand intents.
        sure = np.minimum(probabilities[order], 1.0).tolist()
        ranking = tuple(map(RankedIntent, [intents[number] for number in order], sure))
        slots, confidences = [], []
        for (start, end), share in zip(path, shares, strict=True):
            key = self._shown.labels.slots[labels[start, end - start - 1]]
            slots.append(self._shown.labels.named(Slot(key, start, end)))
            # Of all segmentations those with this span, and of those the ones where it has this label.
            place = start, end - start - 1
            confidences.append(min(share * float(np.exp(best[place] - whole[place])), 1.0))
        return Prediction(ranking, tags_of(slots, length), tuple(slots), tuple(confidences))


@cache
def _blas_threads() -> ThreadpoolController:
    """Looks for numpy's libraries once; torch's own threads are none of its business."""
    return ThreadpoolController()


def _scored(views: Views, rows: Numbers, types: Members, spans: Members, measures: Measures) -> Floats:
    """s(i, j, y) of some sentences' spans, for the labels of one intent. -> [P, T, L, K]."""
    words, vectors, borders = views.types[rows], views.spans[rows], views.borders[rows]
    count, steps, longest, _ = vectors.shape
    of_words = likeness(words.reshape(count * steps, -1), types, measures.types).reshape(count, steps, -1)
    scores = range_sums(of_words, longest) + borders[..., None]
    # A third of all spans leave their sentence: they are impossible already, and are not compared.
    inside = borders > IMPOSSIBLE / 2
    scores[inside] += likeness(vectors[inside], spans, measures.spans)
    return scores


def _all_outside(outside: Floats, lengths: Sequence[int]) -> Floats:
    """What a segmentation without any span scores. [B, T] -> [B]."""
    present = np.arange(outside.shape[1]) < np.asarray(lengths)[:, None]
    return np.where(present, outside, 0.0).sum(1)


def _sampled(outside: Members) -> Members:
    """Enough of a large bot's words outside slots, evenly from all of its examples."""
    if len(outside.classes) <= _OUTSIDE_EXAMPLES:
        return outside
    kept = np.linspace(0, len(outside.classes) - 1, _OUTSIDE_EXAMPLES).astype(np.intp)  # the first is the name
    return Members(outside.vectors[kept], outside.classes[kept], outside.named[kept], outside.owners[kept])


def _plain(measures: Measures) -> Measures:
    """Numbers instead of tensors."""
    parts = (measures.intents, measures.types, measures.spans)
    return Measures(*(Measure(float(p.scale), float(p.temperature), float(p.name_weight)) for p in parts))
