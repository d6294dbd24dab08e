"""From tag scores to tags that are legal BIO: the best sequence, and how probable each word's tag is in a legal one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from handful.data.bio import OUTSIDE, split_tag
from handful.model.prototypes import Floats

_IMPOSSIBLE = -np.inf


def legal_starts(tags: Sequence[str]) -> Floats:
    """0 where a sentence may start with the tag, -inf where not. [K]."""
    return np.array([_IMPOSSIBLE if split_tag(tag)[0] == "I" else 0.0 for tag in tags])


def legal_steps(tags: Sequence[str]) -> Floats:
    """0 where tag j may follow tag i, -inf where not: I-x follows only B-x and I-x. [K, K]."""
    steps = np.zeros((len(tags), len(tags)))
    for column, tag in enumerate(tags):
        prefix, label = split_tag(tag)
        if prefix == "I":
            steps[:, column] = [0.0 if split_tag(before)[1] == label else _IMPOSSIBLE for before in tags]
    return steps


def best_sequence(scores: Floats, starts: Floats, steps: Floats) -> list[int]:
    """Viterbi: the legal sequence with the highest sum of scores. [T, K] -> T tag numbers."""
    reached = scores[0] + starts
    came_from: list[np.ndarray] = []
    for row in scores[1:]:
        paths = reached[:, None] + steps
        came_from.append(paths.argmax(axis=0))
        reached = paths.max(axis=0) + row
    sequence = [int(reached.argmax())]
    for pointers in reversed(came_from):
        sequence.append(int(pointers[sequence[-1]]))
    return sequence[::-1]


def marginals(scores: Floats, starts: Floats, steps: Floats) -> Floats:
    """Forward-backward: the probability of each tag at each word, over all legal sequences. [T, K] -> [T, K]."""
    length = len(scores)
    forward, backward = np.empty_like(scores), np.zeros_like(scores)
    forward[0] = scores[0] + starts
    for t in range(1, length):
        forward[t] = scores[t] + _log_sum(forward[t - 1][:, None] + steps, axis=0)
    for t in range(length - 2, -1, -1):
        backward[t] = _log_sum(steps + (scores[t + 1] + backward[t + 1])[None, :], axis=1)
    logs = forward + backward
    return np.exp(logs - _log_sum(logs, axis=1)[:, None])


def _log_sum(logs: Floats, axis: int) -> Floats:
    # A column that no legal path reaches is all -inf, and stays so.
    highest = logs.max(axis=axis, keepdims=True)
    shift = np.where(np.isfinite(highest), highest, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(logs - shift).sum(axis=axis)) + np.squeeze(shift, axis=axis)


def candidate_columns(tags: Sequence[str], labels: frozenset[str], allowed: frozenset[str] | None) -> list[int]:
    """The columns of O and of the tags of `labels`; `allowed`, where given, cuts the slots' tags further.

    An I-x without its B-x is left out: no legal sequence could hold it.
    """
    kept = {tag for tag in tags if allowed is None or tag in allowed}
    columns = []
    for column, tag in enumerate(tags):
        prefix, label = split_tag(tag)
        if prefix == OUTSIDE or (label in labels and tag in kept and f"B-{label}" in kept):
            columns.append(column)
    return columns
