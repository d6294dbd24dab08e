from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from handful.encoders.choose import TransformerConfig
from handful.learners import span_decoding
from handful.learners.choose import build_trained
from handful.learners.joint_spans import JointSpansConfig, JointSpansLearner
from handful.model.spans import class_subset
from handful.types import Slot, Words
from learners.made_up import MEASURES, SENTENCES, SUPPORT, Case, made_up, predicted, spans_of, utterance

Build = Callable[..., JointSpansLearner]


@pytest.fixture
def build(tiny_bert: Path) -> Build:
    def built(**settings: Any) -> JointSpansLearner:
        encoder = TransformerConfig(name=str(tiny_bert), frozen_layers=1)
        config = JointSpansConfig(**{"width": 8, **settings})
        learner = build_trained(config, encoder, seed=0, cache=None, remember=False)
        with torch.no_grad():  # as drawn, border scores are nought and every word of every sentence looks alike
            learner.network.views.weight[-4:].normal_(generator=torch.Generator().manual_seed(0))
        return learner

    return built


# -- supports of all kinds ---------------------------------------------------------------------------------------------


def test_a_support_without_slots_has_none_to_predict():
    support = (utterance("fly", "A"), utterance("to rome", "B"))
    for prediction in made_up().adapt(support).predict(SENTENCES):
        assert (prediction.slots, set(prediction.tags)) == ((), {"O"})


def test_of_one_intent_it_is_certain():
    predictions = made_up().adapt(SUPPORT[:2]).predict(SENTENCES)
    assert {(p.intent, p.confidence) for p in predictions} == {("Fly", 1.0)}
    assert {slot.label for p in predictions for slot in p.slots} == {"city", "time"}


def test_slots_are_those_that_the_support_shows_with_the_intent():
    found = {"Fly": set(), "ask": set(), "other": set()}
    for seed in range(3):
        for prediction in made_up(seed).adapt(SUPPORT).predict(SENTENCES):
            found[prediction.intent] |= {slot.label for slot in prediction.slots}
    assert found == {"Fly": {"city", "time"}, "ask": {"city", "pair"}, "other": set()}


def test_roles_are_labels_of_their_own_and_come_back_as_roles():
    support = (
        utterance("fly to boston", "Fly", Slot("city", 2, 3, role="to")),
        utterance("rome fly now", "Fly", Slot("city", 0, 1, role="from"), Slot("city", 2, 3)),
    )
    learner = made_up(1)
    case = Case(learner, support)
    found = learner.adapt(support).predict(SENTENCES)
    assert {(slot.label, slot.role) for p in found for slot in p.slots} == {
        ("city", None), ("city", "to"), ("city", "from"),
    }  # fmt: skip
    for words, prediction in zip(SENTENCES, found, strict=True):
        assert predicted(prediction) == spans_of(case.decide(words, 0.05).segments)


def test_spans_are_as_long_as_the_supports_longest_and_no_longer():
    """Words that are all like one label: nine at a time, where the support shows nine; otherwise eight."""
    for shown, longest in ((9, 9), (3, 8)):
        support = (utterance(" ".join(["rome"] * shown), "A", Slot("x", 0, shown)), utterance("to", "A"))
        learner = made_up(measures=(MEASURES[0], (1e-6, 1.0, 1.0), (1e-6, 1.0, 1.0)))
        with torch.no_grad():
            learner.network.views.weight[-4:] /= 10
            learner.network.views.bias[-4:] = torch.tensor([-5.0, -3.0, 1.0, -3.0])
        asked = ("rome",) * 9
        (found,) = learner.adapt(support).predict([asked])
        assert predicted(found) == spans_of(Case(learner, support).decide(asked, 0.05).segments)
        assert max(slot.end - slot.start for slot in found.slots) == longest


def test_sentences_in_which_no_span_could_gain_anything_are_predicted(build: Build):
    learner = build()
    with torch.no_grad():
        learner.network.views.bias[-4:] = torch.tensor([0.1, -50.0, -50.0, -50.0])
    for words in SENTENCES:
        (found,) = learner.adapt(SUPPORT).predict([words])
        assert found.slots == ()


# -- whatever else is asked --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("evidence", [0.0, 0.5])
def test_predictions_depend_neither_on_what_else_is_asked_nor_on_the_order(build: Build, evidence: float):
    adapted = build(evidence=evidence).adapt(SUPPORT)
    asked = [*SENTENCES[::5], ("fly", "to") * 12, ("now",)]
    together, backwards = adapted.predict(asked), adapted.predict(asked[::-1])[::-1]
    for words, one, other in zip(asked, together, backwards, strict=True):
        (alone,) = adapted.predict([words])
        for found in (one, other):
            assert (found.intent, found.slots, found.tags) == (alone.intent, alone.slots, alone.tags)
            assert found.slot_confidences == pytest.approx(alone.slot_confidences, abs=1e-4)
    assert len({p.intent for p in together}) > 1
    assert any(p.slots for p in together)
    assert adapted.predict([]) == []


@pytest.mark.parametrize(
    "evidence",
    [0.0, 0.5],
)
def test_confidences_do_not_depend_on_what_else_is_asked(evidence: float):
    adapted = made_up(evidence=evidence).adapt(SUPPORT)
    for words, together in zip(SENTENCES, adapted.predict(SENTENCES), strict=True):
        (alone,) = adapted.predict([words])
        assert alone.confidence == pytest.approx(together.confidence, abs=1e-6)


def test_long_lists_are_decoded_in_parts(monkeypatch: pytest.MonkeyPatch):
    asked = [*SENTENCES, ("rome",) * 20]
    whole = made_up().adapt(SUPPORT).predict(asked)
    monkeypatch.setattr(span_decoding, "_NUMBERS_AT_A_TIME", 100)
    adapted = made_up().adapt(SUPPORT)
    asked_of = made_up().see(asked)
    parts = list(adapted._batches(asked_of))
    assert sorted(number for part in parts for number in part) == list(range(len(asked)))
    lengths = [[len(asked[number]) for number in part] for part in parts]
    assert lengths == [sorted(part) for part in lengths]
    assert len(parts) > 2
    for one, other in zip(whole, adapted.predict(asked), strict=True):
        assert (one.intent, one.slots) == (other.intent, other.slots)


def test_of_many_words_outside_slots_some_are_kept_and_the_name_among_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(span_decoding, "_OUTSIDE_EXAMPLES", 5)
    support = SUPPORT * 10
    kept = made_up().adapt(support)._like_outside.members
    whole = class_subset(made_up().adapt(support)._members.types, [3])
    assert (len(kept.vectors), kept.named.tolist()) == (5, [True, False, False, False, False])
    assert kept.vectors[0] == pytest.approx(whole.vectors[0])
    assert len(set(kept.owners.tolist())) > 2, "from all over the support"


def test_sentences_asked_again_are_seen_once(build: Build, monkeypatch: pytest.MonkeyPatch):
    """Two scorers ask for the same sentences one after the other."""
    learner = build()
    adapted, real, seen = learner.adapt(SUPPORT), learner.see, []

    def see(sentences: Sequence[Words]) -> Any:
        seen.append(list(sentences))
        return real(sentences)

    monkeypatch.setattr(learner, "see", see)
    first = adapted.predict([("fly", "to"), ("rome",)])
    assert adapted.predict([("fly", "to"), ("rome",)]) == first
    assert adapted.predict([("rome",), ("fly", "to")]) == first[::-1]
    assert seen == [[("fly", "to"), ("rome",)], [("rome",), ("fly", "to")]]
