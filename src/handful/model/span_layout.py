"""All spans of some sentences, one after another without padding, and sums over their words with their gradient."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from handful.model.span_maps import Array
from handful.model.spans import Numbers


@dataclass(frozen=True, slots=True, eq=False)
class SpanLayout:
    """S spans of W words, shorter ones first.

    Spans of one more word are those of the size before that have a word after them, so sums over spans grow by a word
    at a time.
    """

    starts: Numbers  # [S]: the first word
    ends: Numbers  # [S]: the last word
    sizes: Numbers  # [S]: words
    blocks: tuple[slice, ...]  # of each size, from one word up
    nested: tuple[Numbers, ...]  # of each size's spans those that they begin with, in the block before
    words: int  # W

    @classmethod
    def of(cls, left: Numbers, longest: int) -> SpanLayout:
        """Spans of at most `longest` words; `left` [W] says how many words a sentence has from each word on."""
        starts, nested = [np.arange(len(left))], [np.arange(0)]
        for size in range(2, min(longest, int(left.max())) + 1):
            nested.append(np.flatnonzero(left[starts[-1]] >= size))
            starts.append(starts[-1][nested[-1]])
        counts = [len(own) for own in starts]
        edges = np.cumsum([0, *counts]).tolist()
        sizes = np.repeat(np.arange(1, len(counts) + 1), counts)
        first = np.concatenate(starts)
        blocks = tuple(slice(*edge) for edge in pairwise(edges))
        return cls(first, first + sizes - 1, sizes, blocks, tuple(nested), len(left))

    def find(self, starts: Numbers, sizes: Numbers) -> Numbers:
        """The places of spans, which must be there."""
        return np.searchsorted(self.sizes * self.words + self.starts, sizes * self.words + starts)

    def sums(self, values: Array) -> Array:
        """Sums over each span's words. [W, c] -> [S, c]."""
        sums = values[self.ends]
        for size in range(1, len(self.blocks)):
            sums[self.blocks[size]] += sums[self.blocks[size - 1]][self.nested[size]]
        return sums

    def sums_gradient(self, gradient: Array) -> Array:
        """Of `sums`: [S, c] -> [W, c]. What comes in is overwritten."""
        for size in range(len(self.blocks) - 1, 0, -1):
            gradient[self.blocks[size - 1]][self.nested[size]] += gradient[self.blocks[size]]
        return self.picked_gradient(gradient, self.ends)

    def picked_gradient(self, gradient: Array, words: Numbers) -> Array:
        """Of picking a word for each span, its first or its last: [S, c] -> [W, c]."""
        summed = np.zeros((self.words, gradient.shape[1]), dtype=gradient.dtype)
        for block in self.blocks:  # of one size no two spans begin or end with the same word
            summed[words[block]] += gradient[block]
        return summed


def span_words(starts: Numbers, sizes: Numbers) -> Numbers:
    """The words of spans, one span after another."""
    return np.arange(sizes.sum()) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
