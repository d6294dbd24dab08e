from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.learners import span_decoding
from handful.types import Prediction, Slot, Utterance, Words
from learners.made_up import SENTENCES, SUPPORT, WORDS, Case, made_up, predicted, spans_of, utterance
from oracles import joint_spans as oracle

# -- against all intents and all segmentations -------------------------------------------------------------------------


@pytest.mark.parametrize("evidence", [0.0, 0.05, 1.5])
@pytest.mark.parametrize("seed", range(4))
def test_intent_and_slots_are_the_best_of_all(seed: int, evidence: float):
    learner = made_up(seed, evidence=evidence)
    case = Case(learner, SUPPORT)
    found = learner.adapt(SUPPORT).predict(SENTENCES)
    decided = [case.decide(words, evidence) for words in SENTENCES]
    assert [prediction.intent for prediction in found] == [decision.intent for decision in decided]
    assert [predicted(prediction) for prediction in found] == [spans_of(decision.segments) for decision in decided]
    for prediction, decision in zip(found, decided, strict=True):
        assert prediction.slot_confidences == pytest.approx(decision.shares, abs=1e-4)
    assert len({decision.intent for decision in decided}) >= 2
    assert sum(len(prediction.slots) for prediction in found) > len(SENTENCES) / 2


def test_evidence_of_slots_changes_some_intents():
    """What the test above is about: with it other intents win, without it the sentence alone decides."""
    alone, both = (made_up(evidence=evidence).adapt(SUPPORT).predict(SENTENCES) for evidence in (0.0, 1.5))
    changed = sum(one.intent != other.intent for one, other in zip(alone, both, strict=True))
    assert 0 < changed < len(SENTENCES)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from(WORDS), min_size=1, max_size=3),
            st.sampled_from(["A", "B", "C"]),
            st.sampled_from([None, "city", "time"]),
        ),
        min_size=1,
        max_size=4,
    ),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(tuple),
    st.sampled_from([0.0, 0.05, 1.0]),
    st.integers(0, 1000),
)
def test_any_support_is_decoded_as_by_looking_at_everything(
    examples: list[tuple[list[str], str, str | None]], asked: Words, evidence: float, seed: int
):
    """Of one utterance, of one intent, without slots, with words that are all in slots, with slots that are shared."""
    support = [
        Utterance.from_words(words, intent, [Slot(label, 0, max(1, len(words) - 1))] if label else [])
        for words, intent, label in examples
    ]
    learner = made_up(seed, evidence=evidence)
    (found,) = learner.adapt(support).predict([asked])
    expected = Case(learner, support).decide(asked, evidence)
    assert (found.intent, predicted(found)) == (expected.intent, spans_of(expected.segments))
    assert found.slot_confidences == pytest.approx(expected.shares, abs=1e-4)


def test_confidences_are_the_heads_probabilities():
    learner = made_up(evidence=0.0)
    case = Case(learner, SUPPORT)
    for words, prediction in zip(SENTENCES, learner.adapt(SUPPORT).predict(SENTENCES), strict=True):
        worth = case.decide(words, 0.0).scores
        total = sum(np.exp(score) for score in worth.values())
        expected = sorted(((name, np.exp(score) / total) for name, score in worth.items()), key=lambda pair: -pair[1])
        assert [ranked.name for ranked in prediction.ranking] == [name for name, _ in expected]
        assert [ranked.confidence for ranked in prediction.ranking] == pytest.approx(
            [share for _, share in expected], abs=1e-5
        )


# -- slots that are filled once ----------------------------------------------------------------------------------------


def repeats(prediction: Prediction) -> set[str]:
    keys = [slot.key for slot in prediction.slots]
    return {key for key in keys if keys.count(key) > 1}


def test_a_slot_is_filled_once_unless_an_example_shows_it_twice():
    twice = (*SUPPORT, utterance("rome boston", "ask", Slot("city", 0, 1), Slot("city", 1, 2)))
    filled_twice = {"once": set(), "twice": set(), "free": set()}
    for seed in range(4):
        adapted = {
            "once": made_up(seed).adapt(SUPPORT),
            "twice": made_up(seed).adapt(twice),
            "free": made_up(seed, slot_repeats="free").adapt(SUPPORT),
        }
        for name, bot in adapted.items():
            filled_twice[name] |= {key for prediction in bot.predict(SENTENCES) for key in repeats(prediction)}
    assert filled_twice["once"] == set()
    assert filled_twice["twice"] == {"city"}
    assert filled_twice["free"] >= {"city", "time"}


@pytest.mark.parametrize("seed", range(3))
def test_a_slot_that_an_example_has_twice_is_filled_as_by_looking_at_everything(seed: int):
    support = (*SUPPORT, utterance("rome boston", "ask", Slot("city", 0, 1), Slot("city", 1, 2)))
    learner = made_up(seed, evidence=0.5)
    case = Case(learner, support)
    decided = [case.decide(words, 0.5) for words in SENTENCES]
    found = learner.adapt(support).predict(SENTENCES)
    assert [predicted(prediction) for prediction in found] == [spans_of(decision.segments) for decision in decided]


