"""Every legal sequence, one after the other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence


def is_legal(tags: Sequence[str]) -> bool:
    before = "O"
    for tag in tags:
        if tag.startswith("I-") and before[2:] != tag[2:]:
            return False
        before = tag
    return True


def legal_sequences(tags: Sequence[str], length: int) -> Iterator[tuple[int, ...]]:
    for path in itertools.product(range(len(tags)), repeat=length):
        if is_legal([tags[number] for number in path]):
            yield path


def score(scores: Sequence[Sequence[float]], path: Sequence[int]) -> float:
    return sum(scores[word][number] for word, number in enumerate(path))


def best_score(scores: Sequence[Sequence[float]], tags: Sequence[str]) -> float:
    return max(score(scores, path) for path in legal_sequences(tags, len(scores)))


def marginals(scores: Sequence[Sequence[float]], tags: Sequence[str]) -> list[list[float]]:
    """The share of the legal sequences' weight that gives a word a tag."""
    weights = {path: math.exp(score(scores, path)) for path in legal_sequences(tags, len(scores))}
    total = sum(weights.values())
    return [
        [sum(w for path, w in weights.items() if path[word] == number) / total for number in range(len(tags))]
        for word in range(len(scores))
    ]
