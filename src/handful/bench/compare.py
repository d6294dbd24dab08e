"""Two learners on the same episodes: the mean difference, its interval, and how easily chance would give it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class Difference:
    mean: float
    low: float  # of the 95 % interval
    high: float
    p: float  # two-sided


def paired_bootstrap(ours: Sequence[float], base: Sequence[float], *, seed: int = 0) -> Difference:
    """Episodes are drawn anew with replacement, each with both learners' scores; the interval is that of the middle
    95 % of the resampled means, and p twice the smaller share of them on either side of nought."""
    if len(ours) != len(base) or not ours:
        raise ValueError(f"found {len(ours)} and {len(base)} episodes, expected the same ones")
    differences = np.asarray(ours, dtype=np.float64) - np.asarray(base, dtype=np.float64)
    rng = np.random.default_rng(seed)
    drawn = rng.integers(len(differences), size=(RESAMPLES, len(differences)))
    means = differences[drawn].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    # One more on each side, as if the data themselves were a resample: p is never nought.
    share = min((means <= 0).sum(), (means >= 0).sum()) + 1
    p = min(1.0, 2 * float(share) / (RESAMPLES + 1))
    return Difference(float(differences.mean()), float(low), float(high), p)
