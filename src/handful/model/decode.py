"""From tag scores to tags that are legal BIO: the best sequence, and how probable each word's tag is in a legal one.

I-x follows only B-x and I-x; every other tag may follow any. So a step need not look at all pairs of tags: what
reaches O or a B is the same for all of them, and what reaches I-x comes from two tags. Sentences are decoded together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from handful.data.bio import OUTSIDE, split_tag
from handful.model.prototypes import Floats

Numbers = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class TagColumns:
    """The tags of a support as columns of scores: which are I-x, and where their B-x is."""

    inside: Numbers  # the columns of the I-x whose B-x is a column, too
    begins: Numbers  # of each of them, the column of its B-x
    stranded: Numbers  # the columns of I-x without a B-x: no legal sequence holds them

    @classmethod
    def of(cls, tags: Sequence[str]) -> TagColumns:
        places = {tag: column for column, tag in enumerate(tags)}
        inside = {column: f"B-{label}" for column, (kind, label) in enumerate(map(split_tag, tags)) if kind == "I"}
        paired = [(column, places[begin]) for column, begin in inside.items() if begin in places]
        stranded = [column for column, begin in inside.items() if begin not in places]
        columns = np.array(paired, dtype=np.intp).reshape(-1, 2)
        return cls(columns[:, 0], columns[:, 1], np.array(stranded, dtype=np.intp))

    @property
    def never_first(self) -> Numbers:
        return np.concatenate([self.inside, self.stranded])


def best_sequences(scores: Floats, lengths: Sequence[int], tags: TagColumns) -> list[list[int]]:
    """Viterbi: of each sentence the legal sequence with the highest sum of scores. [B, T, K] -> T tag numbers each.

    Rows beyond a sentence's length are not looked at.
    """
    count, longest, _ = scores.shape
    own, rows = np.asarray(lengths), np.arange(count)
    reached = scores[:, 0].copy()
    reached[:, tags.never_first] = -np.inf
    pointers = np.zeros(scores.shape, dtype=np.intp)
    for t in range(1, longest):
        best = reached.argmax(axis=1)
        came_from = np.repeat(best[:, None], scores.shape[2], axis=1)
        paths = np.repeat(reached[rows, best][:, None], scores.shape[2], axis=1)
        begun, gone_on = reached[:, tags.begins], reached[:, tags.inside]
        came_from[:, tags.inside] = np.where(begun >= gone_on, tags.begins, tags.inside)
        paths[:, tags.inside] = np.maximum(begun, gone_on)
        paths[:, tags.stranded] = -np.inf
        pointers[:, t] = came_from
        # A sentence that has ended keeps what it reached.
        reached = np.where((t < own)[:, None], paths + scores[:, t], reached)
    sequences = np.zeros((count, longest), dtype=np.intp)
    tag = reached.argmax(axis=1)
    for t in range(longest - 1, -1, -1):
        sequences[:, t] = tag
        tag = np.where(t < own, pointers[rows, t, tag], tag)
    return [sequence[:length].tolist() for sequence, length in zip(sequences, lengths, strict=True)]


def marginals(scores: Floats, lengths: Sequence[int], tags: TagColumns) -> Floats:
    """Forward-backward: the probability of each tag at each word, over all legal sequences. [B, T, K] -> [B, T, K]."""
    own, longest = np.asarray(lengths), scores.shape[1]
    forward, backward = np.empty_like(scores), np.zeros_like(scores)
    forward[:, 0] = scores[:, 0]
    forward[:, 0, tags.never_first] = -np.inf
    for t in range(1, longest):
        before = forward[:, t - 1]
        reached = np.repeat(_log_sum(before)[:, None], scores.shape[2], axis=1)
        reached[:, tags.inside] = np.logaddexp(before[:, tags.begins], before[:, tags.inside])
        reached[:, tags.stranded] = -np.inf
        forward[:, t] = scores[:, t] + reached
    free = np.ones(scores.shape[2], dtype=bool)
    free[tags.never_first] = False
    for t in range(longest - 2, -1, -1):
        ahead = scores[:, t + 1] + backward[:, t + 1]
        left = np.repeat(_log_sum(ahead[:, free])[:, None], scores.shape[2], axis=1)
        gone_on = np.logaddexp(left[:, tags.inside], ahead[:, tags.inside])
        left[:, tags.begins] = gone_on
        left[:, tags.inside] = gone_on
        backward[:, t] = np.where((t + 1 < own)[:, None], left, 0.0)
    logs, totals = forward + backward, _log_sum(forward + backward)[..., None]
    return np.exp(np.where(np.isfinite(totals), logs, -np.inf) - np.where(np.isfinite(totals), totals, 0.0))


def _log_sum(logs: Floats) -> Floats:
    """log Σ exp over the last axis; a row that no legal path reaches is all -inf, and stays so."""
    highest = logs.max(axis=-1, keepdims=True, initial=-np.inf)
    shift = np.where(np.isfinite(highest), highest, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(logs - shift).sum(axis=-1)) + shift[..., 0]


def candidate_columns(
    tags: Sequence[str], labels: frozenset[str], allowed: frozenset[str] | None, *, legal: bool = True
) -> list[int]:
    """The columns of O and of the tags of `labels`; `allowed`, where given, cuts the slots' tags further.

    Where sequences must be `legal`, an I-x without its B-x is left out: none could hold it.
    """
    kept = {tag for tag in tags if allowed is None or tag in allowed}
    columns = []
    for column, tag in enumerate(tags):
        prefix, label = split_tag(tag)
        if prefix == OUTSIDE or (label in labels and tag in kept and (not legal or f"B-{label}" in kept)):
            columns.append(column)
    return columns
