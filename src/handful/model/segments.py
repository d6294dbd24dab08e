"""Sentences cut into segments: a segment is one word outside all slots, or a whole span. A semi-Markov CRF without
transitions: what a segmentation scores is the sum of its segments' scores.

`outside` [..., T] scores a word as a segment of its own; `spans` [..., T, L] scores the span that begins at word t and
has l + 1 words. What runs beyond a sentence's end is IMPOSSIBLE. Sentences are decoded together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from handful.model.prototypes import Floats
from handful.model.spans import Numbers, Vectors, library


def log_partition(outside: Vectors, spans: Vectors, lengths: Sequence[int]) -> Vectors:
    """log Σ over all segmentations of exp(score). [B, N, T], [B, N, T, L] -> [B, N].

    The scores of all prefixes are kept, and each sentence reads off the one that is its own length.
    """
    xp = library(outside)
    reached = [xp.zeros_like(outside[..., 0])]
    for t in range(1, outside.shape[-1] + 1):
        ways = [reached[t - 1] + outside[..., t - 1]]
        ways += [reached[t - size] + spans[..., t - size, size - 1] for size in range(1, min(spans.shape[-1], t) + 1)]
        reached.append(log_sum(xp.stack(ways, -1)))
    rows = np.arange(len(lengths))
    return xp.stack(reached, -1)[rows, ..., np.asarray(lengths)]


def log_sum(logs: Vectors) -> Vectors:
    """log Σ exp over the last axis, of finite numbers."""
    xp = library(logs)
    highest = xp.amax(logs, axis=-1)
    return highest + xp.log(xp.exp(logs - highest[..., None]).sum(-1))


def best_segmentations(
    outside: Floats, spans: Floats, lengths: Sequence[int]
) -> tuple[list[list[tuple[int, int]]], Floats]:
    """Viterbi: of each sentence the spans [start, end) of its best segmentation, and what that scores.

    [B, T], [B, T, L] -> B lists, [B].
    """
    count, steps = outside.shape
    longest = spans.shape[-1]
    ending, every = _by_end(spans), np.arange(count)
    reached = np.zeros((count, steps + 1))
    sizes = np.zeros((count, steps + 1), dtype=np.intp)  # of the segment that ends here: 0 is a word outside
    ways = np.empty((count, longest + 1))
    for t in range(1, steps + 1):
        size = min(longest, t)
        np.add(reached[:, t - 1], outside[:, t - 1], out=ways[:, 0])
        # The shortest span comes first, so that of two that score the same it is the one that is taken.
        np.add(reached[:, t - size : t], ending[:, t - 1, longest - size :], out=ways[:, size:0:-1])
        sizes[:, t] = best = ways[:, : size + 1].argmax(1)
        reached[:, t] = ways[every, best]
    found = []
    for row, length in enumerate(lengths):
        own, t = [], int(length)
        while t > 0:
            size = int(sizes[row, t])
            if size:
                own.append((t - size, t))
            t -= max(size, 1)
        found.append(own[::-1])
    return found, reached[np.arange(count), np.asarray(lengths)]


def span_probabilities(
    outside: Floats, spans: Floats, lengths: Sequence[int], asked: Sequence[Sequence[tuple[int, int]]]
) -> list[list[float]]:
    """Forward-backward: of each span that is asked for, its share of all segmentations' weight."""
    if not any(asked):
        return [[] for _ in asked]
    forward, backward = _both_ways(outside, spans, lengths)
    found = []
    for row, wanted in enumerate(asked):
        length = int(lengths[row])
        total = forward[row, length]
        logs = [
            forward[row, start] + spans[row, start, end - start - 1] + backward[row, length - end] - total
            for start, end in wanted
        ]
        found.append([float(np.exp(min(log, 0.0))) for log in logs])
    return found


def segment_marginals(
    outside: Floats, spans: Floats, lengths: Sequence[int] | Numbers
) -> tuple[Floats, Floats, Floats]:
    """log Z, and the shares of all segments: of each word that it is outside, and of each span. They are the gradient
    of log Z. [B, T], [B, T, L] -> [B], [B, T], [B, T, L]; what runs beyond a sentence's end has no share."""
    forward, backward = _both_ways(outside, spans, lengths)
    own, steps = np.asarray(lengths), outside.shape[1]
    rows = np.arange(len(own))[:, None]
    totals = forward[rows[:, 0], own]
    before = forward[:, :-1] - totals[:, None]  # of each word: what stands before it
    ends = np.arange(steps)[:, None] + np.arange(1, spans.shape[-1] + 1)
    left = own[:, None, None] - ends  # words behind each span
    after = backward[rows[..., None], np.maximum(left, 0)]
    of_words = np.where(left[:, :, 0] >= 0, np.exp(np.minimum(before + outside + after[:, :, 0], 0.0)), 0.0)
    of_spans = np.where(left >= 0, np.exp(np.minimum(before[:, :, None] + spans + after, 0.0)), 0.0)
    return totals, of_words, of_spans


def _both_ways(outside: Floats, spans: Floats, lengths: Sequence[int] | Numbers) -> tuple[Floats, Floats]:
    """log Σ over the segmentations of the first t words, and of the last t words. -> [B, T + 1] each."""
    count, steps = outside.shape
    # The same recursion from the other end: sentence and spans are turned round, each within its own length.
    own = np.asarray(lengths)
    turned = np.where(np.arange(steps) < own[:, None], own[:, None] - 1 - np.arange(steps), 0)
    rows = np.arange(count)[:, None]
    starts = turned[:, :, None] - np.arange(spans.shape[-1])
    mirrored = np.where(starts >= 0, spans[rows[..., None], np.maximum(starts, 0), np.arange(spans.shape[-1])], -1e9)
    both = np.concatenate([outside, outside[rows, turned]]), np.concatenate([spans, mirrored])
    forward, backward = np.split(_prefixes(*both), 2)
    return forward, backward


def _prefixes(outside: Floats, spans: Floats) -> Floats:
    """log Σ over the segmentations of the first t words, for every t. [B, T], [B, T, L] -> [B, T + 1]."""
    count, steps = outside.shape
    longest = spans.shape[-1]
    ending = _by_end(spans)
    reached = np.zeros((count, steps + 1))
    ways = np.empty((count, longest + 1))
    for t in range(1, steps + 1):
        size = min(longest, t)
        np.add(reached[:, t - 1], outside[:, t - 1], out=ways[:, 0])
        np.add(reached[:, t - size : t], ending[:, t - 1, longest - size :], out=ways[:, 1 : size + 1])
        found = ways[:, : size + 1]
        highest = found.max(axis=1)
        reached[:, t] = highest + np.log(np.exp(found - highest[:, None]).sum(1))
    return reached


def _by_end(spans: Floats) -> Floats:
    """Scores of spans by their last word instead of their first, the longest first: [B, t, L - l] is the span of l
    words that ends with word t. What would begin before the sentence is never read. [B, T, L] -> [B, T, L]."""
    steps, longest = spans.shape[1:]
    sizes = np.arange(longest, 0, -1)
    starts = np.maximum(np.arange(steps)[:, None] - sizes + 1, 0)
    return spans[:, starts, sizes - 1]
