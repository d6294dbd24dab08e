from __future__ import annotations

import numpy as np
import pytest

from handful.model.prototypes import class_means, log_probabilities, membership, squared_distances, unit
from oracles import prototypes as oracle


@pytest.fixture
def vectors() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(7, 5))


def test_prototypes_are_means_of_their_classes(vectors: np.ndarray):
    classes = [0, 1, 0, 2, 1, 0, 2]
    found = class_means(vectors, membership(classes, 3))
    for number in range(3):
        members = [vectors[i].tolist() for i, c in enumerate(classes) if c == number]
        assert found[number] == pytest.approx(oracle.mean(members), abs=1e-6)


def test_a_class_without_examples_is_refused(vectors: np.ndarray):
    with pytest.raises(ValueError, match="without examples"):
        membership([0] * 7, 2)


def test_distances_and_probabilities_are_those_of_equation_6(vectors: np.ndarray):
    queries, prototypes = vectors[:4], vectors[4:]
    distances = squared_distances(queries, prototypes)
    probabilities = np.exp(log_probabilities(distances, 0.7))
    for i, query in enumerate(queries.tolist()):
        assert distances[i] == pytest.approx([oracle.squared_distance(query, p) for p in prototypes.tolist()], abs=1e-6)
        assert probabilities[i] == pytest.approx(oracle.probabilities(query, prototypes.tolist(), 0.7), abs=1e-6)


def test_far_distances_do_not_overflow():
    found = np.exp(log_probabilities(np.array([[0.0, 1e6]]), 0.01))
    assert found.tolist() == [[1.0, 0.0]]


def test_unit_vectors(vectors: np.ndarray):
    assert unit(vectors)[0] == pytest.approx(oracle.unit(vectors[0].tolist()), abs=1e-6)
    assert unit(np.zeros((1, 3))).tolist() == [[0.0, 0.0, 0.0]]
