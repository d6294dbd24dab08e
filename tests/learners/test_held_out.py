"""Leave-one-out against its definition: a bot without the example, made anew for each."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.learners import held_out as held_out_module
from handful.learners import span_decoding
from handful.learners.bot_heads import BotHeads, fit_intents
from handful.learners.held_out import HeldOut, held_out
from handful.learners.joint_spans import JointSpansLearner
from handful.learners.slot_fitting import fit_slot_maps
from handful.learners.span_decoding import AdaptedSpans
from handful.types import Prediction, Slot, Utterance
from learners.made_up import FEW_STEPS, SENTENCES, SUPPORT, WORDS, made_up, utterance

# Whatever three others are left out, each slot is still shown.
MORE = (
    *SUPPORT,
    utterance("b now rome", "other", Slot("time", 1, 2)),
    utterance("rome rome a", "ask", Slot("city", 0, 1), Slot("city", 1, 2)),
    utterance("boston a boston", "ask", Slot("city", 0, 1), Slot("city", 2, 3)),
    utterance("fly rome to boston", "Fly", Slot("city", 1, 2), Slot("city", 3, 4)),
    utterance("now boston b", "ask", Slot("time", 0, 1), Slot("pair", 1, 3)),
)


def by_definition(learner: JointSpansLearner, support: tuple[Utterance, ...]) -> dict[int, Prediction]:
    """Of each example what a bot without it says: its intents' head is fitted to all others, its slots' maps without
    the example's fold."""
    order = sorted(range(len(support)), key=lambda number: (support[number].intent, number))
    fold = {number: place % 4 for place, number in enumerate(order)}
    found = {}
    for number, left_out in enumerate(support):
        others = AdaptedSpans(learner, [u for place, u in enumerate(support) if place != number])
        rest = AdaptedSpans(learner, [u for place, u in enumerate(support) if fold[place] != fold[number]]).encoded
        fitting = learner.config.fitting
        states = [states for states, _ in rest.seen]
        maps = fit_slot_maps(learner.maps, rest.shown, states, rest.slot_names, settings=fitting.slots)
        heads = BotHeads(fit_intents(others.encoded, fitting), others.heads.intent_names, maps)
        (found[number],) = AdaptedSpans.with_heads(learner, others.encoded, heads).predict([left_out.sentence])
    return found


def asked(learner: JointSpansLearner, support: tuple[Utterance, ...], most: int | None = None) -> HeldOut:
    return held_out(learner, learner.adapt(support), most)


@pytest.mark.parametrize("at_once", [512, 0], ids=["all at once", "one by one"])
@pytest.mark.parametrize("seed", range(4))
def test_each_example_is_predicted_as_by_a_bot_without_it(seed: int, at_once: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(span_decoding, "_COMPARED_AT_ONCE", at_once)
    learner = made_up(seed, evidence=0.05)
    expected = by_definition(learner, MORE)
    held = asked(learner, MORE)
    assert list(held.numbers) == list(range(len(MORE)))
    for number, found in zip(held.numbers, held.predictions, strict=True):
        same = expected[number]
        assert found.slots == same.slots
        assert found.ranking.names == same.ranking.names
        assert found.ranking.confidences == pytest.approx(same.ranking.confidences, abs=2e-2)
        assert found.slot_confidences == pytest.approx(same.slot_confidences, abs=2e-2)
        assert found.likeness == pytest.approx(same.likeness, abs=1e-5)
    assert sum(len(prediction.slots) for prediction in held.predictions) >= 3


def test_heads_that_have_seen_an_example_would_say_something_else():
    """What the test above is about: those of the whole bot are far surer."""
    learner = made_up(evidence=0.0)
    adapted = learner.adapt(MORE)
    held = held_out(learner, adapted)
    own = adapted.heads.intents.log_probabilities(adapted.encoded.sentences)
    right = np.arange(len(MORE)), np.asarray(adapted.encoded.shown.labels.intent_numbers)
    assert np.exp(own[right]).mean() > np.exp(held.intents[right]).mean() + 0.2


@pytest.mark.parametrize("at_most", [300, 5], ids=["each alone", "ten folds"])
def test_what_is_said_of_an_example_does_not_depend_on_its_own_intent(at_most: int, monkeypatch: pytest.MonkeyPatch):
    """Heads that were fitted to it, or weights that count it, would follow."""
    monkeypatch.setattr(held_out_module, "_EACH_ALONE", at_most)
    monkeypatch.setattr(held_out_module, "_TOLERANCE", 0.003)  # as loose as it is for hundreds of examples only
    monkeypatch.setattr(held_out_module, "_folds", lambda intents, count: iter(np.arange(len(intents))[:, None]))
    learner = made_up(evidence=0.0)
    for number, example in enumerate(MORE):
        found = []
        for intent in ("Fly", "ask", "other"):
            changed = replace(example, intent=intent, slots=())
            support = tuple(changed if place == number else u for place, u in enumerate(MORE))
            found.append(np.exp(asked(learner, support).intents[number]))
        assert found[0] == pytest.approx(found[1], abs=2e-2)
        assert found[0] == pytest.approx(found[2], abs=2e-2)


def test_what_is_found_in_an_example_does_not_depend_on_its_own_slots():
    learner, whole = made_up(evidence=0.0), asked(made_up(evidence=0.0), MORE)
    shown = Counter((u.intent, key) for u in MORE for key in {slot.key for slot in u.slots})
    compared = 0
    for number, example in enumerate(MORE):
        if example.slots and all(shown[example.intent, slot.key] > 1 for slot in example.slots):
            support = tuple(replace(u, slots=()) if place == number else u for place, u in enumerate(MORE))
            found, same = asked(learner, support).predictions[number], whole.predictions[number]
            assert found.slots == same.slots
            assert found.slot_confidences == pytest.approx(same.slot_confidences, abs=1e-4)
            compared += len(same.slots)
    assert compared >= 3


def test_an_intent_with_one_example_takes_part_through_its_name():
    learner = made_up(evidence=0.0, fitting=replace(FEW_STEPS, name_weight=3.0))
    adapted = learner.adapt(SUPPORT)
    held = held_out(learner, adapted)
    place = [u.intent for u in SUPPORT].index("other")
    assert held.numbers[place] == place
    rows = [number for number in range(len(SUPPORT)) if number != place]
    head = fit_intents(adapted.encoded, learner.config.fitting, rows=np.array(rows))
    assert np.exp(held.intents[place]) == pytest.approx(
        np.exp(head.log_probabilities(adapted.encoded.sentences[[place]])[0]), abs=1e-3
    )


@settings(deadline=None, max_examples=30)
@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from(WORDS), min_size=1, max_size=4),
            st.sampled_from(["A", "B"]),
            st.sampled_from([None, "city", "time"]),
        ),
        min_size=1,
        max_size=7,
    ),
    st.integers(0, 1000),
)
def test_any_support_is_held_out(examples: list[tuple[list[str], str, str | None]], seed: int):
    """Intents as by adapting anew, wherever another example of the intent is left."""
    support = tuple(
        Utterance.from_words(words, intent, [Slot(label, 0, max(1, len(words) - 1))] if label else [])
        for words, intent, label in examples
    )
    learner = made_up(seed, evidence=0.0)
    held, counts = asked(learner, support), Counter(u.intent for u in support)
    assert list(held.numbers) == list(range(len(support)))
    for number, found in enumerate(held.predictions):
        if counts[support[number].intent] > 1:
            others = AdaptedSpans(learner, [u for place, u in enumerate(support) if place != number]).encoded
            vector = AdaptedSpans(learner, [support[number]]).encoded.sentences
            expected = np.exp(fit_intents(others, learner.config.fitting).log_probabilities(vector)[0])
            confidences = dict(zip(found.ranking.names, found.ranking.confidences, strict=True))
            assert [confidences[name] for name in others.shown.labels.intents] == pytest.approx(expected, abs=2e-2)


