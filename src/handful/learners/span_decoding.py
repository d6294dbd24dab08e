"""From views of sentences to predictions: intents and slots decided together, many sentences at once, in numpy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import torch
from threadpoolctl import ThreadpoolController

from handful.data.bio import tags_of
from handful.encoders.encoding import Array
from handful.learners.intent_slots import Compared, IntentSlots
from handful.learners.span_support import SpanSupport
from handful.learners.support import ranked
from handful.model.prototypes import Floats
from handful.model.segments import best_segmentations, log_sum, span_probabilities
from handful.model.span_network import Measures, Names, Views
from handful.model.spans import IMPOSSIBLE, Measure, Members, Numbers, class_subset, likeness
from handful.types import Prediction, Slot, Utterance, Words

Path = list[tuple[int, int]]  # the spans [start, end) of a segmentation

if TYPE_CHECKING:
    from handful.learners.joint_spans import JointSpansLearner

_OUTSIDE_EXAMPLES = 2048  # of the words outside all slots; a bot of ten thousand examples has no need of more
_MOST_INTENTS = 8  # of a sentence, whose slots are looked at before one is chosen: a thousand alike must not cost more
_COMPARED_AT_ONCE = 512  # intents and spans; where a bot has more, a sentence meets those of its own intents
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
        every = range(len(shown.labels.intents))
        small = len(self._members.spans.classes) + len(every) <= _COMPARED_AT_ONCE
        self._whole = IntentSlots(shown, self._members, every) if small else None
        self._numbers_a_word = self._largest(self._members.types)
        self._numbers_a_span = max(network.width, self._largest(self._members.spans))
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
        their likenesses to the examples that they meet: a short one should not pay for a long one."""
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
        """The most members that a sentence is compared with at once: those of a small bot, or of some intents."""
        slots = self._shown.open_slots
        sizes = np.bincount(members.classes, minlength=slots.shape[1])[: slots.shape[1]]
        if self._whole is not None:
            return int(sizes.sum())
        return int(np.sort(slots @ sizes)[-_MOST_INTENTS:].sum())

    def _views(self, seen: Sequence[tuple[Array, Array]]) -> Views:
        rows, means = np.concatenate([own for own, _ in seen]), np.stack([mean for _, mean in seen])
        return Views.of(rows, means, [len(own) for own, _ in seen], self._shown.longest)

    def _decoded(self, seen: Sequence[tuple[Array, Array]], allowed: Set[str] | None) -> list[Prediction]:
        views, measures = self._views(seen), self._measures
        count, steps = views.outside.shape
        intents = likeness(views.sentences, self._members.intents, measures.intents).astype(np.float64)
        flat = views.types.reshape(count * steps, -1)
        outside = views.outside + likeness(flat, self._outside, measures.types).reshape(count, steps)

        rows, chosen = self._likeliest(intents)
        compared = list(self._compared(views, rows, chosen))
        best = np.empty((len(rows), *views.borders.shape[1:]))
        for part in compared:
            best[part.pairs] = part.best(rows, chosen)
        paths, scores = best_segmentations(outside[rows], best, [views.lengths[row] for row in rows])
        gains = np.maximum(scores - _all_outside(outside, views.lengths)[rows], 0.0)
        intents[rows, chosen] += self._learner.config.evidence * gains
        kept = np.flatnonzero(chosen == intents.argmax(1)[rows])  # one a sentence, in order

        paths = [paths[pair] for pair in kept] if allowed is None else None
        paths, best, labels, whole = self._labelled(compared, chosen[kept], outside, views.lengths, paths, allowed)
        shares = span_probabilities(outside, whole, views.lengths, paths)
        probabilities = np.exp(intents - log_sum(intents)[:, None])
        return [
            self._prediction(
                probabilities[row], path, labels[row], best[row], whole[row], shares[row], views.lengths[row]
            )
            for row, path in enumerate(paths)
        ]

    def _labelled(
        self,
        compared: Sequence[Compared],
        intents: Numbers,
        outside: Floats,
        lengths: Sequence[int],
        paths: list[Path] | None,
        allowed: Set[str] | None,
    ) -> tuple[list[Path], Floats, Numbers, Floats]:
        """With an intent for each sentence: its best segmentation (`paths`, where it is known already), and of a span
        what its best slot scores, which slot that is, and log Σ over the slots.

        A slot is filled once, unless an example shows it twice. Found greedily: of its spans the one that gains most
        keeps it, it is closed to all others, and the sentence is cut anew.
        """
        shape = (*outside.shape, compared[0].scores.shape[2])
        best, labels, whole = (np.empty(shape, dtype=kind) for kind in (float, np.intp, float))
        while True:
            for part in compared:
                best[part.rows], labels[part.rows], whole[part.rows] = part.labelled(intents[part.rows], allowed)
            if paths is None:
                paths, _ = best_segmentations(outside, best, lengths)
            # Where outside costs more than what is impossible, a path may lead through it all the same.
            paths = [
                [(start, end) for start, end in path if best[row, start, end - start - 1] > IMPOSSIBLE / 2]
                for row, path in enumerate(paths)
            ]
            closed = False
            for part in compared if self._learner.config.slot_repeats == "shown" else ():
                for place, row in enumerate(part.rows.tolist()):
                    for slot, spans in self._repeated(paths[row], labels[row]):
                        gains = [
                            best[row, start, end - start - 1] - outside[row, start:end].sum() for start, end in spans
                        ]
                        part.keep_one(place, slot, spans[int(np.argmax(gains))])
                        closed = True
            if not closed:
                return paths, best, labels, whole
            paths = None

    def _repeated(self, path: Path, labels: Numbers) -> Iterator[tuple[int, Path]]:
        """Slots that a sentence has more than once, and no example has; with their spans."""
        if len(path) < 2:
            return
        spans: defaultdict[int, Path] = defaultdict(list)
        for start, end in path:
            spans[int(labels[start, end - start - 1])].append((start, end))
        for slot, found in spans.items():
            if len(found) > 1 and slot not in self._shown.repeated:
                yield slot, found

    def _likeliest(self, intents: Floats) -> tuple[Numbers, Numbers]:
        """Sentences and their likeliest intents, the ones whose slots have a say; sentences in order."""
        most = min(_MOST_INTENTS, intents.shape[1]) if self._learner.config.evidence else 1
        chosen = np.argsort(-intents, axis=1, kind="stable")[:, :most]
        return np.repeat(np.arange(len(intents)), most), chosen.ravel()

    def _compared(self, views: Views, rows: Numbers, chosen: Numbers) -> Iterator[Compared]:
        """A bot of few examples: all sentences with all of them at once. A large one: sentence by sentence, each with
        the examples of its own intents."""
        whole = self._whole
        if whole is not None:
            every = np.arange(len(views.lengths))
            yield Compared(every, np.arange(len(rows)), whole, whole.scores(views, every, self._measures))
            return
        for row in range(len(views.lengths)):
            pairs = np.flatnonzero(rows == row)
            slots = IntentSlots(self._shown, self._members, chosen[pairs])
            own = np.array([row])
            yield Compared(own, pairs, slots, slots.scores(views, own, self._measures))

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
        ranking = ranked(self._shown.labels.intents, probabilities)
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
