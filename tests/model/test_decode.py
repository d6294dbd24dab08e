from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.model.decode import best_sequence, candidate_columns, legal_starts, legal_steps, marginals
from oracles import decoding

TAGS = ["B-a", "B-b", "I-a", "I-b", "O"]
SCORES = st.integers(1, 4).flatmap(
    lambda length: st.lists(
        st.lists(st.floats(-5, 0), min_size=len(TAGS), max_size=len(TAGS)), min_size=length, max_size=length
    )
)


@settings(deadline=None)
@given(SCORES)
def test_viterbi_finds_the_best_legal_sequence(scores: list[list[float]]):
    found = best_sequence(np.array(scores), legal_starts(TAGS), legal_steps(TAGS))
    assert decoding.is_legal([TAGS[number] for number in found])
    assert decoding.score(scores, found) == pytest.approx(decoding.best_score(scores, TAGS))


@settings(deadline=None)
@given(SCORES)
def test_marginals_are_those_of_all_legal_sequences(scores: list[list[float]]):
    found = marginals(np.array(scores), legal_starts(TAGS), legal_steps(TAGS))
    assert found == pytest.approx(np.array(decoding.marginals(scores, TAGS)), abs=1e-9)


def test_certain_scores_give_certain_marginals():
    scores = np.log(np.array([[1.0, 1e-30, 1e-30, 1e-30, 1e-30]]))
    assert marginals(scores, legal_starts(TAGS), legal_steps(TAGS))[0, 0] == pytest.approx(1.0)


def test_candidates_are_o_and_the_tags_of_the_labels():
    assert candidate_columns(TAGS, frozenset({"a"}), None) == [0, 2, 4]
    assert candidate_columns(TAGS, frozenset({"a", "b"}), frozenset({"B-a", "B-b", "I-b"})) == [0, 1, 3, 4]
    assert candidate_columns(TAGS, frozenset({"a"}), frozenset({"I-a"})) == [4], "I-a cannot stand without B-a"
    assert candidate_columns(TAGS, frozenset(), None) == [4]