def test_a_large_bots_intents_are_refitted_without_each_of_ten_folds(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(held_out_module, "_EACH_ALONE", 5)
    monkeypatch.setattr(held_out_module, "_TOLERANCE", 0.03)
    learner, support = made_up(evidence=0.0), MORE * 3
    adapted = learner.adapt(support)
    held = held_out(learner, adapted)
    order = sorted(range(len(support)), key=lambda number: (support[number].intent, number))
    for fold in range(10):
        left_out = order[fold::10]
        rows = np.array([number for number in range(len(support)) if number not in left_out])
        head = fit_intents(adapted.encoded, learner.config.fitting, rows=rows)
        expected = np.exp(head.log_probabilities(adapted.encoded.sentences[left_out]))
        assert np.exp(held.intents[left_out]) == pytest.approx(expected, abs=2e-2)


def test_scores_are_those_behind_the_ranking():
    held = asked(made_up(evidence=0.5), MORE)
    intents = sorted({u.intent for u in MORE})
    for scores, cosines, prediction in zip(held.intents, held.cosines, held.predictions, strict=True):
        assert intents[int(scores.argmax())] == prediction.intent
        assert cosines[scores.argmax()] == prediction.likeness


def test_a_hint_makes_a_span_win_and_no_more():
    learner = made_up(3, evidence=0.0)
    adapted = learner.adapt(MORE)
    won = 0
    for said in SENTENCES[-16:]:
        (plain,) = adapted.predict([said])
        for place in range(len(said)):
            hint = Slot("city", place, place + 1)
            (hinted,) = adapted.predict([said], hints=[[hint]])
            assert hinted.intent == plain.intent
            assert hint in hinted.slots or hint not in plain.slots, "no hint makes a slot lose"
            won += hint in hinted.slots and hint not in plain.slots
    assert won >= 5


def test_a_hint_of_a_slot_that_no_example_has_is_nothing():
    adapted = made_up(3).adapt(MORE)
    said = ("fly", "to", "a", "b")
    odd = [Slot("nowhere", 0, 1), Slot("city", 0, 4)]
    assert adapted.predict([said], hints=[odd[:1]]) == adapted.predict([said])


def test_of_many_examples_some_are_asked_for_evenly_and_predicted_by_all_others():
    learner = made_up(evidence=0.0)
    whole, some = asked(learner, MORE), asked(learner, MORE, 4)
    assert some.numbers == (0, 3, 6, 9)
    assert np.exp(some.intents) == pytest.approx(np.exp(whole.intents[[0, 3, 6, 9]]), abs=2e-2)
    assert asked(learner, MORE, 100).numbers == whole.numbers
