from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics import f1_score
from seqeval.metrics.sequence_labeling import get_entities

from handful.data.bio import slots_of
from handful.training.scoring import (
    SpanCounts,
    interval,
    released_span_f1,
    score_episode,
    span_counts,
    span_f1,
)
from handful.types import Episode, Prediction, Ranking, Slot, Utterance

TAG = st.sampled_from(["O", "B-a", "I-a", "B-b", "I-b"])
PAIRS = st.lists(st.lists(st.tuples(TAG, TAG), min_size=1, max_size=8), min_size=1, max_size=5)


def sides(pairs: list[list[tuple[str, str]]]) -> tuple[list[list[str]], list[list[str]]]:
    return [[g for g, _ in row] for row in pairs], [[p for _, p in row] for row in pairs]


@given(st.lists(TAG, min_size=1, max_size=10))
def test_spans_are_seqevals(tags: list[str]):
    ours = {(slot.label, slot.start, slot.end - 1) for slot in slots_of(tags)}
    assert ours == set(get_entities(tags))


@pytest.mark.filterwarnings("ignore::UserWarning")  # seqeval's, wherever it divides by zero
@given(PAIRS)
def test_f1_is_seqevals_wherever_there_is_something_to_find(pairs: list[list[tuple[str, str]]]):
    gold, predicted = sides(pairs)
    ours = span_f1(gold, predicted)
    if any(slots_of(tags) for tags in gold):
        assert ours == pytest.approx(f1_score(gold, predicted))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_where_we_differ_from_seqeval_on_purpose():
    """With no gold span seqeval says 0 whatever was predicted; finding nothing where nothing is, is right."""
    assert span_f1([["O", "O"]], [["O", "O"]]) == 1.0
    assert f1_score([["O", "O"]], [["O", "O"]]) == 0.0
    assert span_f1([["O", "O"]], [["B-a", "O"]]) == 0.0
    # seqeval reads many tagging schemes and guesses at the rest; we refuse what is no BIO tag.
    assert get_entities(["X-a"])
    with pytest.raises(ValueError, match="expected O, B-label"):
        slots_of(["X-a"])


def test_borders_and_labels_must_both_be_right():
    gold = ["B-a", "I-a", "O", "B-b"]
    assert span_counts(gold, ["B-a", "O", "O", "B-b"]) == SpanCounts(right=1, predicted=2, gold=2)
    assert span_counts(gold, ["B-b", "I-b", "O", "B-b"]) == SpanCounts(right=1, predicted=2, gold=2)
    assert span_f1([gold], [gold]) == 1.0
    with pytest.raises(ValueError, match="4 gold tags and 1 predicted"):
        span_counts(gold, ["O"])


def test_f1_is_micro_over_an_episode():
    assert span_f1([["B-a"], ["B-a", "B-a", "B-a"]], [["O"], ["B-a", "B-a", "O"]]) == pytest.approx(2 * 2 / (2 + 4))


def test_the_released_scorer_deletes_words_whose_tag_the_support_lacks():
    gold, predicted = [["B-a", "I-a", "O"]], [["B-a", "O", "O"]]
    assert span_f1(gold, predicted) == 0.0
    assert released_span_f1(gold, predicted, {"O", "B-a"}) == 1.0


def test_in_the_released_scorer_two_spans_can_fuse():
    """Legal gold and legal predictions; once the word between them is gone, the second span continues the first."""
    gold, predicted = [["B-a", "I-a", "B-b", "O"]], [["B-a", "I-a", "B-a", "I-a"]]
    assert span_counts(gold[0], predicted[0]) == SpanCounts(right=1, predicted=2, gold=2)
    assert released_span_f1(gold, predicted, {"B-a", "I-a", "O"}) == 0.0, "B-a I-a I-a is one span, and wrong"


def test_a_gold_span_whose_label_the_support_lacks_is_a_miss_for_strict_alone():
    gold, predicted = [["B-new", "B-a"]], [["O", "B-a"]]
    assert span_f1(gold, predicted) == pytest.approx(2 / 3)
    assert released_span_f1(gold, predicted, {"O", "B-a"}) == 1.0


def prediction(intent: str, *tags: str) -> Prediction:
    slots = slots_of(tags)
    return Prediction(Ranking((intent,), (1.0,)), tags, slots, (1.0,) * len(slots))


def test_an_episodes_four_scores():
    right = Utterance.from_words(["fly", "rome"], "travel", [Slot("city", 1, 2)])
    other = Utterance.from_words(["play", "jazz"], "music", [Slot("genre", 1, 2)])
    support = Utterance.from_words(["hear", "soul"], "music")
    episode = Episode((right, support), (right, right, other, other), 0, 0)
    strict = [
        prediction("travel", "O", "B-city"),
        prediction("music", "O", "B-city"),
        prediction("music", "O", "O"),
        prediction("travel", "O", "O"),
    ]
    # Other intents and other tags, so that a mix-up of the two passes shows in every figure.
    released = [
        prediction("music", "O", "B-city"),
        prediction("music", "O", "O"),
        prediction("music", "B-city", "O"),
        prediction("music", "O", "O"),
    ]
    found = score_episode(episode, strict, released)
    assert found.intent_accuracy == 0.5
    assert found.slot_f1_strict == pytest.approx(2 * 2 / (2 + 4))
    # B-genre is not in the support, so its two words vanish: two gold spans are left, one found, one made up.
    assert found.slot_f1_released == pytest.approx(2 * 1 / (2 + 2))
    assert found.joint_accuracy == 0.25


def test_intervals():
    found = interval([0.0, 1.0, 1.0, 0.0])
    assert found.mean == 0.5
    assert found.ci95 == pytest.approx(1.96 * math.sqrt((4 * 0.25 / 3) / 4))
    assert interval([0.3]).ci95 is None
    with pytest.raises(ValueError, match="nothing to average"):
        interval([])
