from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from handful.learners.retriever import RetrieverConfig, RetrieverLearner, batch_softmax
from handful.types import Episode, Slot, Utterance, Words
from learners.linear_network import linear_network, random_episode
from learners.retrieved import Towers
from oracles import baselines as oracle

pytestmark = pytest.mark.usefixtures("one_thread")


def learner(number: int = 0, /, *, apart: bool = True, **settings: Any) -> RetrieverLearner:
    """`apart`: towers that are no longer alike, as after training."""
    config = RetrieverConfig.model_validate({"width": 5, "slot_weight": 0.6, **settings})
    own = RetrieverLearner(linear_network(number), config)
    if apart:
        with torch.no_grad():
            own.network.shown_sentence.weight.add_(0.3 * torch.randn_like(own.network.shown_sentence.weight))
            own.network.shown_span.weight.add_(0.3 * torch.randn_like(own.network.shown_span.weight))
    return own


def asked(episode: Episode) -> list[Words]:
    return [u.sentence for u in episode.query]


# -- training ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("nothing", [None, 0.7])
def test_batch_softmax_is_that_of_the_equation(seed: int, nothing: float | None):
    """Among what is asked are labels that are not shown, and spans that are no slot."""
    rng = np.random.default_rng(seed)
    shown = rng.choice(["a", "b", "c"], size=int(rng.integers(1, 6))).tolist()
    labels = ["a", "b", "c", "unseen"] if nothing is None else ["a", "b", "c", "unseen", "", ""]
    asked = [*rng.choice(labels, size=7).tolist(), *labels]
    scores = 2 * rng.normal(size=(len(asked), len(shown)))
    given = torch.tensor(scores, requires_grad=True)
    found = batch_softmax(given, asked, shown, None if nothing is None else torch.tensor(nothing, dtype=torch.float64))
    assert found.item() == pytest.approx(oracle.batch_softmax(scores.tolist(), asked, shown, nothing), abs=1e-9)
    found.backward()
    assert given.grad is not None
    assert bool(given.grad.isfinite().all())
    unseen = torch.tensor([label not in {*shown, ""} for label in asked])
    assert not bool(given.grad[unseen].any()), "a label that is not shown has no right answer"


def test_spans_with_a_label_and_those_without_count_alike():
    """One that is a slot beside three that are none; all scores are nought."""
    scores = torch.zeros(4, 1)
    found = batch_softmax(scores, ["a", "", "", ""], ["a"], torch.tensor(math.log(3)))
    assert found.item() == pytest.approx((math.log(4) - math.log(3 / 4)) / 2)


@pytest.mark.parametrize("nothing", [None, torch.tensor(0.5)])
def test_where_nothing_has_a_right_answer_there_is_nothing_to_learn(nothing: torch.Tensor | None):
    scores = torch.ones(2, 2, requires_grad=True)
    found = batch_softmax(scores, ["a", "b"], ["c", "d"], nothing)
    found.backward()
    assert found.item() == 0.0
    assert scores.grad is not None
    assert not bool(scores.grad.any())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("temperature", "longest"), [(0.5, 8), (0.2, 2), (0.2, 1)])
def test_losses_are_those_of_the_equations(seed: int, temperature: float, longest: int):
    own, episode = learner(seed, temperature=temperature, longest=longest), random_episode(seed)
    towers = Towers(own)
    found = own.loss(episode)
    intent, slot = towers.losses(episode)
    assert dict(found.parts) == pytest.approx({"intent": intent, "slot": slot}, rel=1e-4)
    assert found.total.item() == pytest.approx(intent + 0.6 * slot, rel=1e-4)
    found.total.backward()
    for name, weight in own.network.named_parameters():
        assert weight.grad is not None, name
        assert bool(weight.grad.abs().max() > 1e-4), name


def test_towers_begin_alike_and_are_trained_apart():
    own, episode = learner(apart=False), random_episode(0)
    network = own.network
    pairs = [(network.asked_sentence, network.shown_sentence), (network.asked_span, network.shown_span)]
    assert all(torch.equal(one.weight, other.weight) for one, other in pairs)
    assert network.no_slot.item() == pytest.approx(0.5 / own.config.temperature)
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1)
    own.loss(episode).total.backward()
    optimiser.step()
    assert not any(torch.equal(one.weight, other.weight) for one, other in pairs)


def test_a_support_without_slots_teaches_intents_alone():
    own = learner()
    support = tuple(Utterance.from_words([word], intent) for word, intent in (("a", "x"), ("b", "y")))
    query = (Utterance.from_words(["fly", "to"], "x", [Slot("city", 1, 2)]),)
    found = own.loss(Episode(support, query, 0, 0))
    found.total.backward()
    assert found.parts["slot"] == 0.0
    assert found.parts["intent"] > 0.0


# -- predictions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_the_intent_is_that_of_the_nearest_sentence(seed: int):
    """A class is as near as its nearest example, and shares are a softmax over that."""
    own, episode = learner(seed, temperature=0.4), random_episode(seed)
    towers = Towers(own)
    for u, prediction in zip(episode.query, own.adapt(episode.support).predict(asked(episode)), strict=True):
        near = [towers.sentences_near(u, other) / 0.4 for other in episode.support]
        assert prediction.intent == episode.support[int(np.argmax(near))].intent
        nearest = {
            intent: max(score for score, other in zip(near, episode.support, strict=True) if other.intent == intent)
            for intent in episode.intents
        }
        total = sum(math.exp(score) for score in nearest.values())
        expected = {intent: math.exp(score) / total for intent, score in nearest.items()}
        assert dict(prediction.ranking) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("decoding", ["joint", "independent"])
