"""The paper's "Episode Construction", one formula a function. Sizes are |U(c)| of the chosen classes C, in order."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

FEWEST_CLASSES = 3
CLASS_CAP = 20  # caps what a class adds to |S|, not its shots


def way(classes: int, rng: np.random.Generator) -> int:
    """Step 1 (i): N, uniform over 3 … |C_split|."""
    if classes < FEWEST_CLASSES:
        raise ValueError(f"an episode needs {FEWEST_CLASSES} classes, found {classes}")
    return int(rng.integers(FEWEST_CLASSES, classes + 1))


def query_shots(sizes: Sequence[int], cap: int) -> int:
    """Step 2 (i): k_q = min(cap, min_c ⌊0.5 |U(c)|⌋), the same for every class."""
    return min(cap, min(size // 2 for size in sizes))


def support_size(sizes: Sequence[int], k_q: int, beta: float, u_max: int) -> int:
    """Step 2 (ii): |S| = min(U_max, Σ_c ⌈β min(20, |U(c)| - k_q)⌉)."""
    if u_max < len(sizes):
        raise ValueError(f"U_max is {u_max}, but each of the {len(sizes)} classes needs a support utterance")
    return min(u_max, sum(math.ceil(beta * min(CLASS_CAP, size - k_q)) for size in sizes))


def shares(sizes: Sequence[int], alphas: Sequence[float]) -> list[float]:
    """R_c = exp(α_c) |U(c)| / Σ_c' exp(α_c') |U(c')|."""
    weights = [math.exp(alpha) * size for alpha, size in zip(alphas, sizes, strict=True)]
    return [weight / sum(weights) for weight in weights]


def support_shots(sizes: Sequence[int], class_shares: Sequence[float], support: int, k_q: int) -> list[int]:
    """Step 2 (iii): k_c = min(⌊R_c (|S| - |C|)⌋ + 1, |U(c)| - k_q). At least one; the floors may leave Σ k_c < |S|."""
    spare = support - len(sizes)
    return [min(math.floor(share * spare) + 1, size - k_q) for size, share in zip(sizes, class_shares, strict=True)]


def draw_beta(rng: np.random.Generator) -> float:
    """β, uniform over (0, 1]."""
    return 1.0 - float(rng.random())


def draw_alphas(classes: int, rng: np.random.Generator) -> list[float]:
    """α_c, uniform over [log 0.5, log 2)."""
    return rng.uniform(math.log(0.5), math.log(2.0), size=classes).tolist()
