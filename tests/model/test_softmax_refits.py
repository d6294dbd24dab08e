"""Many refits at once, against as many refits one by one."""

from __future__ import annotations

import numpy as np
import pytest

from handful.model.softmax_refits import left_out_logits
from handful.model.softmax_regression import Fit, fit_softmax_regression
from handful.model.spans import unit_rows


def bot(seed: int, classes: int, examples: int, noise: float = 2.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vectors of length one around a middle for each class, as sentences' are around a middle of them all."""
    rng = np.random.default_rng(seed)
    middles = 0.6 * rng.normal(size=48) + rng.normal(size=(classes, 48))
    numbers = np.repeat(np.arange(classes), examples)
    vectors = unit_rows(middles[numbers] + noise * rng.normal(size=(len(numbers), 48)))
    return vectors.astype(np.float32), numbers, rng.uniform(0.5, 2, len(numbers))


def without_each(weights: np.ndarray, rows: np.ndarray, seed: int = 0) -> np.ndarray:
    """Of each refit the weights: nought for its own row, and those of some others a little different."""
    rng = np.random.default_rng(seed)
    found = np.repeat(weights[None], len(rows), axis=0) * rng.uniform(0.9, 1.1, (len(rows), len(weights)))
    found[np.arange(len(rows)), rows] = 0
    return found


def compared(fit: Fit, rows: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of the rows, refitted all at once, and one by one to a tight tolerance."""
    logits = left_out_logits(fit, rows, weights)
    found = np.exp(logits - logits.max(1, keepdims=True))
    true = []
    for row, own in zip(rows, weights, strict=True):
        count = len(fit.regression.bias)
        refit = fit_softmax_regression(
            fit.vectors, fit.classes, own, count, strength=fit.strength, start=fit.regression, tolerance=0.003
        )
        true.append(np.exp(refit.regression.log_probabilities(fit.vectors[[row]])[0]))
    return found / found.sum(1, keepdims=True), np.stack(true)


@pytest.mark.parametrize("strength", [10.0, 100.0])
@pytest.mark.parametrize(("classes", "examples"), [(2, 20), (6, 7), (30, 5)])
def test_refits_all_at_once_are_those_one_by_one(classes: int, examples: int, strength: float):
    vectors, numbers, weights = bot(classes, classes, examples)
    fit = fit_softmax_regression(vectors, numbers, weights, classes, strength=strength)
    rows = np.arange(len(vectors))[:: max(1, len(vectors) // 30)]
    found, true = compared(fit, rows, without_each(weights, rows))
    right = np.arange(len(rows)), numbers[rows]
    whole = np.exp(fit.regression.log_probabilities(vectors[rows]))
    assert np.abs(found[right] - true[right]).mean() <= (0.01 if classes <= 6 else 0.03), "all classes may move, or six"
    assert (found.argmax(1) == true.argmax(1)).mean() >= 0.97
    assert np.abs(whole[right] - true[right]).mean() > 0.05, "it matters whether a row was fitted to"


def test_in_parts_they_are_the_same(monkeypatch: pytest.MonkeyPatch):
    vectors, numbers, weights = bot(1, 12, 4)
    fit = fit_softmax_regression(vectors, numbers, weights, 12, strength=100.0)
    rows = np.arange(48)
    whole = left_out_logits(fit, rows, without_each(weights, rows))
    monkeypatch.setattr("handful.model.softmax_refits._NUMBERS_AT_A_TIME", 2000)
    assert left_out_logits(fit, rows, without_each(weights, rows)) == pytest.approx(whole, abs=0.2)


def test_rows_that_nobody_could_tell_apart_are_no_error():
    """The same vector under two classes, and a class whose only row is left out."""
    vectors, numbers, weights = bot(2, 3, 3)
    vectors[3:6] = vectors[0]
    numbers[8] = 3
    fit = fit_softmax_regression(vectors, numbers, weights, 4, strength=100.0)
    rows = np.arange(9)
    found, true = compared(fit, rows, without_each(weights, rows))
    assert np.isfinite(found).all()
    assert np.abs(found - true).max() < 0.05
