"""Annotated utterances as numbers, and a batch of them laid out for the loss of model/span_gradients.py.

Words of all sentences stand one after another, [W], and so do the spans that could be a slot, [S]: nothing is padded
but the segmentations' scores, so that one long sentence does not cost what a batch of long ones would.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from handful.model.likeness_gradient import ClassExamples, Pairing
from handful.model.segments import segment_marginals
from handful.model.span_layout import SpanLayout, span_words
from handful.model.span_maps import Array
from handful.model.spans import IMPOSSIBLE, Numbers

MIN_SPAN_LIMIT = 8  # words that a span may have; where an example has a longer one, as many as that
_OUTSIDE_EXAMPLES = 2048  # as in prediction (learners/span_decoding.py): enough of the words outside all slots
_NUMBERS_AT_A_TIME = 1 << 22  # of a part of a batch: what its comparisons may take of the memory
_NUMBERS_OF_A_SPAN = 512  # beside those: its vector, a few copies of it, and their gradients


@dataclass(frozen=True, slots=True, eq=False)
class SlotExamples:
    """U annotated utterances of a bot, and the n slots that are filled in them."""

    intents: Numbers  # [U]
    lengths: Numbers  # [U]: words
    owners: Numbers  # [n]: utterances
    starts: Numbers  # [n]: first words
    sizes: Numbers  # [n]: words
    slots: Numbers  # [n]

    def subset(self, rows: Numbers) -> SlotExamples:
        """Some utterances, numbered anew in their order."""
        place = np.full(len(self.lengths), -1)
        place[rows] = np.arange(len(rows))
        kept = np.flatnonzero(place[self.owners] >= 0)
        kept = kept[np.argsort(place[self.owners[kept]], kind="stable")]
        return SlotExamples(
            self.intents[rows],
            self.lengths[rows],
            place[self.owners[kept]],
            self.starts[kept],
            self.sizes[kept],
            self.slots[kept],
        )

    def shown_slots(self, count: int) -> NDArray[np.bool_]:
        """Which of so many slots are filled in utterances of which intents. [N, count]."""
        shown = np.zeros((int(self.intents.max(initial=-1)) + 1, count), dtype=bool)
        shown[self.intents[self.owners], self.slots] = True
        return shown


@dataclass(frozen=True, slots=True, eq=False)
class BatchPart:
    """Sentences of a batch that are scored together; words are counted from the part's first."""

    words: slice  # of the batch
    rows: Numbers  # [W']: of each word its sentence, counted from the part's first
    places: Numbers  # [W']: of each word its place in the sentence
    lengths: Numbers
    spans: SpanLayout
    closed: NDArray[np.bool_]  # [S, K]: slots that are not open with the intent of a span's sentence
    type_pairs: Pairing
    span_pairs: Pairing
    gold_outside: Numbers  # words that are outside all slots
    gold_spans: Numbers  # spans that fill a slot,
    gold_slots: Numbers  # and which

    def marginals(self, outside: Array, spans: Array) -> tuple[float, Array, Array]:
        """The sum of all sentences' log Z, and its gradient: of each word and each span the share of its sentence's
        segmentations that have it. [W'], [S] -> 1, [W'], [S]."""
        shape = len(self.lengths), int(self.lengths.max())
        of_words, of_spans = np.zeros(shape), np.full((*shape, len(self.spans.blocks)), IMPOSSIBLE)
        words = self.rows, self.places
        places = self.rows[self.spans.starts], self.places[self.spans.starts], self.spans.sizes - 1
        of_words[words], of_spans[places] = outside, spans
        totals, of_words, of_spans = segment_marginals(of_words, of_spans, self.lengths)
        return float(totals.sum()), of_words[words].astype(outside.dtype), of_spans[places].astype(spans.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class SlotBatch:
    """B utterances, each of which has the others for examples of K slots, and of being outside all slots.

    Utterances of an intent, which have the same open slots, are neighbours.
    """

    rows: Numbers  # [B]: the utterances in the batch's order
    slots: Numbers  # [K]: the slots in the batch's order
    inner: Numbers  # words that are not the first of a sentence
    example_words: Numbers  # [n_t]: words that are examples of
    word_examples: ClassExamples  # K + 1 classes, the last of which is no slot
    span_starts: Numbers  # [n_s]: the first words of spans that are examples of
    span_sizes: Numbers  # [n_s]
    span_examples: ClassExamples  # K classes
    parts: tuple[BatchPart, ...]

    @classmethod
    def of(cls, examples: SlotExamples, shown: NDArray[np.bool_]) -> SlotBatch:
        """Of all of some examples; `shown` [N, slots] says which slots are open with which intents.

        An example whose slot is not open with its intent cannot be predicted: its words are outside, as they should be.
        """
        slots = np.unique(examples.slots)
        is_open = shown[examples.intents][:, slots]
        # Without an open slot a sentence has one segmentation only: it is an example, and there is nothing to predict.
        rows = np.lexsort((examples.intents, is_open.any(1)))
        own, is_open = examples.subset(rows), is_open[rows]
        count, ends = len(rows), np.cumsum(own.lengths)
        sentences = np.repeat(np.arange(count), own.lengths)
        starts, labels = own.starts + (ends - own.lengths)[own.owners], np.searchsorted(slots, own.slots)
        classes = np.full(len(sentences), len(slots))
        classes[span_words(starts, own.sizes)] = np.repeat(labels, own.sizes)
        outside = classes == len(slots)
        words = np.concatenate([np.flatnonzero(~outside), _evenly(np.flatnonzero(outside), _OUTSIDE_EXAMPLES)])
        inner = np.ones(len(sentences), dtype=bool)
        inner[ends - own.lengths] = False
        of_words = ClassExamples.of(classes[words], sentences[words], len(slots) + 1, count)
        of_spans = ClassExamples.of(labels, own.owners, len(slots), count)
        gold = is_open[own.owners, labels]
        layout = _Layout(own.lengths, is_open, own.owners[gold], starts[gold], own.sizes[gold], labels[gold])
        parts = tuple(layout.parts(of_words, of_spans, max(MIN_SPAN_LIMIT, int(own.sizes.max(initial=0)))))
        return cls(rows, slots, np.flatnonzero(inner), words, of_words, starts, own.sizes, of_spans, parts)


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    """A batch's sentences and the spans that fill open slots, their words counted from the batch's first."""

    lengths: Numbers
    is_open: NDArray[np.bool_]  # [B, K]; utterances without an open slot come first
    owners: Numbers
    starts: Numbers
    sizes: Numbers
    slots: Numbers

    def parts(self, words: ClassExamples, spans: ClassExamples, longest: int) -> Iterator[BatchPart]:
        """As many sentences together as memory allows."""
        most = np.minimum(self.lengths, longest)
        counts = most * self.lengths - most * (most - 1) // 2
        costs = self.lengths * (len(words.classes) + words.others.shape[1])
        costs += counts * (len(spans.classes) + spans.others.shape[1] + _NUMBERS_OF_A_SPAN)
        start, total = int((~self.is_open.any(1)).sum()), 0
        for row, cost in enumerate(costs.tolist()[start:], start):
            if total + cost > _NUMBERS_AT_A_TIME and row > start:
                yield self._part(slice(start, row), words, spans, longest)
                start, total = row, 0
            total += cost
        if start < len(costs):
            yield self._part(slice(start, len(costs)), words, spans, longest)

    def _part(self, run: slice, words: ClassExamples, spans: ClassExamples, longest: int) -> BatchPart:
        lengths, first = self.lengths[run], int(self.lengths[: run.start].sum())
        rows = np.repeat(np.arange(len(lengths)), lengths)
        places = np.arange(len(rows)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        layout = SpanLayout.of(lengths[rows] - places, longest)
        own = (self.owners >= run.start) & (self.owners < run.stop)
        starts, sizes = self.starts[own] - first, self.sizes[own]
        outside = np.ones(len(rows), dtype=bool)
        outside[span_words(starts, sizes)] = False
        of_spans = rows[layout.starts] + run.start
        return BatchPart(
            slice(first, first + len(rows)),
            rows,
            places,
            lengths,
            layout,
            ~self.is_open[of_spans],
            Pairing.of(rows + run.start, words, np.ones_like(words.others, dtype=bool)),
            Pairing.of(of_spans, spans, self.is_open),
            np.flatnonzero(outside),
            layout.find(starts, sizes),
            self.slots[own],
        )


def _evenly(numbers: Numbers, most: int) -> Numbers:
    """At most so many, evenly from all."""
    if len(numbers) <= most:
        return numbers
    return numbers[np.linspace(0, len(numbers) - 1, most).astype(np.intp)]
