"""Prototypes and distances, number by number."""

from __future__ import annotations

import math
from collections.abc import Sequence

Vector = Sequence[float]


def mean(vectors: Sequence[Vector]) -> list[float]:
    return [sum(vector[i] for vector in vectors) / len(vectors) for i in range(len(vectors[0]))]


def squared_distance(a: Vector, b: Vector) -> float:
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))


def unit(vector: Vector) -> list[float]:
    length = math.sqrt(sum(x * x for x in vector))
    return [x / length for x in vector]


def probabilities(query: Vector, prototypes: Sequence[Vector], temperature: float) -> list[float]:
    """Eq. 6."""
    weights = [math.exp(-squared_distance(query, prototype) / temperature) for prototype in prototypes]
    return [weight / sum(weights) for weight in weights]
