"""What a fitted softmax regression would say of its own rows without them: many refits at once, from a warm start.

With other weights of its rows the optimum W moves by Xᵀ D, so a refit is searched for among D [m, N], whose products
need the Gram matrix G that all refits share. A Newton step solves

    (I + C G S) G D = -C G r,   r = w ∘ (P - Y) - R + D / C,   S = w ∘ (diag p - p pᵀ), row by row,

with w the refit's weights and R the residuals of the fit as it is. S = A Aᵀ with A = √w diag(√p) (I - a √p √pᵀ), so
that conjugate gradients have a symmetric system, I + C Aᵀ G A, and one product with G an iteration.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from handful.model.prototypes import Floats
from handful.model.softmax_regression import Fit, Numbers

_MOST_STEPS = 8  # of Newton's method; two or three are the rule
_STILL = 0.2  # a step that moves no left-out row's logit by more is the last
_MOST_HALVINGS = 20  # of a step that leads uphill
_MOST_PRODUCTS = 12  # with the Gram matrix, in one Newton step
_ENOUGH = 1e-3  # of the residual's square, at which conjugate gradients stop
# Of the classes those that a row is likeliest to be told as move when it is left out; the others' logits stay.
_MOVING_CLASSES = 6
_NUMBERS_AT_A_TIME = 1 << 20  # of one array: a bot of many intents must not need memory for all refits at once


def left_out_logits(fit: Fit, rows: Numbers, weights: Floats) -> Floats:
    """Of each of `rows` [n] the logits by a regression that is refitted with other weights [n, m] of all rows, its own
    0. -> [n, N]."""
    regression, kind = fit.regression, fit.vectors.dtype
    inputs = np.concatenate([fit.vectors, np.ones((len(fit.vectors), 1), kind)], axis=1)
    gram = inputs @ inputs.T
    logits = regression.weights @ fit.vectors.T + regression.bias[:, None]  # [N, m]
    found = logits[:, rows].T.copy()
    count = min(len(logits), _MOVING_CLASSES)
    for places in _parts(len(rows), count * len(inputs)):
        own = rows[places]
        moving = _moving(logits[:, own], fit.classes[own], count)
        refitted = _refitted_logits(gram, logits, fit, weights[places].T.astype(kind), own, moving)
        np.put_along_axis(found[places], moving.T, refitted.T, axis=1)
    return found


def _parts(count: int, numbers: int) -> Iterator[slice]:
    size = max(1, _NUMBERS_AT_A_TIME // max(numbers, 1))
    return (slice(start, min(start + size, count)) for start in range(0, count, size))


def _moving(logits: Floats, own: Numbers, count: int) -> Numbers:
    """Each row's own class and the likeliest of the others. [N, P], [P] -> [K, P]."""
    first = logits.copy()
    first[own, np.arange(len(own))] = np.inf
    return np.argsort(-first, axis=0, kind="stable")[:count]


def _refitted_logits(gram: Floats, logits: Floats, fit: Fit, weights: Floats, rows: Numbers, moving: Numbers) -> Floats:
    """Of each row the logits of its moving classes. [m, m], [N, m], …, [m, P], [P], [K, P] -> [K, P]."""
    most = logits.max(axis=0)
    logits = logits - most
    powers = np.exp(logits)
    total = powers.sum(axis=0)  # [m]
    residuals = powers / total * fit.sample_weights
    residuals[fit.classes, np.arange(len(gram))] -= fit.sample_weights

    now = logits.T[:, moving].transpose(1, 0, 2)  # [K, m, P]
    rest = np.maximum(total[:, None] - np.exp(now).sum(axis=0), 0)  # of the classes that stay
    before = residuals.T[:, moving].transpose(1, 0, 2)
    is_class = fit.classes[:, None] == moving[:, None, :]
    problems = np.arange(len(rows))

    def at(now: Floats, moved: Floats) -> tuple[Floats, Floats]:
        """Probabilities, and the gradient's r."""
        shares = np.exp(now)
        shares /= shares.sum(axis=0) + rest
        return shares, (shares - is_class) * weights - before + moved / fit.strength

    moved = np.zeros_like(now)
    shares, gradient = at(now, moved)
    for _ in range(_MOST_STEPS):
        step = _newton_step(gram, gradient, shares, weights, fit.strength)
        change = gram @ step
        downhill = _products(gradient, change)
        size = np.ones(len(rows), now.dtype)
        for _ in range(_MOST_HALVINGS):
            shares, gradient = at(now + size * change, moved + size * step)
            steep = _products(gradient, change) > -0.5 * downhill
            if not steep.any():
                break
            size[steep] /= 2
        now, moved = now + size * change, moved + size * step
        if np.abs(change[:, rows, problems]).max() <= _STILL:
            break
    return now[:, rows, problems] + most[rows]


def _newton_step(gram: Floats, gradient: Floats, shares: Floats, weights: Floats, strength: float) -> Floats:
    """D. [m, m], [K, m, P], [K, m, P], [m, P] -> [K, m, P]."""
    roots = np.sqrt(shares)
    mass = np.minimum(shares.sum(axis=0), 1.0)
    bend = (1 - np.sqrt(1 - mass)) / np.maximum(mass, 1e-12)  # (I - bend √p √pᵀ)² = I - √p √pᵀ
    scaled = roots * np.sqrt(weights)

    def onward(values: Floats) -> Floats:  # A
        values = values - (bend * (roots * values).sum(axis=0)) * roots
        values *= scaled
        return values

    def back(values: Floats) -> Floats:  # Aᵀ
        values = values * scaled
        values -= (bend * (roots * values).sum(axis=0)) * roots
        return values

    residual = -strength * back(gram @ gradient)
    search, solution = residual.copy(), np.zeros_like(residual)
    square = _products(residual, residual)
    enough = _ENOUGH * square
    for _ in range(_MOST_PRODUCTS):
        curved = search + strength * back(gram @ onward(search))
        size = square / np.maximum(_products(search, curved), 1e-30)
        solution += size * search
        residual -= size * curved
        previous, square = square, _products(residual, residual)
        if (square <= enough).all():
            break
        search = residual + (square / np.maximum(previous, 1e-30)) * search
    return -strength * (gradient + onward(solution))


def _products(left: Floats, right: Floats) -> Floats:
    """[K, m, P], [K, m, P] -> [P]."""
    return np.einsum("kmp,kmp->p", left, right)