def test_where_outside_costs_more_than_the_impossible_nothing_hangs():
    """Weights that went far astray: spans that cannot be are not filled."""
    for support in (SUPPORT, (utterance("fly to rome", "Fly"), utterance("a b", "ask"))):
        learner = made_up()
        with torch.no_grad():
            learner.network.views.bias[-4] = -11_000.0
        for prediction in learner.adapt(support).predict(SENTENCES):
            assert not repeats(prediction)


@pytest.mark.parametrize("seed", range(4))
def test_slots_as_often_as_they_like_are_those_of_the_best_segmentation(seed: int):
    learner = made_up(seed, slot_repeats="free")
    case = Case(learner, SUPPORT)
    found = learner.adapt(SUPPORT).predict(SENTENCES)
    decided = [case.decide(words, learner.config.evidence, once=False) for words in SENTENCES]
    assert [predicted(prediction) for prediction in found] == [spans_of(decision.segments) for decision in decided]
    for prediction, decision in zip(found, decided, strict=True):
        assert prediction.slot_confidences == pytest.approx(decision.shares, abs=1e-4)


# -- what is not looked at ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("allowed", [None, {"B-city", "O", "B-pair", "I-pair"}])
@pytest.mark.parametrize("evidence", [0.0, 0.05, 2.0])
def test_a_large_bot_is_compared_sentence_by_sentence_with_the_same_result(
    evidence: float, allowed: set[str] | None, monkeypatch: pytest.MonkeyPatch
):
    at_once = [made_up(seed, evidence=evidence).adapt(SUPPORT) for seed in range(4)]
    monkeypatch.setattr(span_decoding, "_COMPARED_AT_ONCE", 0)
    one_by_one = [made_up(seed, evidence=evidence).adapt(SUPPORT) for seed in range(4)]
    for one, other in zip(at_once, one_by_one, strict=True):
        assert one._whole is not None
        assert other._whole is None
        found, again = (adapted.predict(SENTENCES, tag_candidates=allowed) for adapted in (one, other))
        for a, b in zip(found, again, strict=True):
            assert (a.intent, a.slots, a.tags) == (b.intent, b.slots, b.tags)
            assert a.slot_confidences == pytest.approx(b.slot_confidences, abs=1e-5)
            assert a.confidence == pytest.approx(b.confidence, abs=1e-6)


def test_of_many_intents_the_slots_of_the_eight_likeliest_have_a_say():
    """A thousand must not cost more; one that the sentence itself puts ninth is out, whatever its slots gain."""
    support = [utterance(f"w{number} x", f"i{number:02}", Slot(f"s{number}", 0, 1)) for number in range(12)]
    bounded = 0
    for seed in range(3):
        learner = made_up(seed, evidence=5.0)
        case = Case(learner, support)
        for words, found in zip(SENTENCES, learner.adapt(support).predict(SENTENCES), strict=True):
            likely, worth = case.decide(words, 0.0).scores, case.decide(words, 5.0).scores
            eight = sorted(likely, key=lambda name: -likely[name])[:8]
            assert found.intent == max(eight, key=lambda name: worth[name])
            bounded += found.intent != max(worth, key=lambda name: worth[name])
    assert bounded, "some sentences would have had another intent"


# -- the released scorer's candidates ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "allowed",
    [
        {"O"},
        {"B-city", "O"},
        {"B-city", "I-city", "O"},
        {"B-time", "I-time", "I-city", "B-pair", "O"},
        {"B-nowhere", "I-nowhere"},
    ],
)
def test_candidates_bound_the_slots_and_never_the_intent(allowed: set[str]):
    learner = made_up(3, evidence=0.5)
    case, adapted = Case(learner, SUPPORT), learner.adapt(SUPPORT)
    free, bound = adapted.predict(SENTENCES), adapted.predict(SENTENCES, tag_candidates=allowed)
    assert [p.ranking for p in bound] == [p.ranking for p in free]
    assert any(one.slots != other.slots for one, other in zip(free, bound, strict=True))
    for words, prediction in zip(SENTENCES, bound, strict=True):
        labels = oracle.open_labels(case.support, prediction.intent)
        asked = case.told(Utterance.from_words(words, "unknown"))
        scores = oracle.segment_scores(asked, labels, case.support, case.names, case.measures, case.longest)
        legal = {
            segment: value
            for segment, value in scores.items()
            if segment[2] is None
            or (f"B-{segment[2]}" in allowed and (segment[1] == segment[0] + 1 or f"I-{segment[2]}" in allowed))
        }
        once = oracle.each_label_once(legal, len(words), case.support)
        assert predicted(prediction) == spans_of(oracle.best_segmentation(once, len(words)))
        assert set(prediction.tags) <= allowed | {"O"}


def test_all_candidates_are_as_good_as_none():
    every_tag = {f"{kind}-{label}" for kind in "BI" for label in ("city", "time", "pair")} | {"O"}
    adapted = made_up().adapt(SUPPORT)
    assert adapted.predict(SENTENCES, tag_candidates=every_tag) == adapted.predict(SENTENCES)
