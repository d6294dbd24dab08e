"""Prototypes: a class is the mean of its examples, and the nearer one is the likelier one (Eq. 4-6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]


def unit(vectors: Floats) -> Floats:
    """Vectors of length one. [..., d] -> [..., d]."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


def class_means(vectors: Floats, classes: Sequence[int], count: int) -> Floats:
    """Eq. 4-5: p_c = mean of the vectors of class c. [n, d], n class numbers -> [count, d]."""
    numbers = np.asarray(classes)
    sums = np.zeros((count, vectors.shape[-1]), dtype=vectors.dtype)
    np.add.at(sums, numbers, vectors)
    sizes = np.bincount(numbers, minlength=count)
    if not sizes.all():
        raise ValueError("a class without examples has no prototype")
    return sums / sizes[:, None].astype(vectors.dtype)


def squared_distances(vectors: Floats, prototypes: Floats) -> Floats:
    """||v - p||² for every pair. [n, d], [c, d] -> [n, c]."""
    # Of unit-like vectors; the expanded form is exact enough and needs no [n, c, d].
    found = (vectors**2).sum(-1)[:, None] - 2 * vectors @ prototypes.T + (prototypes**2).sum(-1)[None, :]
    return np.maximum(found, 0.0)


def log_probabilities(distances: Floats, temperature: float) -> Floats:
    """Eq. 6: log softmax of the negative squared distances, over the last axis."""
    scores = -distances / temperature
    scores = scores - scores.max(axis=-1, keepdims=True)
    return scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True))
