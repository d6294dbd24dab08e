"""Annotated utterances as numbers, and a batch of them laid out for the loss of model/span_gradients.py.

Words of all sentences stand one after another, [W], and so do the spans that could be a slot, [S]: nothing is padded,
so that one long sentence does not cost what a batch of long ones would.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from handful.model.segments import segment_marginals
from handful.model.span_maps import Array
from handful.model.spans import IMPOSSIBLE, Numbers

MIN_SPAN_LIMIT = 8  # words that a span may have; where an example has a longer one, as many as that
_OUTSIDE_EXAMPLES = 2048  # as in prediction (learners/span_decoding.py): enough of the words outside all slots
_SPAN_COST = 256  # numbers that a span takes beside its comparisons: about its vector and that one's gradient
_NUMBERS_AT_A_TIME = 1 << 22  # of a part of a batch: what its comparisons may take of the memory


@dataclass(frozen=True, slots=True, eq=False)
class SlotExamples:
    """U annotated utterances of a bot with n slots filled in all."""

    intents: Numbers  # [U]
    lengths: Numbers  # [U]: words
    spans: Numbers  # [4, n]: utterance, first word, words - 1, slot; utterances rising

    def subset(self, rows: Numbers) -> SlotExamples:
        """Some utterances, numbered anew in their order."""
        place = np.full(len(self.lengths), -1)
        place[rows] = np.arange(len(rows))
        spans = self.spans[:, place[self.spans[0]] >= 0]
        spans = np.concatenate([place[spans[:1]], spans[1:]])
        return SlotExamples(self.intents[rows], self.lengths[rows], spans[:, np.argsort(spans[0], kind="stable")])


@dataclass(frozen=True, slots=True, eq=False)
class SpanLayout:
    """All spans of at most so many words in some sentences, shorter ones first.

    Spans of one more word are those of the size before that have a word after them, so sums over spans grow by a word
    at a time.
    """

    starts: Numbers  # [S]: the first word
    ends: Numbers  # [S]: the last word
    sizes: Numbers  # [S]: words
    blocks: tuple[slice, ...]  # of each size, from one word up
    nested: tuple[Numbers, ...]  # of each size's spans those of one word less that they begin with, in their block
    words: int  # W

    @classmethod
    def of(cls, left: Numbers, longest: int) -> SpanLayout:
        """`left` [W]: how many words the sentence has from this one on; nought where no span may begin."""
        starts, nested, blocks, total = [np.flatnonzero(left > 0)], [np.arange(0)], [], 0
        for size in range(2, min(longest, int(left.max(initial=1))) + 1):
            nested.append(np.flatnonzero(left[starts[-1]] >= size))
            starts.append(starts[-1][nested[-1]])
        counts = [len(own) for own in starts]
        for count in counts:
            blocks.append(slice(total, total + count))
            total += count
        every = np.concatenate(starts)
        sizes = np.repeat(np.arange(1, len(counts) + 1), counts)
        return cls(every, every + sizes - 1, sizes, tuple(blocks), tuple(nested), len(left))

    def find(self, starts: Numbers, sizes: Numbers) -> Numbers:
        """The places of spans, which must be there."""
        return np.searchsorted(self.sizes * self.words + self.starts, sizes * self.words + starts)

    def sums(self, values: Array) -> Array:
        """Sums over each span's words. [W, c] -> [S, c]."""
        found = values[self.ends]
        for size in range(1, len(self.blocks)):
            found[self.blocks[size]] += found[self.blocks[size - 1]][self.nested[size]]
        return found

    def sums_gradient(self, gradient: Array) -> Array:
        """Of `sums`: [S, c] -> [W, c]. What comes in is overwritten."""
        found = np.zeros((self.words, gradient.shape[1]), dtype=gradient.dtype)
        for size in range(len(self.blocks) - 1, -1, -1):
            own = gradient[self.blocks[size]]
            found[self.ends[self.blocks[size]]] += own
            if size:
                gradient[self.blocks[size - 1]][self.nested[size]] += own
        return found

    def scattered(self, gradient: Array, words: Numbers) -> Array:
        """The gradient of picking a word for each span, its first or its last: [S, c] -> [W, c]."""
        found = np.zeros((self.words, gradient.shape[1]), dtype=gradient.dtype)
        for block in self.blocks:  # in a block no word comes twice
            found[words[block]] += gradient[block]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class BatchPart:
    """Sentences of a batch that are scored together; words are counted from the part's first."""

    words: slice  # of the batch
    sentences: Numbers  # [Wp]: of each word its sentence in the batch
    rows: Numbers  # [Wp]: the same, counted from the part's first
    places: Numbers  # [Wp]: of each word its place in the sentence
    lengths: Numbers
    spans: SpanLayout
    gold_outside: Numbers  # words
    gold_spans: Numbers
    gold_slots: Numbers  # of each of them

    def marginals(self, outside: Array, spans: Array) -> tuple[float, Array, Array]:
        """The sum of all sentences' log Z, and of each word and each span the share of the segmentations that have it:
        the gradient of that sum. [Wp], [S] -> 1, [Wp], [S]."""
        steps, longest = int(self.lengths.max()), len(self.spans.blocks)
        words = np.zeros((len(self.lengths), steps))
        words[self.rows, self.places] = outside
        of_spans = np.full((len(self.lengths), steps, longest), IMPOSSIBLE)
        at = self.rows[self.spans.starts], self.places[self.spans.starts], self.spans.sizes - 1
        of_spans[at] = spans
        totals, of_words, of_spans = segment_marginals(words, of_spans, self.lengths)
        return (
            float(totals.sum()),
            of_words[self.rows, self.places].astype(outside.dtype),
            of_spans[at].astype(spans.dtype),
        )


