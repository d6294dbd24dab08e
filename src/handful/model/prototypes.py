"""Prototypes: a class is the mean of its examples, and the nearer one is the likelier one (Eq. 4-6).

Means and distances are written in what numpy arrays and torch tensors have in common: training differentiates the
very lines that predict.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.floating[Any]]
Vectors = TypeVar("Vectors", "Floats", "Tensor")


def unit(vectors: Floats) -> Floats:
    """Vectors of length one. [..., d] -> [..., d]."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


def class_means(vectors: Vectors, members: Vectors) -> Vectors:
    """Eq. 4-5: p_c = mean of the vectors of class c. [n, d], membership [c, n] of zeros and ones -> [c, d]."""
    return (members @ vectors) / members.sum(-1)[:, None]  # pyright: ignore[reportReturnType]


def membership(classes: Sequence[int], count: int) -> Floats:
    """Row c has a one for every example of class c. n class numbers -> [count, n]."""
    numbers = np.asarray(classes, dtype=np.intp)
    members = np.zeros((count, len(numbers)), dtype=np.float32)
    members[numbers, np.arange(len(numbers))] = 1
    if not members.any(axis=1).all():
        raise ValueError("a class without examples has no prototype")
    return members


def squared_distances(vectors: Vectors, prototypes: Vectors) -> Vectors:
    """||v - p||² for every pair. [n, d], [c, d] -> [n, c]."""
    # The expanded form needs no [n, c, d]; what rounding makes negative is nought.
    found = (vectors**2).sum(-1)[:, None] - 2 * vectors @ prototypes.T + (prototypes**2).sum(-1)[None, :]
    return found.clip(min=0)  # pyright: ignore[reportReturnType]


def log_probabilities(distances: Floats, temperature: float) -> Floats:
    """Eq. 6: log softmax of the negative squared distances, over the last axis."""
    scores = -distances / temperature
    scores = scores - scores.max(axis=-1, keepdims=True)
    return scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True))
