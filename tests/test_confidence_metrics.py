"""The measures of benchmarks/confidence.py and labels_saved.py, against slow loops."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest


@pytest.fixture
def metrics(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "benchmarks"))
    import confidence_metrics  # pyright: ignore[reportMissingImports]

    return confidence_metrics


@pytest.mark.parametrize("seed", range(5))
def test_calibration_error_is_the_gap_of_each_bin_by_its_share(metrics: ModuleType, seed: int):
    rng = np.random.default_rng(seed)
    confidences, right = np.append(rng.random(99), 1.0), rng.random(100) < 0.7
    slow = 0.0
    for number in range(15):
        upper = 1.1 if number == 14 else (number + 1) / 15
        rows = [row for row, sure in enumerate(confidences) if number / 15 <= sure < upper]
        if rows:
            slow += len(rows) / 100 * abs(np.mean(confidences[rows]) - np.mean(right[rows]))
    assert metrics.calibration_error(confidences, right) == pytest.approx(slow)


@pytest.mark.parametrize("seed", range(5))
def test_auroc_is_how_often_a_pair_is_in_order(metrics: ModuleType, seed: int):
    rng = np.random.default_rng(seed)
    inside, outside = rng.integers(0, 12, 30), rng.integers(0, 9, 20)
    slow = np.mean([1.0 if a > b else 0.5 if a == b else 0.0 for a in inside for b in outside])
    assert metrics.auroc(inside, outside) == pytest.approx(slow)


def test_limits(metrics: ModuleType):
    inside, outside = np.arange(100.0), np.array([-1.0, 4.0, 5.0, 50.0])
    assert metrics.false_positives(inside, outside) == 0.5, "the limit is 5: 95 of 100 reach it"
    right = np.arange(100) % 2 == 0
    assert metrics.accuracy_at_recall(inside, right, outside, 0.5) == 0.47, "above 4, the even ones: 6, 8 … 98"
    assert metrics.accuracy_at_recall(inside, right, outside, 1.0) == 0.24, "above 50"


def test_labels_needed_lie_between_two_rounds(metrics: ModuleType):
    from labels_saved import labels_needed  # pyright: ignore[reportMissingImports]

    curve = [50.0, 60.0, 60.0, 80.0]
    assert labels_needed(curve, 10, 50.0) == 0
    assert labels_needed(curve, 10, 55.0) == 5
    assert labels_needed(curve, 10, 70.0) == 25
    assert labels_needed(curve, 10, 80.0) == 30
    assert labels_needed(curve, 10, 81.0) is None
