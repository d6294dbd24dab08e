"""Leave-one-out against its definition: a bot without the example, made anew for each."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.learners import span_decoding
from handful.types import Slot, Utterance
from learners.made_up import SUPPORT, WORDS, made_up, utterance

MORE = (
    *SUPPORT,
    utterance("b now rome", "other", Slot("time", 1, 2)),
    utterance("rome rome a", "ask", Slot("city", 0, 1), Slot("city", 1, 2)),
    utterance("boston a boston", "ask", Slot("city", 0, 1), Slot("city", 2, 3)),
    utterance("fly rome to boston", "Fly", Slot("city", 1, 2), Slot("city", 3, 4)),
)


def by_definition(learner, support):
    counts = Counter(u.intent for u in support)
    found = {}
    for number, left_out in enumerate(support):
        if counts[left_out.intent] > 1:
            others = [u for place, u in enumerate(support) if place != number]
            found[number] = learner.adapt(others).predict([left_out.sentence])[0]
    return found


@pytest.mark.parametrize("at_once", [512, 0], ids=["all at once", "one by one"])
@pytest.mark.parametrize("seed", range(4))
def test_each_example_is_told_as_by_a_bot_without_it(seed: int, at_once: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(span_decoding, "_COMPARED_AT_ONCE", at_once)
    learner = made_up(seed, evidence=0.5)
    expected = by_definition(learner, MORE)
    held = learner.adapt(MORE).held_out()
    assert list(held.numbers) == sorted(expected)
    for number, found in zip(held.numbers, held.predictions, strict=True):
        same = expected[number]
        assert found.slots == same.slots
        assert found.ranking.names == same.ranking.names
        assert found.ranking.confidences == pytest.approx(same.ranking.confidences, abs=1e-9)
        assert found.slot_confidences == pytest.approx(same.slot_confidences, abs=1e-9)
        assert found.likeness == pytest.approx(same.likeness)
    assert sum(len(prediction.slots) for prediction in held.predictions) >= 3


@settings(deadline=None, max_examples=60)
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
def test_any_support_is_held_out_as_by_adapting_anew(examples: list[tuple[list[str], str, str | None]], seed: int):
    support = [
        Utterance.from_words(words, intent, [Slot(label, 0, max(1, len(words) - 1))] if label else [])
        for words, intent, label in examples
    ]
    learner = made_up(seed, evidence=0.5)
    held, expected = learner.adapt(support).held_out(), by_definition(learner, support)
    assert list(held.numbers) == sorted(expected)
    for number, found in zip(held.numbers, held.predictions, strict=True):
        assert (found.intent, found.slots) == (expected[number].intent, expected[number].slots)


def test_scores_are_those_behind_the_ranking():
    held = made_up(evidence=0.5).adapt(MORE).held_out()
    intents = sorted({u.intent for u in MORE})
    for scores, cosines, prediction in zip(held.intents, held.cosines, held.predictions, strict=True):
        assert intents[int(scores.argmax())] == prediction.intent
        assert cosines[scores.argmax()] == prediction.likeness


def test_a_hint_makes_a_span_win_and_no_more():
    learner = made_up(3, evidence=0.0)
    adapted = learner.adapt(MORE)
    asked = ("fly", "to", "a", "b")
    (plain,) = adapted.predict([asked])
    hinted = {}
    for place in range(4):
        hint = Slot("city", place, place + 1)
        (hinted[place],) = adapted.predict([asked], hints=[[hint]])
        assert hinted[place].intent == plain.intent
    taken = [place for place, found in hinted.items() if Slot("city", place, place + 1) in found.slots]
    assert len(taken) > sum(slot.label == "city" for slot in plain.slots)


def test_a_hint_of_a_slot_that_no_example_has_is_nothing():
    adapted = made_up(3).adapt(MORE)
    asked = ("fly", "to", "a", "b")
    odd = [Slot("nowhere", 0, 1), Slot("city", 0, 4)]
    assert adapted.predict([asked], hints=[odd[:1]]) == adapted.predict([asked])


def test_of_many_examples_some_are_asked_for_evenly_and_told_by_all_others():
    adapted = made_up(evidence=0.5).adapt(MORE)
    whole, some = adapted.held_out(), adapted.held_out(4)
    assert len(some.numbers) == 4
    assert (some.numbers[0], some.numbers[-1]) == (whole.numbers[0], whole.numbers[-1])
    told = dict(zip(whole.numbers, whole.predictions, strict=True))
    assert [told[number] for number in some.numbers] == list(some.predictions)
    assert adapted.held_out(100).numbers == whole.numbers
