"""What an exported model computes, against torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.learners.joint_spans import JointSpansLearner
from handful.learners.span_model import Seen
from handful.runtime.folder import load_exported
from handful.runtime.spans import ExportedSpans
from handful.types import Slot, Utterance, Words

Export = Callable[[str], Path]

SENTENCES: tuple[Words, ...] = (
    ("fly",),
    ("fly", "to", "boston", "now", "!"),
    ("rome",) * 12,
    ("a", "b") * 20,  # 40 pieces: windows of 14
    ("fly", "to", *["boston"] * 60, "now"),
    ("😀", "to", "京", "都"),
    ("é", "e\u0301", "שלום", "\u200d", "zzzz"),
    ("\u0301",),
)
SUPPORT = (
    Utterance.from_words(["fly", "to", "boston"], "fly", [Slot("city", 2, 3)]),
    Utterance.from_words(["fly", "to", "rome", "now"], "fly", [Slot("city", 2, 3), Slot("time", 3, 4)]),
    Utterance.from_words(["a", "b", "!"], "wait"),
    Utterance.from_words(["now", "a"], "wait", [Slot("time", 0, 1)]),
)


@pytest.fixture(scope="module")
def float32(tiny_export: Export) -> ExportedSpans:
    return load_exported(tiny_export("float32"))[0]


@pytest.fixture(scope="module")
def int8(tiny_export: Export) -> ExportedSpans:
    return load_exported(tiny_export("int8"))[0]


def assert_same(found: Sequence[Seen], expected: Sequence[Seen], within: float) -> None:
    for (rows, mean), (other_rows, other_mean) in zip(found, expected, strict=True):
        assert rows.shape == other_rows.shape
        assert np.abs(rows - other_rows).max() < within
        assert np.abs(mean - other_mean).max() < within


def test_a_float32_export_sees_what_torch_sees_alone_and_among_others(
    tiny_learner: JointSpansLearner, float32: ExportedSpans
):
    expected = tiny_learner.see(SENTENCES)
    assert_same(float32.see(SENTENCES), expected, 1e-4)
    assert_same([float32.see([words])[0] for words in SENTENCES], expected, 1e-4)
    assert max(np.abs(rows).max() for rows, _ in expected) > 0.5, "there is something to compare"


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.lists(st.sampled_from(["fly", "to", "boston", "ab", "!", "😀", "\u200d"]), min_size=1, max_size=40).map(
            tuple
        ),
        max_size=5,
    )
)
def test_any_sentences_in_any_order(tiny_learner: JointSpansLearner, float32: ExportedSpans, sentences: list[Words]):
    expected = tiny_learner.see(sentences) if sentences else []
    assert_same(float32.see(sentences), expected, 1e-4)


def test_more_sentences_than_are_encoded_together_come_back_in_order(float32: ExportedSpans):
    """Of mixed lengths, which batches sort."""
    sentences = [(word,) * (1 + number % 7) for number in range(150) for word in ("fly", "rome")]
    alone = {words: float32.see([words])[0] for words in set(sentences)}
    assert_same(float32.see(sentences), [alone[words] for words in sentences], 1e-4)


@pytest.mark.parametrize("slots", [[("to",)], [("rome", "now", "!"), ("b",), ("boston",) * 20], []])
def test_names_of_slots_are_read_from_the_frozen_layers(
    tiny_learner: JointSpansLearner, float32: ExportedSpans, slots: list[Words]
):
    mine, its = (model.slot_name_means(slots) for model in (float32, tiny_learner))
    assert mine.shape == its.shape == (len(slots), 16)
    assert mine == pytest.approx(its, abs=1e-4)


def test_settings_and_maps_are_those_that_were_trained(tiny_learner: JointSpansLearner, float32: ExportedSpans):
    mine, its = float32.maps.arrays(), tiny_learner.maps.arrays()
    assert mine.keys() == its.keys()
    for name, array in mine.items():
        assert np.array_equal(array, its[name])
    assert (float32.config.evidence, float32.config.slot_repeats, float32.maps.width) == (0.2, "free", 8)


def test_predictions_are_those_of_torch(tiny_learner: JointSpansLearner, float32: ExportedSpans):
    found, expected = (model.adapt(SUPPORT).predict(SENTENCES) for model in (float32, tiny_learner))
    for mine, its in zip(found, expected, strict=True):
        assert (mine.ranking.names, mine.slots) == (its.ranking.names, its.slots)
        assert mine.ranking.confidences == pytest.approx(its.ranking.confidences, abs=1e-3)
        assert mine.slot_confidences == pytest.approx(its.slot_confidences, abs=1e-3)
    assert any(prediction.slots for prediction in expected)


def test_in_int8_the_numbers_are_near_and_do_not_depend_on_the_batch(
    tiny_learner: JointSpansLearner, int8: ExportedSpans
):
    alone = [int8.see([words])[0] for words in SENTENCES]
    assert_same(int8.see(SENTENCES), alone, 1e-4)
    expected = tiny_learner.see(SENTENCES)
    assert_same(alone, expected, 0.1)
    exact = max(np.abs(mine[0] - its[0]).max() for mine, its in zip(alone, expected, strict=True))
    assert exact > 1e-5, "eight bits cannot be this exact: the graph is not quantised"


def test_a_sentence_without_words_is_refused(float32: ExportedSpans):
    with pytest.raises(ValueError, match="without words"):
        float32.see([("fly",), ()])
