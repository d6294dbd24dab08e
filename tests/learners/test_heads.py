from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from handful.errors import TrainingError
from handful.learners.finetune import FinetuneConfig, FinetuneLearner
from handful.learners.fomaml import FomamlConfig, FomamlLearner, InnerConfig
from handful.learners.heads import HEADS, AdaptedHeads, FittingConfig, joint_loss, new_heads, scores
from handful.learners.support import SupportLabels
from handful.model.losses import ABSENT
from handful.types import Episode, Slot, Utterance, Words
from learners.linear_network import body_weights, linear_network, random_episode, told
from oracles import baselines as oracle
from oracles import decoding

pytestmark = pytest.mark.usefixtures("one_thread")

BY_HAND = {"intents.weight": "intents", "intents.bias": "intents b", "tags.weight": "tags", "tags.bias": "tags b"}


def random_heads(labels: SupportLabels, width: int = 4, seed: int = 0) -> dict[str, Tensor]:
    drawn = torch.Generator().manual_seed(seed)
    return {
        name: torch.randn(head.shape, generator=drawn, dtype=head.dtype)
        for name, head in new_heads(width, labels).items()
    }


def asked(episode: Episode) -> list[Words]:
    return [u.sentence for u in episode.query]


# -- the loss ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("slot_weight", [1.0, 0.3])
def test_loss_and_gradients_are_those_derived_by_hand(seed: int, slot_weight: float):
    """The query's last words have a tag that the support lacks."""
    network, episode = linear_network(seed), random_episode(seed)
    labels = SupportLabels(episode.support)
    heads = {name: head.requires_grad_() for name, head in random_heads(labels, seed=seed).items()}
    intents, tags = (torch.tensor(numbers) for numbers in labels.numbers_of(episode.query, ABSENT))
    assert bool((tags == ABSENT).any())
    words, sentences = network(asked(episode))
    found = joint_loss(*scores(words, sentences, heads), intents, tags, slot_weight)
    found.backward()

    weights = body_weights(network) | {BY_HAND[name]: heads[name].detach().numpy() for name in HEADS}
    expected, gradients = oracle.joint_loss(
        weights, told(network, episode.query, labels.intents, labels.tags), slot_weight
    )
    assert found.item() == pytest.approx(expected, abs=1e-9)
    for name, weight in (*network.named_parameters(), *heads.items()):
        by_hand = gradients[{"words.weight": "A", "words.bias": "c", **BY_HAND}[name]]
        assert weight.grad is not None
        assert np.abs(by_hand).max() > 1e-3, name
        assert weight.grad.numpy() == pytest.approx(by_hand, abs=1e-9), name


def test_words_whose_tag_the_support_lacks_are_in_neither_sum_nor_count():
    of_intents, of_tags = torch.tensor([[1.0, 0.0]]), torch.tensor([[2.0, 0.0], [0.0, 9.0], [0.0, 1.0]])
    intents = torch.tensor([0])
    intent = math.log(1 + math.exp(-1))
    some = joint_loss(of_intents, of_tags, intents, torch.tensor([0, ABSENT, 1]), 0.5)
    tags = (math.log(1 + math.exp(-2)) + math.log(1 + math.exp(-1))) / 2
    assert some.item() == pytest.approx(intent + 0.5 * tags)
    none = joint_loss(of_intents, of_tags, intents, torch.tensor([ABSENT] * 3), 0.5)
    assert none.item() == pytest.approx(intent)


# -- what they begin with ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_new_heads_know_nothing(seed: int):
    """All labels are alike to them: L = log N + λ log K."""
    network, episode = linear_network(seed), random_episode(seed)
    labels = SupportLabels(episode.support)
    heads = new_heads(network.width, labels)
    intents, tags = (torch.tensor(numbers) for numbers in labels.numbers_of(episode.support, ABSENT))
    words, sentences = network([u.sentence for u in episode.support])
    found = joint_loss(*scores(words, sentences, heads), intents, tags, slot_weight=0.7)
    assert found.item() == pytest.approx(math.log(len(labels.intents)) + 0.7 * math.log(len(labels.tags)), rel=1e-5)


