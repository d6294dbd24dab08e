"""What is fitted to a bot: the intents' head against a slow fit, slots' maps by when they are fitted and from where."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from handful.errors import CheckpointError
from handful.learners.bot_heads import BotHeads, EncodedSupport, HeadFitting, fit_heads, fit_intents, fit_maps
from handful.learners.joint_spans import JointSpansLearner
from handful.learners.slot_fitting import SlotFitting
from handful.learners.span_model import Encodings
from handful.learners.span_support import SpanSupport
from handful.model.span_maps import Array, SpanMaps
from handful.types import Slot, Utterance
from learners.made_up import FEW_STEPS, SENTENCES, SUPPORT, WORDS, made_up, utterance
from oracles import softmax_regression as oracle

NO_SLOTS = replace(FEW_STEPS, slots=SlotFitting(steps=0))


def encoded(learner: JointSpansLearner, *support: Utterance) -> EncodedSupport:
    shown = SpanSupport(support, {})
    return EncodedSupport.of(shown, [u.sentence for u in support], learner, Encodings())


def asked_vectors(learner: JointSpansLearner) -> Array:
    """Of sentences that are in no bot."""
    vectors = np.stack([vector for _, vector in learner.see(SENTENCES)]).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


# -- intents -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name_weight", "balance"), [(0.5, 0.0), (3.0, 0.0), (1.0, 0.5), (2.0, 1.0)])
def test_a_name_is_one_more_example_and_those_of_large_intents_weigh_less(name_weight: float, balance: float):
    learner, support = made_up(), (*SUPPORT, utterance("b fly", "Fly"), utterance("fly fly", "Fly"))
    own = encoded(learner, *support)
    head = fit_intents(own, HeadFitting(strength=2.0, name_weight=name_weight, balance=balance))
    intents = own.shown.labels.intents
    sizes = {"Fly": 5, "ask": 3, "other": 2}  # the name among them
    weights = {intent: (size / (10 / 3)) ** -balance for intent, size in sizes.items()}
    rows = [
        *((row.tolist(), i, name_weight * weights[i]) for row, i in zip(own.intent_names, intents, strict=True)),
        *((row.tolist(), u.intent, weights[u.intent]) for row, u in zip(own.sentences, support, strict=True)),
    ]
    slow, vectors = oracle.fitted(rows, intents, 2.0), asked_vectors(learner)
    for vector, found in zip(vectors, np.exp(head.log_probabilities(vectors)), strict=True):
        expected = oracle.probabilities(slow, vector.tolist())
        assert dict(zip(intents, found.tolist(), strict=True)) == pytest.approx(expected, abs=1e-3)


def test_a_name_that_weighs_nothing_says_nothing():
    learner = made_up()
    plain = HeadFitting(name_weight=0.0)
    one, other = (fit_intents(encoded(learner, *SUPPORT[:2], u), plain) for u in (
        utterance("a b now", "other"), utterance("a b now", "quite another"),
    ))  # fmt: skip
    assert one.weights == pytest.approx(other.weights, abs=1e-3)


def test_where_a_fit_ends_does_not_depend_on_a_hundred_edits_before():
    learner, rng = made_up(), np.random.default_rng(0)
    vectors = asked_vectors(learner)
    intents = ["Fly", "ask", "other", "sing", "pay"]
    examples = list(SUPPORT)
    heads = fit_heads(encoded(learner, *examples), learner.maps, NO_SLOTS)
    for _ in range(100):
        if len(examples) > 4 and rng.random() < 0.4:
            examples.pop(int(rng.integers(len(examples))))
        else:
            words = rng.choice(WORDS, size=int(rng.integers(1, 5))).tolist()
            new = utterance(" ".join(words), intents[int(rng.integers(5))])
            examples.insert(int(rng.integers(len(examples) + 1)), new)
        heads = fit_heads(encoded(learner, *examples), learner.maps, NO_SLOTS, start=heads)
    shuffled = [examples[place] for place in rng.permutation(len(examples))]
    fresh = fit_heads(encoded(learner, *shuffled), learner.maps, NO_SLOTS)
    assert heads.intent_names == fresh.intent_names
    found, expected = (np.exp(own.intents.log_probabilities(vectors)) for own in (heads, fresh))
    assert np.abs(found - expected).max() < 1e-3


def test_some_utterances_alone_are_fitted_as_a_bot_of_them():
    learner = made_up()
    whole, rows = encoded(learner, *SUPPORT), np.array([0, 2, 4])
    part = encoded(learner, *(SUPPORT[row] for row in rows))
    found, expected = fit_intents(whole, FEW_STEPS, rows=rows), fit_intents(part, FEW_STEPS)
    assert found.weights == pytest.approx(expected.weights, abs=1e-3)


# -- slots -------------------------------------------------------------------------------------------------------------


def same(one: SpanMaps, other: SpanMaps) -> bool:
    return all(np.array_equal(array, other.arrays()[name]) for name, array in one.arrays().items())


@pytest.mark.parametrize(
    ("support", "fitted"),
    [
        (SUPPORT[:1], False),  # one example
        ((utterance("fly", "A"), utterance("to rome", "B")), False),  # no slots
        ((SUPPORT[0], SUPPORT[2]), False),  # a slot has one example each
        ((SUPPORT[0], SUPPORT[3]), True),  # one slot, two examples
        (SUPPORT, True),
        ((utterance("rome now boston", "A", Slot("c", 0, 1), Slot("c", 2, 3)),), False),  # nothing beside it
    ],
)
def test_with_too_few_examples_of_slots_the_shipped_maps_stay(support: tuple[Utterance, ...], fitted: bool):
    learner = made_up()
    assert (fit_maps(encoded(learner, *support), learner.maps, FEW_STEPS) is not learner.maps) == fitted


def test_what_is_enough_is_a_setting():
    learner = made_up()
    support = encoded(learner, *SUPPORT)  # five slots filled, of three kinds
    assert fit_maps(support, learner.maps, replace(FEW_STEPS, fewest_slot_examples=1.7)) is learner.maps
    assert fit_maps(support, learner.maps, NO_SLOTS) is learner.maps


def test_the_same_seed_gives_the_same_maps_and_another_gives_others():
    """Chance has a say where examples are more than a step looks at."""
    learner = made_up()
    support = encoded(learner, *SUPPORT, *SUPPORT)
    maps = [
        fit_maps(support, learner.maps, replace(FEW_STEPS, slots=replace(FEW_STEPS.slots, batch=6, seed=seed)))
        for seed in (1, 1, 2)
    ]
    assert same(maps[0], maps[1])
    assert not same(maps[0], maps[2])


def test_slots_are_fitted_from_the_shipped_maps_whatever_the_start():
    learner = made_up()
    support = encoded(learner, *SUPPORT)
    before = fit_heads(encoded(learner, *SUPPORT, *SUPPORT[:2]), learner.maps, FEW_STEPS)
    after = fit_heads(support, learner.maps, FEW_STEPS, start=before)
    assert same(after.maps, fit_heads(support, learner.maps, FEW_STEPS).maps)
    assert not same(after.maps, before.maps)


# -- files -------------------------------------------------------------------------------------------------------------


def test_heads_come_back_from_half_precision_as_they_were():
    learner = made_up()
    heads = fit_heads(encoded(learner, *SUPPORT), learner.maps, FEW_STEPS)
    arrays = heads.arrays()
    assert {array.dtype for array in arrays.values()} == {np.dtype(np.float16)}
    again = BotHeads.from_arrays(arrays, heads.intent_names)
    assert same(again.maps, heads.maps)
    assert np.array_equal(again.intents.weights, heads.intents.weights)
    assert np.array_equal(again.intents.bias, heads.intents.bias)
    assert again.intents.weights.dtype == np.float32


def test_a_head_of_other_intents_is_refused():
    learner = made_up()
    arrays = fit_heads(encoded(learner, *SUPPORT), learner.maps, FEW_STEPS).arrays()
    with pytest.raises(CheckpointError, match="found a head of 3 intents, expected 2"):
        BotHeads.from_arrays(arrays, ["Fly", "ask"])


@pytest.mark.parametrize("name", ["strength", "name_weight", "balance", "fewest_slot_examples"])
def test_impossible_settings_are_refused(name: str):
    impossible: Any = {name: -0.1}
    with pytest.raises(ValueError, match="strength must be above 0, and the other numbers not below 0"):
        HeadFitting(**impossible)


# -- odd bots ----------------------------------------------------------------------------------------------------------

ODD = {
    "one example": (SUPPORT[0],),
    "one intent": SUPPORT[:2],
    "no slots": (utterance("fly", "A"), utterance("to rome", "B"), utterance("now", "B")),
    "other scripts": (
        utterance("京 都 へ", "航班", Slot("都市", 0, 2)),
        utterance("大 阪 へ", "航班", Slot("都市", 0, 2)),
        utterance("שלום", "ברכה"),
        utterance("привет 👍", "👍"),
    ),
    "one text, two intents": (
        utterance("fly to rome", "A", Slot("city", 2, 3)),
        utterance("fly to rome", "B", Slot("place", 2, 3)),
        utterance("to boston", "A", Slot("city", 1, 2)),
    ),
    "one word": tuple(utterance("rome", intent, Slot("city", 0, 1)) for intent in ("A", "A", "B", "C")),
    "an intent without slots": (*SUPPORT[:2], utterance("a b", "other"), utterance("b a", "other")),
}


@pytest.mark.parametrize("support", ODD.values(), ids=ODD)
def test_odd_bots_are_adapted_to(support: tuple[Utterance, ...]):
    adapted = made_up().adapt(support)
    predictions = adapted.predict([*SENTENCES, *(u.sentence for u in support)])
    intents = {u.intent for u in support}
    for prediction in predictions:
        assert set(prediction.ranking.names) == intents
        assert sum(prediction.ranking.confidences) == pytest.approx(1, abs=1e-5)
    own = {key for u in support for key in (slot.key for slot in u.slots)}
    assert {slot.key for prediction in predictions for slot in prediction.slots} <= own


def test_one_text_of_two_intents_is_as_likely_to_be_either():
    adapted = made_up(evidence=0.0, fitting=HeadFitting(name_weight=0.0)).adapt(ODD["one text, two intents"][:2])
    (found,) = adapted.predict([("fly", "to", "rome")])
    assert found.ranking.confidences == pytest.approx((0.5, 0.5), abs=1e-3)