@dataclass(frozen=True, slots=True, eq=False)
class SlotBatch:
    """B utterances with K slots, each of which has the others for examples; the shortest first.

    An example of a class is a word or a span of one utterance. K classes, and for words one more: no slot at all.
    """

    rows: Numbers  # [B]: which utterances, in the batch's order
    slots: Numbers  # [K]: which slots
    lengths: Numbers  # [B]
    open_slots: NDArray[np.bool_]  # [B, K]
    inner: Numbers  # words that are not a sentence's first
    example_words: Numbers  # [n_t]
    word_classes: Numbers  # [n_t]
    word_owners: Numbers  # [n_t]: utterances
    span_starts: Numbers  # [n_s]: words
    span_sizes: Numbers  # [n_s]
    span_classes: Numbers  # [n_s]
    span_owners: Numbers  # [n_s]
    parts: tuple[BatchPart, ...]


def shown_slots(examples: SlotExamples, slots: int) -> NDArray[np.bool_]:
    """Which slots stand with which intents. [N, slots]."""
    shown = np.zeros((int(examples.intents.max(initial=-1)) + 1, slots), dtype=bool)
    shown[examples.intents[examples.spans[0]], examples.spans[3]] = True
    return shown


def slot_batch(examples: SlotExamples, shown: NDArray[np.bool_]) -> SlotBatch:
    """All of some examples; `shown` [N, slots] says which slots are open with which intents.

    An example whose slot is not open with its intent cannot be predicted: its words are outside, as they should be.
    """
    slots = np.unique(examples.spans[3])
    is_open = shown[examples.intents][:, slots]
    limit = max(MIN_SPAN_LIMIT, int(examples.spans[2].max(initial=0)) + 1)
    # Without an open slot a sentence has one segmentation only: it is an example, and nothing is asked of it.
    asked = is_open.any(1)
    rows = np.lexsort((examples.lengths, asked))
    place = np.argsort(rows)
    lengths, is_open, asked = examples.lengths[rows], is_open[rows], asked[rows]
    offsets = np.cumsum(lengths) - lengths
    sentences = np.repeat(np.arange(len(rows)), lengths)

    owners, starts, sizes, labels = examples.spans
    owners, sizes, labels = place[owners], sizes + 1, np.searchsorted(slots, labels)
    order = np.argsort(owners, kind="stable")
    owners, starts, sizes, labels = owners[order], starts[order], sizes[order], labels[order]
    starts = starts + offsets[owners]
    classes = np.full(len(sentences), len(slots))
    classes[span_words(starts, sizes)] = np.repeat(labels, sizes)
    words = np.concatenate([np.flatnonzero(classes < len(slots)), _some(np.flatnonzero(classes == len(slots)))])
    gold = is_open[owners, labels]
    batch = SlotBatch(
        rows,
        slots,
        lengths,
        is_open,
        np.setdiff1d(np.arange(len(sentences)), offsets, assume_unique=True),
        words,
        classes[words],
        sentences[words],
        starts,
        sizes,
        labels,
        owners,
        (),
    )
    own = owners[gold], starts[gold], sizes[gold], labels[gold]
    return replace(batch, parts=tuple(_part(batch, run, offsets, limit, own) for run in _runs(batch, asked, limit)))


def _runs(batch: SlotBatch, asked: NDArray[np.bool_], limit: int) -> Iterator[slice]:
    """Sentences whose slots are asked for, as many together as memory allows."""
    lengths = batch.lengths
    longest = np.minimum(lengths, limit)
    spans = longest * lengths - longest * (longest - 1) // 2
    costs = lengths * (len(batch.example_words) + len(batch.slots)) + spans * (len(batch.span_starts) + _SPAN_COST)
    start, total = int((~asked).sum()), 0
    for row in range(start, len(lengths)):
        total += int(costs[row])
        if total > _NUMBERS_AT_A_TIME and row > start:
            yield slice(start, row)
            start, total = row, int(costs[row])
    if start < len(lengths):
        yield slice(start, len(lengths))


def _part(
    batch: SlotBatch, run: slice, offsets: Numbers, limit: int, gold: tuple[Numbers, Numbers, Numbers, Numbers]
) -> BatchPart:
    lengths, first = batch.lengths[run], int(offsets[run.start])
    rows = np.repeat(np.arange(len(lengths)), lengths)
    places = np.arange(len(rows)) - np.repeat(offsets[run] - first, lengths)
    spans = SpanLayout.of(lengths[rows] - places, limit)
    owners, starts, sizes, labels = gold
    own = (owners >= run.start) & (owners < run.stop)
    starts, sizes = starts[own] - first, sizes[own]
    outside = np.ones(len(rows), dtype=bool)
    outside[span_words(starts, sizes)] = False
    return BatchPart(
        slice(first, first + len(rows)),
        rows + run.start,
        rows,
        places,
        lengths,
        spans,
        np.flatnonzero(outside),
        spans.find(starts, sizes),
        labels[own],
    )


def span_words(starts: Numbers, sizes: Numbers) -> Numbers:
    """The words of spans, one span after another."""
    return np.arange(sizes.sum()) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)


def _some(words: Numbers) -> Numbers:
    """Enough of many words, evenly from all of them."""
    if len(words) <= _OUTSIDE_EXAMPLES:
        return words
    return words[np.linspace(0, len(words) - 1, _OUTSIDE_EXAMPLES).astype(np.intp)]
