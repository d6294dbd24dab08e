from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.learners.span_decoding import AdaptedSpans
from handful.model.span_network import Views
from handful.types import Slot, Utterance, Words
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
        assert prediction.slot_confidences == pytest.approx(decision.shares, abs=1e-9)
    assert len({decision.intent for decision in decided}) == 3
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
    assert found.slot_confidences == pytest.approx(expected.shares, abs=1e-9)


def test_confidences_are_shares_of_the_intents_likeness():
    learner = made_up(evidence=0.0)
    case = Case(learner, SUPPORT)
    for words, prediction in zip(SENTENCES, learner.adapt(SUPPORT).predict(SENTENCES), strict=True):
        worth = case.decide(words, 0.0).scores
        total = sum(np.exp(score) for score in worth.values())
        expected = sorted(((name, np.exp(score) / total) for name, score in worth.items()), key=lambda pair: -pair[1])
        assert [ranked.name for ranked in prediction.ranking] == [name for name, _ in expected]
        assert [ranked.confidence for ranked in prediction.ranking] == pytest.approx([share for _, share in expected])


# -- what is not looked at ---------------------------------------------------------------------------------------------


def every(_: AdaptedSpans, intents: Any, views: Views, outside: Any) -> tuple[Any, Any]:
    """All intents of all sentences, as if any could win."""
    del views, outside
    return tuple(np.indices(intents.shape).reshape(2, -1))


@pytest.mark.parametrize("evidence", [0.01, 0.05, 0.3, 2.0])
def test_intents_that_are_left_out_could_not_have_won(evidence: float, monkeypatch: pytest.MonkeyPatch):
    pruned = [made_up(seed, evidence=evidence).adapt(SUPPORT).predict(SENTENCES) for seed in range(6)]
    monkeypatch.setattr(AdaptedSpans, "_plausible", every)
    whole = [made_up(seed, evidence=evidence).adapt(SUPPORT).predict(SENTENCES) for seed in range(6)]
    for some, all_of_them in zip(pruned, whole, strict=True):
        for one, other in zip(some, all_of_them, strict=True):
            assert (one.intent, one.slots) == (other.intent, other.slots)
            assert one.slot_confidences == pytest.approx(other.slot_confidences, abs=1e-12)


def test_of_many_intents_the_slots_of_the_eight_likeliest_have_a_say():
    """A thousand must not cost more; one that the sentence itself puts ninth is out, whatever its slots gain."""
    support = [utterance(f"w{number} x", f"i{number:02}", Slot(f"s{number}", 0, 1)) for number in range(12)]
    bounded = 0
    for seed in range(3):
        learner = made_up(seed, evidence=1.5)
        case = Case(learner, support)
        for words, found in zip(SENTENCES, learner.adapt(support).predict(SENTENCES), strict=True):
            likely, worth = case.decide(words, 0.0).scores, case.decide(words, 1.5).scores
            eight = sorted(likely, key=lambda name: -likely[name])[:8]
            assert found.intent == max(eight, key=lambda name: worth[name])
            bounded += found.intent != max(worth, key=lambda name: worth[name])
    assert bounded, "some sentences would have had another intent"


def test_intents_far_off_are_left_out(monkeypatch: pytest.MonkeyPatch):
    """At a small weight most of them are, and the others are not."""
    real, counts = AdaptedSpans._plausible, []

    def counted(self: AdaptedSpans, intents: Any, views: Views, outside: Any) -> tuple[Any, Any]:
        rows, chosen = real(self, intents, views, outside)
        counts.append((len(rows), intents.size, len(intents)))
        return rows, chosen

    monkeypatch.setattr(AdaptedSpans, "_plausible", counted)
    made_up(evidence=0.05).adapt(SUPPORT).predict(SENTENCES)
    ((looked_at, pairs, sentences),) = counts
    assert sentences < looked_at < pairs


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
        assert predicted(prediction) == spans_of(oracle.best_segmentation(legal, len(words)))
        assert set(prediction.tags) <= allowed | {"O"}


def test_all_candidates_are_as_good_as_none():
    every_tag = {f"{kind}-{label}" for kind in "BI" for label in ("city", "time", "pair")} | {"O"}
    adapted = made_up().adapt(SUPPORT)
    assert adapted.predict(SENTENCES, tag_candidates=every_tag) == adapted.predict(SENTENCES)
