"""Softmax regression with L2 regularisation in numpy: the linear intent head of a bot.

    minimise over W [N, d] and b [N]:   Σ_i w_i · -log softmax(W x_i + b)[y_i]  +  (‖W‖² + ‖b‖²) / (2 C)

The regularised bias makes the problem strictly convex, so its solution is unique: where the search starts decides how
long it takes and not where it ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from handful.model.prototypes import Floats

Numbers = NDArray[np.intp]

# ‖gradient‖ ≤ TOLERANCE / C. A solution is then at most TOLERANCE from the optimum in W, and probabilities in practice
# within 3e-4 of the optimum's, since data curve the objective more than the regularisation alone. Few rows curve it
# less: below so many the tolerance is in proportion, down to a thirtieth.
TOLERANCE = 0.1
_MANY_ROWS = 1000
_MOST_STEPS = 200
_MOST_PRODUCTS = 100  # of the Hessian, in one Newton step
_MOST_HALVINGS = 30


@dataclass(frozen=True, slots=True, eq=False)
class SoftmaxRegression:
    weights: Floats  # [N, d]
    bias: Floats  # [N]

    def log_probabilities(self, vectors: Floats) -> Floats:
        """log P(class | vector). [n, d] -> [n, N]."""
        return _log_softmax((np.asarray(vectors) @ self.weights.T + self.bias).T).T

    def with_classes(self, previous: Sequence[int | None]) -> SoftmaxRegression:
        """The start of a fit whose classes changed: for each new class its number here, or None if there was none."""
        weights = np.zeros((len(previous), self.weights.shape[1]), self.weights.dtype)
        bias = np.zeros(len(previous), self.bias.dtype)
        for number, before in enumerate(previous):
            if before is not None:
                weights[number], bias[number] = self.weights[before], self.bias[before]
        return SoftmaxRegression(weights, bias)


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A fitted regression and the rows that it was fitted on."""

    regression: SoftmaxRegression
    vectors: Floats  # [m, d]
    classes: Numbers  # [m]
    sample_weights: Floats  # [m]
    strength: float  # C


def fit_softmax_regression(
    vectors: Floats,
    classes: ArrayLike,
    sample_weights: ArrayLike,
    count: int,
    *,
    strength: float,
    start: SoftmaxRegression | None = None,
    tolerance: float | None = None,
) -> Fit:
    """Fit `count` classes to vectors [m, d] with class numbers [m] and weights [m]; weight 0 leaves a row out."""
    vectors = np.ascontiguousarray(vectors)
    if tolerance is None:
        tolerance = TOLERANCE * min(1.0, max(0.03, len(vectors) / _MANY_ROWS))
    classes = np.asarray(classes, dtype=np.intp)
    sample_weights = np.asarray(sample_weights, dtype=vectors.dtype)
    inputs = np.concatenate([vectors, np.ones((len(vectors), 1), vectors.dtype)], axis=1)
    if start is None:
        weights = np.zeros((count, inputs.shape[1]), inputs.dtype)
    else:
        weights = np.concatenate([start.weights, start.bias[:, None]], axis=1).astype(inputs.dtype)
    weights = _minimise(weights, inputs, classes, sample_weights, strength, tolerance)
    return Fit(
        SoftmaxRegression(weights[:, :-1].copy(), weights[:, -1].copy()), vectors, classes, sample_weights, strength
    )


def _minimise(
    weights: Floats, inputs: Floats, classes: Numbers, sample_weights: Floats, strength: float, tolerance: float
) -> Floats:
    """Newton's method, its linear systems solved by conjugate gradients. [N, d+1] -> [N, d+1]."""
    ridge = 1 / strength
    rows = np.arange(len(inputs))
    logits = weights @ inputs.T  # [N, m]: sums over classes run over the first axis
    for _ in range(_MOST_STEPS):
        shares = np.exp(_log_softmax(logits))
        residuals = shares * sample_weights
        residuals[classes, rows] -= sample_weights
        gradient = residuals @ inputs + ridge * weights
        if np.linalg.norm(gradient) <= tolerance / strength:
            return weights
        direction = _newton_direction(gradient, shares, sample_weights, inputs, ridge)
        change = direction @ inputs.T
        size = _step_size(logits, change, weights, direction, classes, sample_weights, ridge)
        weights = weights + size * direction
        logits += size * change
    raise ArithmeticError(f"softmax regression: no solution within {_MOST_STEPS} Newton steps")


def _newton_direction(gradient: Floats, shares: Floats, sample_weights: Floats, inputs: Floats, ridge: float) -> Floats:
    """An approximate solution D of (Hessian) D = -gradient. [N, d+1] -> [N, d+1]."""
    direction = np.zeros_like(gradient)
    residual = -gradient
    search = residual.copy()
    square = np.vdot(residual, residual)
    enough = 0.1 * square  # a closer direction costs more than the Newton steps that it saves
    for _ in range(_MOST_PRODUCTS):
        change = search @ inputs.T
        curved = ((change - (shares * change).sum(axis=0)) * shares * sample_weights) @ inputs + ridge * search
        size = square / np.vdot(search, curved)
        direction += size * search
        residual -= size * curved
        before, square = square, np.vdot(residual, residual)
        if square <= enough:
            break
        search = residual + (square / before) * search
    return direction


def _step_size(
    logits: Floats,
    change: Floats,
    weights: Floats,
    direction: Floats,
    classes: Numbers,
    sample_weights: Floats,
    ridge: float,
) -> float:
    """The first of 1, ½, ¼, … at which the objective's slope along the direction is no longer steep uphill."""
    rows = np.arange(len(classes))

    def slope(size: float) -> float:
        residuals = np.exp(_log_softmax(logits + size * change)) * sample_weights
        residuals[classes, rows] -= sample_weights
        return float(np.vdot(residuals, change) + ridge * np.vdot(weights + size * direction, direction))

    size, first = 1.0, slope(0.0)
    for _ in range(_MOST_HALVINGS):
        if slope(size) <= -0.5 * first:
            break
        size /= 2
    return size


def _log_softmax(logits: Floats) -> Floats:
    """Over the first axis. [N, m] -> [N, m]."""
    logits = logits - logits.max(axis=0)
    logits -= np.log(np.exp(logits).sum(axis=0))
    return logits