LEARNERS = {
    "finetune": FinetuneLearner(linear_network(1), FinetuneConfig(fitting=FittingConfig(steps=20, heads_rate=0.1))),
    "fomaml": FomamlLearner(linear_network(1), FomamlConfig(fitting=InnerConfig(steps=40, rate=0.1, heads_rate=1.0))),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_the_order_of_labels_changes_nothing(name: str):
    """Other names for the same labels turn their order round; sentences are what they were."""
    new = {"x": "r", "y": "q", "z": "p", "city": "zoo", "time": "inn", "pair": "lot"}

    def renamed(u: Utterance) -> Utterance:
        return replace(u, intent=new[u.intent], slots=tuple(replace(s, label=new[s.label]) for s in u.slots))

    learner, episode = LEARNERS[name], random_episode(1)
    before = learner.adapt(episode.support).predict(asked(episode))
    after = learner.adapt([renamed(u) for u in episode.support]).predict(asked(episode))
    assert any(prediction.slots for prediction in before)
    for one, other in zip(before, after, strict=True):
        assert [new[intent] for intent in one.ranking.names] == list(other.ranking.names)
        assert one.ranking.confidences == pytest.approx(other.ranking.confidences, rel=1e-4)
        assert [(new[s.label], s.start, s.end) for s in one.slots] == [(s.label, s.start, s.end) for s in other.slots]
        assert one.slot_confidences == pytest.approx(other.slot_confidences, rel=1e-4)


# -- predictions -------------------------------------------------------------------------------------------------------


class Case:
    """Random heads on a network's vectors, and the scores that they give, worked out without them."""

    def __init__(self, seed: int, *, jointly: bool) -> None:
        network, self.episode = linear_network(seed), random_episode(seed)
        self.labels = SupportLabels(self.episode.support)
        heads = random_heads(self.labels, seed=seed)
        self.calls = 0

        def vectors(sentences: Sequence[Words]) -> tuple[Tensor, Tensor]:
            self.calls += 1
            with torch.no_grad():
                return network(sentences)

        self.adapted = AdaptedHeads(self.labels, heads, vectors, jointly=jointly)
        own = {name: head.double().numpy() for name, head in heads.items()}
        body, seen = body_weights(network), told(network, self.episode.query, self.labels.intents, self.labels.tags)
        of_sentences = [body["A"] @ u.sentence + body["c"] for u in seen]
        self.of_intents = [own["intents.weight"] @ hidden + own["intents.bias"] for hidden in of_sentences]
        self.of_tags = [(u.words @ body["A"].T + body["c"]) @ own["tags.weight"].T + own["tags.bias"] for u in seen]

    @property
    def predicted(self):
        return self.adapted.predict(asked(self.episode))

    def shown_with(self, intent: str) -> set[str]:
        return {slot.key for u in self.episode.support if u.intent == intent for slot in u.slots}


def softmax(of: np.ndarray) -> np.ndarray:
    shares = np.exp(of - of.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True)


@pytest.mark.parametrize("jointly", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_intents_have_their_softmax_shares(seed: int, jointly: bool):
    case = Case(seed, jointly=jointly)
    for prediction, own in zip(case.predicted, case.of_intents, strict=True):
        expected = dict(zip(case.labels.intents, softmax(own), strict=True))
        assert {intent.name: intent.confidence for intent in prediction.ranking} == pytest.approx(expected, rel=1e-4)
        assert prediction.intent == max(expected, key=lambda name: expected[name])


@pytest.mark.parametrize("seed", range(3))
def test_independent_decoding_gives_every_word_its_likeliest_tag(seed: int):
    case = Case(seed, jointly=False)
    for prediction, own in zip(case.predicted, case.of_tags, strict=True):
        assert list(prediction.tags) == [case.labels.tags[number] for number in own.argmax(1)]
        least = [softmax(own).max(1)[slot.start : slot.end].min() for slot in prediction.slots]
        assert prediction.slot_confidences == pytest.approx(least, rel=1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_joint_decoding_is_the_best_legal_sequence_of_the_intents_slots(seed: int):
    case = Case(seed, jointly=True)
    for prediction, own in zip(case.predicted, case.of_tags, strict=True):
        labels = case.shown_with(prediction.intent)
        columns = [number for number, tag in enumerate(case.labels.tags) if tag == "O" or tag[2:] in labels]
        open_tags = [case.labels.tags[number] for number in columns]
        rows = own[:, columns].tolist()
        assert decoding.is_legal(prediction.tags)
        found = decoding.score(rows, [open_tags.index(tag) for tag in prediction.tags])
        assert found == pytest.approx(decoding.best_score(rows, open_tags), rel=1e-4)


@pytest.mark.parametrize("jointly", [True, False])
def test_candidates_bound_the_tags_and_leave_the_intents_alone(jointly: bool):
    case = Case(4, jointly=jointly)
    free = case.predicted
    bound = case.adapted.predict(asked(case.episode), tag_candidates={"O", "B-city"})
    assert {tag for prediction in free for tag in prediction.tags} - {"O", "B-city"}
    assert {tag for prediction in bound for tag in prediction.tags} == {"O", "B-city"}
    assert [prediction.ranking for prediction in bound] == [prediction.ranking for prediction in free]
    assert case.calls == 1, "two scorers ask for the same sentences, which are encoded once"


def test_other_sentences_are_encoded_anew():
    case = Case(0, jointly=True)
    together = case.predicted
    for words, expected in zip(asked(case.episode), together, strict=True):
        (alone,) = case.adapted.predict([words])
        assert alone.tags == expected.tags
        assert alone.ranking.confidences == pytest.approx(expected.ranking.confidences, rel=1e-5)
    assert case.calls == 1 + len(together)
    assert case.adapted.predict([]) == []


@pytest.mark.parametrize("broken", HEADS)
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_scores_that_are_not_finite_are_told(broken: str, value: float):
    network, episode = linear_network(), random_episode(0)
    labels = SupportLabels(episode.support)
    heads = random_heads(labels)
    heads[broken].view(-1)[0] = value
    adapted = AdaptedHeads(labels, heads, lambda sentences: network.eval()(sentences), jointly=True)
    with torch.no_grad(), pytest.raises(TrainingError, match="not finite: a smaller fitting rate may help"):
        adapted.predict(asked(episode))


def test_slots_come_back_with_their_label_and_role():
    network, support = linear_network(), [Utterance.from_words(["a"], "x", [Slot("city", 0, 1, role="to")])]
    labels = SupportLabels(support)
    heads = random_heads(labels)
    with torch.no_grad():
        (found,) = AdaptedHeads(labels, heads, network, jointly=True).predict([("a",)])
    assert found.slots == (Slot("city", 0, 1, role="to"),)
