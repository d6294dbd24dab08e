"""How well confidences are calibrated, and how well a score tells what is in scope. Pure functions of numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
BINS = 15


def calibration_error(confidences: Floats, right: NDArray[np.bool_], bins: int = BINS) -> float:
    """Expected calibration error: Σ over bins of equal width, n_b / n · |mean confidence - share that is right|."""
    places = np.minimum((confidences * bins).astype(int), bins - 1)
    sums = [np.bincount(places, weights=values, minlength=bins) for values in (confidences, right.astype(float))]
    return float(np.abs(sums[0] - sums[1]).sum() / len(confidences))


def auroc(inside: Floats, outside: Floats) -> float:
    """How often a sentence in scope scores higher than one that is not; a tie counts half."""
    _, place, counts = np.unique(np.concatenate([inside, outside]), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    wins = ranks[: len(inside)].sum() - len(inside) * (len(inside) + 1) / 2
    return float(wins / (len(inside) * len(outside)))


def false_positives(inside: Floats, outside: Floats, kept: float = 0.95) -> float:
    """What is let through of what is out of scope, where 95 % of what is in scope must be."""
    lowest = np.sort(inside)[int(np.floor((1 - kept) * len(inside) + 1e-9))]
    return float((outside >= lowest).mean())


def accuracy_at_recall(inside: Floats, right: NDArray[np.bool_], outside: Floats, recall: float) -> float:
    """What is told right in scope, and not turned away, at the lowest limit that turns away so much of the rest."""
    limit = np.sort(outside)[int(np.ceil(recall * len(outside) - 1e-9)) - 1]
    return float(((inside > limit) & right).mean())
