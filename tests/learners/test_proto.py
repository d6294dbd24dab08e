from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from handful.data.bio import tag_set, utterance_tags
from handful.learners.proto import ProtoConfig, ProtoLearner
from handful.types import Episode, Slot, Utterance, Words
from learners.linear_network import linear_network, random_episode
from oracles import baselines as oracle


def learner(seed: int = 0, **settings: object) -> ProtoLearner:
    return ProtoLearner(linear_network(seed), ProtoConfig.model_validate(settings))


def seen(learner: ProtoLearner, utterances: tuple[Utterance, ...]) -> list[oracle.Seen]:
    found = []
    for u in utterances:
        with torch.no_grad():
            words, (sentence,) = learner.network([u.sentence])
        found.append(oracle.Seen(words.tolist(), sentence.tolist(), u.intent, utterance_tags(u)))
    return found


def asked(episode: Episode) -> list[Words]:
    return [u.sentence for u in episode.query]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("temperature", [1.0, 0.3])
def test_losses_are_those_of_the_equations(seed: int, temperature: float):
    own, episode = learner(seed, temperature=temperature, slot_weight=0.7), random_episode(seed)
    found = own.loss(episode)
    intent, slot = oracle.proto_losses(seen(own, episode.support), seen(own, episode.query), temperature)
    assert dict(found.parts) == pytest.approx({"intent": intent, "slot": slot}, rel=1e-4)
    assert found.total.item() == pytest.approx(intent + 0.7 * slot, rel=1e-4)
    found.total.backward()
    for name, weight in own.network.named_parameters():
        # A shift of all vectors changes no distance, so no loss can depend on the bias.
        assert weight.grad is not None
        assert bool(weight.grad.abs().max() > 1e-3) or name.endswith("bias"), name


def test_words_with_a_tag_that_the_support_lacks_are_left_out():
    """The query's last utterance has two of them and an O: the loss is the same as with the O alone."""
    own, episode = learner(temperature=1.0), random_episode(0)
    assert not {"B-unseen", "I-unseen"} & tag_set(episode.support)
    (last,) = seen(own, episode.query[-1:])
    only_outside = last._replace(words=last.words[2:], tags=["O"])
    _, expected = oracle.proto_losses(seen(own, episode.support), [only_outside], 1.0)
    found = own.loss(replace(episode, query=episode.query[-1:]))
    assert found.parts["slot"] == pytest.approx(expected, rel=1e-4)

    strange = Utterance.from_words(["now", "now"], "y", [Slot("unseen", 0, 2)])
    alone = own.loss(replace(episode, query=(strange,)))
    alone.total.backward()
    assert alone.parts["slot"] == 0.0
    assert alone.total.item() == alone.parts["intent"]


@pytest.mark.parametrize("seed", range(4))
def test_intents_have_the_shares_of_their_prototypes(seed: int):
    own, episode = learner(seed, temperature=0.5), random_episode(seed)
    support = seen(own, episode.support)
    predictions = own.adapt(episode.support).predict(asked(episode))
    for u, prediction in zip(seen(own, episode.query), predictions, strict=True):
        expected = oracle.proto_intents(support, u.sentence, 0.5)
        assert {intent.name: intent.confidence for intent in prediction.ranking} == pytest.approx(expected, rel=1e-4)
        assert prediction.intent == max(expected, key=lambda name: expected[name])


def test_independent_decoding_gives_every_word_its_nearest_tag():
    own, episode = learner(3, decoding="independent", temperature=1.0), random_episode(3)
    support = seen(own, episode.support)
    for u, prediction in zip(seen(own, episode.query), own.adapt(episode.support).predict(asked(episode)), strict=True):
        shares = [oracle.proto_tags(support, word, 1.0) for word in u.words]
        assert list(prediction.tags) == [max(own, key=lambda tag, own=own: own[tag]) for own in shares]


def test_joint_decoding_takes_only_slots_shown_with_the_intent():
    differ = 0
    for seed in range(8):
        joint, independent, episode = learner(seed), learner(seed, decoding="independent"), random_episode(seed)
        of_intent = {
            intent: {slot.key for u in episode.support if u.intent == intent for slot in u.slots}
            for intent in episode.intents
        }
        both = [own.adapt(episode.support).predict(asked(episode)) for own in (joint, independent)]
        for one, other in zip(*both, strict=True):
            assert one.ranking == other.ranking, "decoding is of slots"
            assert {slot.key for slot in one.slots} <= of_intent[one.intent]
            differ += one.tags != other.tags
    assert differ > 0


def test_candidates_bound_the_tags():
    own, episode = learner(1, decoding="independent"), random_episode(1)
    adapted = own.adapt(episode.support)
    for prediction in adapted.predict(asked(episode), tag_candidates={"O", "B-city"}):
        assert set(prediction.tags) <= {"O", "B-city"}
    assert adapted.predict([]) == []


@pytest.mark.parametrize("decoding", ["joint", "independent"])
def test_the_order_of_the_support_changes_nothing(decoding: str):
    own, episode = learner(2, decoding=decoding), random_episode(2)
    order = np.random.default_rng(0).permutation(len(episode.support))
    shuffled = replace(episode, support=tuple(episode.support[number] for number in order))
    assert shuffled.support != episode.support
    assert own.loss(shuffled).total.item() == pytest.approx(own.loss(episode).total.item(), rel=1e-5)
    for one, other in zip(
        own.adapt(episode.support).predict(asked(episode)),
        own.adapt(shuffled.support).predict(asked(episode)),
        strict=True,
    ):
        assert one.tags == other.tags
        assert one.ranking.names == other.ranking.names
        assert one.ranking.confidences == pytest.approx(other.ranking.confidences, rel=1e-4)


def test_remembered_vectors_are_forgotten_when_the_weights_are_about_to_change():
    episode = random_episode(0)
    own = ProtoLearner(linear_network(), ProtoConfig(), remember=True)
    before = own.adapt(episode.support).predict(asked(episode))
    with torch.no_grad():
        own.network.words.weight.mul_(-0.5)  # pyright: ignore
    assert own.adapt(episode.support).predict(asked(episode)) == before, "remembered"
    own.loss(episode)
    assert own.adapt(episode.support).predict(asked(episode)) != before