@pytest.mark.parametrize(("longest", "no_slot"), [(8, 0.8), (2, 0.8), (8, 3.0), (8, -1.0)])
def test_slots_are_the_best_of_all_sets_of_spans_apart(seed: int, decoding: str, longest: int, no_slot: float):
    """Every set is tried. Of a low ν even far spans are slots, of a high one hardly any."""
    own, episode = learner(seed, temperature=0.3, longest=longest, decoding=decoding), random_episode(seed)
    with torch.no_grad():
        own.network.no_slot.fill_(no_slot)
    towers = Towers(own)
    for u, prediction in zip(episode.query, own.adapt(episode.support).predict(asked(episode)), strict=True):
        shown = [s for s in episode.support if decoding == "independent" or s.intent == prediction.intent]
        open_keys = {slot.key for s in shown for slot in s.slots}
        spans = [(i, j) for i in range(len(u.words)) for j in range(i, min(len(u.words), i + longest))]
        # Spans of other intents' examples count where their slot is one of this intent's, too.
        near = {span: towers.slots_near(u, span, episode.support, open_keys) for span in spans}
        scores = [max(near[span].values(), default=-math.inf) / 0.3 - no_slot for span in spans]
        numbers = [spans.index((slot.start, slot.end - 1)) for slot in prediction.slots]
        best = oracle.best_sum(spans, [max(score, -1e6) for score in scores])
        assert sum(scores[number] for number in numbers) == pytest.approx(best, abs=1e-4)
        for number, slot, confidence in zip(numbers, prediction.slots, prediction.slot_confidences, strict=True):
            labels = near[spans[number]]
            assert slot.key == max(labels, key=lambda key, labels=labels: labels[key])
            weights = {key: math.exp(score / 0.3) for key, score in labels.items()}
            share = weights[slot.key] / (sum(weights.values()) + math.exp(no_slot))
            assert confidence == pytest.approx(share, rel=1e-4)


def test_joint_decoding_takes_only_slots_shown_with_the_intent():
    differ = 0
    for number in range(6):
        episode = random_episode(number)
        torch.manual_seed(0)
        both = []
        for decoding in ("joint", "independent"):
            own = learner(number, decoding=decoding)
            with torch.no_grad():
                own.network.no_slot.fill_(-5.0)
            both.append(own.adapt(episode.support).predict(asked(episode)))
        for one, other in zip(*both, strict=True):
            shown = {slot.key for u in episode.support if u.intent == one.intent for slot in u.slots}
            assert one.ranking == other.ranking, "decoding is of slots"
            assert {slot.key for slot in one.slots} <= shown
            differ += one.tags != other.tags
    assert differ > 0


def test_spans_that_are_too_long_are_never_found():
    """Each word is a slot to itself at a low ν; an example of three words is retrieved by spans of two at most."""
    support = [Utterance.from_words(["a", "to", "b"], "x", [Slot("city", 0, 3)])]
    sizes = set()
    for number in range(10):
        own = learner(number, longest=2)
        with torch.no_grad():
            own.network.no_slot.fill_(-20.0)
        (found,) = own.adapt(support).predict([("a", "to", "b", "now")])
        assert all(tag != "O" for tag in found.tags)
        sizes |= {slot.end - slot.start for slot in found.slots}
    assert sizes <= {1, 2}


def test_candidates_bound_the_tags_and_leave_the_intents_alone():
    own, episode = learner(1), random_episode(1)
    with torch.no_grad():
        own.network.no_slot.fill_(-5.0)
    adapted = own.adapt(episode.support)
    free = adapted.predict(asked(episode))
    assert {tag for prediction in free for tag in prediction.tags} - {"O", "B-city", "I-city", "B-time"}
    for candidates in ({"O", "B-city", "I-city", "B-time"}, {"O", "I-city"}, set()):
        bound = adapted.predict(asked(episode), tag_candidates=candidates)
        assert {tag for prediction in bound for tag in prediction.tags} <= {"O", *candidates} - {
            "I-city" if "B-city" not in candidates else ""
        }
        assert [prediction.ranking for prediction in bound] == [prediction.ranking for prediction in free]
    assert adapted.predict([]) == []


def test_a_support_without_slots_finds_none():
    own = learner()
    with torch.no_grad():
        own.network.no_slot.fill_(-50.0)
    support = [Utterance.from_words([word], intent) for word, intent in (("a", "x"), ("b", "y"))]
    found = own.adapt(support).predict([("fly", "to"), ("a",)])
    assert [prediction.tags for prediction in found] == [("O", "O"), ("O",)]
    assert found[1].intent in {"x", "y"}


def test_slots_come_back_with_their_label_and_role():
    own = learner(apart=False)
    (found,) = own.adapt([Utterance.from_words(["a"], "x", [Slot("city", 0, 1, role="to")])]).predict([("a",)])
    assert found.slots == (Slot("city", 0, 1, role="to"),), "a span is nearest to itself"


def test_remembered_vectors_are_forgotten_when_the_weights_are_about_to_change():
    episode = random_episode(0)
    own = RetrieverLearner(linear_network(), RetrieverConfig(width=5), remember=True)
    before = own.adapt(episode.support).predict(asked(episode))
    with torch.no_grad():
        own.network.words.weight.mul_(-0.5)  # pyright: ignore
    assert own.adapt(episode.support).predict(asked(episode)) == before, "remembered"
    own.loss(episode)
    assert own.adapt(episode.support).predict(asked(episode)) != before
