"""Softmax regression with L2 by plain gradient descent in float64, on lists of numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Vector = Sequence[float]
Row = tuple[Vector, str, float]  # a vector, its class and its weight


def probabilities(weights: Mapping[str, Vector], vector: Vector) -> dict[str, float]:
    """The last number of a class's weights is its bias."""
    inputs = [*vector, 1.0]
    scores = {name: sum(w * x for w, x in zip(own, inputs, strict=True)) for name, own in weights.items()}
    highest = max(scores.values())
    shares = {name: math.exp(score - highest) for name, score in scores.items()}
    return {name: share / sum(shares.values()) for name, share in shares.items()}


def fitted(rows: Sequence[Row], classes: Sequence[str], strength: float) -> dict[str, list[float]]:
    """Downhill on Σ w·-log P(class | x) + (‖W‖² + ‖b‖²) / 2C, until there is next to no slope left."""
    weights = {name: [0.0] * (len(rows[0][0]) + 1) for name in classes}
    # No step of this size goes too far: the curvature is below half of the sum of squares, and that of L2.
    size = 1 / (0.5 * sum(w * (1 + sum(x * x for x in vector)) for vector, _, w in rows) + 1 / strength)
    for _ in range(100_000):
        slope = {name: [value / strength for value in own] for name, own in weights.items()}
        for vector, right, weight in rows:
            for name, share in probabilities(weights, vector).items():
                error = weight * (share - (name == right))
                slope[name] = [s + error * x for s, x in zip(slope[name], [*vector, 1.0], strict=True)]
        if max(abs(value) for own in slope.values() for value in own) < 1e-7:
            return weights
        weights = {name: [w - size * s for w, s in zip(own, slope[name], strict=True)] for name, own in weights.items()}
    raise ArithmeticError("no end in sight")
