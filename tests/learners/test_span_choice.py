"""How the retriever chooses spans: every set of them, one after the other."""

from __future__ import annotations

import numpy as np
import pytest

from handful.learners.retriever import Spans, allowed_spans, choose_spans, places
from handful.types import Slot, Utterance
from oracles import baselines as oracle


def overlap(spans: list[tuple[int, int]]) -> bool:
    covered = [word for first, last in spans for word in range(first, last + 1)]
    return len(set(covered)) < len(covered)


@pytest.mark.parametrize("words", [1, 2, 4, 6])
@pytest.mark.parametrize("longest", [1, 3, 8])
@pytest.mark.parametrize("kind", ["any", "ties", "mostly bad"])
def test_the_chosen_have_the_highest_sum_of_all_sets_of_spans_apart(words: int, longest: int, kind: str):
    spans = places(words, longest)
    for seed in range(6):
        rng = np.random.default_rng([seed, words, longest])
        scores = {
            "any": rng.normal(size=len(spans)),
            "ties": rng.integers(-1, 3, size=len(spans)).astype(float),
            "mostly bad": rng.normal(size=len(spans)) - 1.0,
        }[kind]
        chosen = choose_spans(spans, scores, words)
        assert not overlap([spans[number] for number in chosen])
        assert all(scores[number] > 0 for number in chosen), "none that adds nothing"
        assert scores[chosen].sum() == pytest.approx(oracle.best_sum(spans, scores.tolist()), abs=1e-9)
        assert chosen == sorted(chosen, key=lambda number: spans[number]), "as they stand in the sentence"


@pytest.mark.parametrize("score", [0.0, -1e-12, -3.0, -1e9])
def test_where_no_span_is_better_than_none_there_is_none(score: float):
    spans = places(4, 3)
    assert choose_spans(spans, np.full(len(spans), score), 4) == []


def test_spans_may_come_in_any_order_and_some_be_left_out():
    spans = [(2, 3), (0, 0), (0, 2), (3, 3)]
    assert choose_spans(spans, np.array([1.0, 1.0, 1.5, 0.2]), 5) == [1, 0]
    assert choose_spans(spans, np.array([1.0, 1.0, 2.5, 0.2]), 5) == [2, 3]
    assert choose_spans([], np.array([]), 3) == []


def test_places_are_all_spans_up_to_the_longest():
    assert places(3, 8) == [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
    assert places(3, 2) == [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2)]
    assert places(2, 1) == [(0, 0), (1, 1)]


def test_spans_of_many_utterances_have_rows_of_their_own():
    utterances = [
        Utterance.from_words(["fly", "to", "rome"], "x", [Slot("city", 1, 3, role="to")]),
        Utterance.from_words(["now"], "x"),
        Utterance.from_words(["a", "b"], "y", [Slot("pair", 0, 1), Slot("time", 1, 2)]),
    ]
    found = Spans.labelled(utterances)
    assert list(zip(found.first.tolist(), found.last.tolist(), found.keys, strict=True)) == [
        (1, 2, "city:to"),
        (4, 4, "pair"),
        (5, 5, "time"),
    ]
    every = Spans.all(utterances, 2)
    assert list(zip(every.first.tolist(), every.last.tolist(), every.keys, strict=True)) == [
        (0, 0, ""),
        (0, 1, ""),
        (1, 1, ""),
        (1, 2, "city:to"),
        (2, 2, ""),
        (3, 3, ""),
        (4, 4, "pair"),
        (4, 5, ""),
        (5, 5, "time"),
    ]
    assert "city:to" not in Spans.all(utterances, 1).keys, "a slot that is too long is not asked for"


@pytest.mark.parametrize(
    ("candidates", "single", "double"),
    [
        ({"O", "B-a", "I-a", "B-b", "I-b"}, [True, True], [True, True]),
        ({"O", "B-a", "B-b", "I-b"}, [True, True], [False, True]),
        ({"O", "I-a", "B-b"}, [False, True], [False, False]),
        ({"O", "B-ab", "I-ab"}, [False, False], [False, False]),
        (set(), [False, False], [False, False]),
    ],
)
def test_a_span_is_allowed_where_the_candidates_can_write_it(
    candidates: set[str], single: list[bool], double: list[bool]
):
    found = allowed_spans([(1, 1), (0, 1), (0, 4)], ["a", "b"], candidates)
    assert found.tolist() == [single, double, double]
