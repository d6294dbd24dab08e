from __future__ import annotations

import numpy as np
import pytest

from handful.model.nearness import ClassMeans
from handful.model.spans import members_of


@pytest.mark.parametrize("seed", range(5))
def test_means_of_cosines_with_and_without_the_example_itself(seed: int):
    rng = np.random.default_rng(seed)
    classes = np.array([0, 0, 0, 1, 2, 2])[rng.permutation(6)]
    names, examples = (_unit(rng.normal(size=(count, 8))) for count in (3, 6))
    means = ClassMeans.of(members_of(names, examples, classes, np.arange(6)))

    asked = _unit(rng.normal(size=(4, 8)))
    slow = [[np.mean([x @ y for y in examples[classes == number]]) for number in range(3)] for x in asked]
    np.testing.assert_allclose(means.cosines(asked), slow)

    alone = means.cosines(examples, np.arange(6))
    for row, x in enumerate(examples):
        for number in range(3):
            others = [x @ y for other, y in enumerate(examples) if classes[other] == number and other != row]
            assert alone[row, number] == pytest.approx(np.mean(others) if others else 0.0, abs=1e-12)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
