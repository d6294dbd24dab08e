from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.model.decode import TagColumns, best_sequences, candidate_columns, marginals
from oracles import decoding

TAGS = ["B-a", "B-b", "I-a", "I-b", "I-stranded", "O"]
COLUMNS = TagColumns.of(TAGS)
SCORES = st.integers(1, 4).flatmap(
    lambda length: st.lists(
        st.lists(st.floats(-5, 0), min_size=len(TAGS), max_size=len(TAGS)), min_size=length, max_size=length
    )
)
BATCHES = st.lists(SCORES, min_size=1, max_size=3)


def padded(batch: list[list[list[float]]]) -> tuple[np.ndarray, list[int]]:
    """Sentences of several lengths as one array; what is beyond their ends must not matter, so it is odd."""
    lengths = [len(scores) for scores in batch]
    found = np.full((len(batch), max(lengths), len(TAGS)), 7.0)
    for row, scores in enumerate(batch):
        found[row, : len(scores)] = scores
    return found, lengths


@settings(deadline=None)
@given(BATCHES)
def test_viterbi_finds_the_best_legal_sequence(batch: list[list[list[float]]]):
    for scores, found in zip(batch, best_sequences(*padded(batch), COLUMNS), strict=True):
        assert decoding.is_legal([TAGS[number] for number in found])
        assert decoding.score(scores, found) == pytest.approx(decoding.best_score(scores, TAGS))


@settings(deadline=None)
@given(BATCHES)
def test_marginals_are_those_of_all_legal_sequences(batch: list[list[list[float]]]):
    for scores, found in zip(batch, marginals(*padded(batch), COLUMNS), strict=True):
        assert found[: len(scores)] == pytest.approx(np.array(decoding.marginals(scores, TAGS)), abs=1e-9)


def test_certain_scores_give_certain_marginals():
    scores = np.log(np.array([[[1.0, 1e-30, 1e-30, 1e-30, 1e-30, 1e-30]]]))
    assert marginals(scores, [1], COLUMNS)[0, 0, 0] == pytest.approx(1.0)


def test_hopeless_scores_leave_a_legal_sequence():
    """The likeliest tag of the first word is one that cannot stand there, by a margin that no exponential can hold."""
    scores = np.full((1, 2, len(TAGS)), -1000.0)
    scores[:, :, TAGS.index("I-a")] = 0.0
    assert [TAGS[number] for number in best_sequences(scores, [2], COLUMNS)[0]] == ["B-a", "I-a"]
    assert marginals(scores, [2], COLUMNS)[0, 0, TAGS.index("B-a")] == pytest.approx(1.0)


def test_candidates_are_o_and_the_tags_of_the_labels():
    assert candidate_columns(TAGS, frozenset({"a"}), None) == [0, 2, 5]
    assert candidate_columns(TAGS, frozenset({"a", "b"}), frozenset({"B-a", "B-b", "I-b"})) == [0, 1, 3, 5]
    assert candidate_columns(TAGS, frozenset({"a"}), frozenset({"I-a"})) == [5], "I-a cannot stand without B-a"
    assert candidate_columns(TAGS, frozenset(), None) == [5]
