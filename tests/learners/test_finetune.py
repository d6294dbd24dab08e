from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from handful.data.bio import tag_set
from handful.errors import ConfigError, TrainingError
from handful.learners.finetune import FinetuneConfig, FinetuneLearner
from handful.learners.heads import FittingConfig
from handful.learners.support import SupportLabels
from handful.learners.tuning import drawn
from handful.types import Episode, Prediction, Slot, Utterance, Words
from learners.linear_network import body_weights, linear_network, random_episode, same, told, weights_of
from oracles import baselines as oracle

pytestmark = pytest.mark.usefixtures("one_thread")

RATES = {"rate": 0.02, "heads_rate": 0.1}


def learner(
    number: int = 0, /, dropout: float = 0.0, fitting: dict[str, Any] | None = None, **settings: Any
) -> FinetuneLearner:
    steps = FittingConfig.model_validate({"steps": 3, **RATES, **(fitting or {})})
    config = FinetuneConfig.model_validate({"slot_weight": 0.6, **settings, "fitting": steps})
    return FinetuneLearner(linear_network(number, dropout=dropout), config)


def everything(episode: Episode) -> tuple[Utterance, ...]:
    return *episode.support, *episode.query


def prepared(own: FinetuneLearner, utterances: Sequence[Utterance]) -> FinetuneLearner:
    list(own.prepare(utterances))
    return own


def asked(episode: Episode) -> list[Words]:
    return [u.sentence for u in episode.query]


# -- training ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("seed", range(4))
def test_the_loss_is_that_of_a_supervised_task_over_all_utterances(seed: int):
    """Labels stand in the order of their names, and one utterance more, of labels of its own, makes more of them."""
    own, episode = learner(seed), random_episode(seed)
    other = Utterance.from_words(["a"], "m", [Slot("date", 0, 1)])
    prepared(own, [*everything(episode), other])
    intents, tags = ["m", "x", "y", "z"], sorted({"O", "B-date", *tag_set(everything(episode))})
    found = own.loss(episode)
    found.total.backward()

    heads = {name: weight.double().numpy() for name, weight in weights_of(own.network).items()}
    weights = body_weights(own.network.body) | {
        "intents": heads["intents.weight"][:4],
        "intents b": heads["intents.bias"][:4],
        "tags": heads["tags.weight"][: len(tags)],
        "tags b": heads["tags.bias"][: len(tags)],
    }
    told_of = told(own.network.body, everything(episode), intents, tags)
    expected, gradients = oracle.joint_loss(weights, told_of, 0.6)
    assert found.total.item() == pytest.approx(expected, abs=1e-9)
    assert dict(found.parts) == {"supervised": found.total.item()}
    parts = dict(own.network.named_parameters())
    for name, by_hand in (
        ("words.weight", "A"),
        ("words.bias", "c"),
        ("intents.weight", "intents"),
        ("intents.bias", "intents b"),
        ("tags.weight", "tags"),
        ("tags.bias", "tags b"),
    ):
        gradient = parts[name].grad
        assert gradient is not None
        rows = len(gradients[by_hand])
        assert gradient[:rows].numpy() == pytest.approx(gradients[by_hand], abs=1e-9), name
        assert not bool(gradient[rows:].any()), "room that no label has taken"


def test_a_word_outside_all_slots_is_reckoned_with_where_none_was_shown():
    own = learner()
    utterance = Utterance.from_words(["a"], "x", [Slot("city", 0, 1)])
    prepared(own, [utterance])
    with torch.no_grad():
        for weight in own.network.parameters():
            weight.zero_()
    found = own.loss(Episode((utterance,), (utterance,), 0, 0))
    assert found.total.item() == pytest.approx(0.6 * math.log(2)), "one intent; B-city and O"


def test_training_has_dropout():
    own, episode = learner(dropout=0.5), random_episode(0)
    prepared(own, everything(episode))
    losses = []
    for seed in (0, 1, 0):
        torch.manual_seed(seed)
        losses.append(own.loss(episode).total.item())
    assert losses[0] == losses[2] != losses[1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"most_intents": 2}, r"learner\.most_intents is 2, but the train split has 3: raise it"),
        ({"most_tags": 4}, r"learner\.most_tags is 4, but the train split has 5: raise it"),
    ],
)
def test_labels_that_find_no_room_are_told(settings: dict[str, Any], message: str):
    words = ["fly", "to", "rome", "now"]
    utterances = [Utterance.from_words(words, intent, [Slot("city", 1, 3), Slot("time", 3, 4)]) for intent in "abc"]
    utterances.append(Utterance.from_words(["now", "now"], "a", [Slot("time", 0, 2)]))
    with pytest.raises(ConfigError, match=message):
        prepared(learner(**settings), utterances)
    just_enough = prepared(learner(most_intents=3, most_tags=5), utterances)
    episode = Episode(tuple(utterances), tuple(utterances), 0, 0)
    assert math.isfinite(just_enough.loss(episode).total.item())


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param([], id="nothing"),
        pytest.param([Utterance.from_words(["a"], "y", [Slot("city", 0, 1)])], id="other intents"),
        pytest.param([Utterance.from_words(["a"], "x", [Slot("time", 0, 1)])], id="other slots"),
    ],
)
def test_labels_that_were_not_prepared_are_told(shown: list[Utterance]):
    utterance = Utterance.from_words(["a"], "x", [Slot("city", 0, 1)])
    own = prepared(learner(), shown) if shown else learner()
    with pytest.raises(TrainingError, match="intents or slots that `prepare` was not shown"):
        own.loss(Episode((utterance,), (utterance,), 0, 0))


# -- adapting ----------------------------------------------------------------------------------------------------------


class Adam:
    """AdamW without decay, number by number: a first step is as large as its rate, whatever the gradient."""

    def __init__(self, weights: oracle.Weights) -> None:
        self.weights = weights
        self._means, self._squares = ({name: 0.0 * weight for name, weight in weights.items()} for _ in range(2))
        self._steps = 0

    def step(self, gradients: oracle.Weights) -> None:
        self._steps += 1
        for name, gradient in gradients.items():
            self._means[name] = 0.9 * self._means[name] + 0.1 * gradient
            self._squares[name] = 0.999 * self._squares[name] + 0.001 * gradient**2
            mean = self._means[name] / (1 - 0.9**self._steps)
            square = self._squares[name] / (1 - 0.999**self._steps)
            rate = RATES["rate"] if name in {"A", "c"} else RATES["heads_rate"]
            self.weights[name] = self.weights[name] - rate * mean / (np.sqrt(square) + 1e-8)


def shares(weights: oracle.Weights, sentence: np.ndarray) -> list[float]:
    scores = weights["intents"] @ (weights["A"] @ sentence + weights["c"]) + weights["intents b"]
    return (np.exp(scores) / np.exp(scores).sum()).tolist()


def by_intent(prediction: Prediction) -> list[float]:
    return [confidence for _, confidence in sorted(prediction.ranking)]


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("steps", [0, 1, 2, 5])
@pytest.mark.parametrize("batch", [16, 3])
def test_a_support_is_fitted_by_the_steps_of_adamw(steps: int, batch: int):
    own, episode = learner(1, fitting={"steps": steps, "batch": batch, "seed": 4}), random_episode(1)
    body, labels = own.network.body, SupportLabels(episode.support)
    heads = oracle.empty_heads(body.width, len(labels.intents), len(labels.tags))
    adam = Adam(body_weights(body) | heads)
    for step in range(steps):
        utterances = drawn(episode.support, batch, np.random.default_rng([4, step]))
        assert len(utterances) == min(batch, len(episode.support)) or batch == 3
        _, gradients = oracle.joint_loss(adam.weights, told(body, utterances, labels.intents, labels.tags), 0.6)
        adam.step(gradients)
    found = own.adapt(episode.support).predict(asked(episode))
    for seen, prediction in zip(told(body, episode.query, labels.intents, labels.tags), found, strict=True):
        assert by_intent(prediction) == pytest.approx(shares(adam.weights, seen.sentence), abs=1e-6)


@pytest.mark.usefixtures("float64")
def test_the_first_step_moves_the_heads_by_their_rate_and_the_body_not_at_all():
    """Heads of nought pass no gradient on; each of their own weights goes against the sign of its gradient."""
    own, episode = learner(2, fitting={"steps": 1}), random_episode(2)
    body, labels = own.network.body, SupportLabels(episode.support)
    weights = body_weights(body) | oracle.empty_heads(body.width, len(labels.intents), len(labels.tags))
    _, gradients = oracle.joint_loss(weights, told(body, episode.support, labels.intents, labels.tags), 0.6)
    assert not gradients["A"].any()
    assert min(np.abs(gradients[name]).min() for name in ("intents", "intents b")) > 1e-5
    stepped = weights | {name: -0.1 * np.sign(gradients[name]) for name in ("intents", "intents b")}
    found = own.adapt(episode.support).predict(asked(episode))
    for seen, prediction in zip(told(body, episode.query, labels.intents, labels.tags), found, strict=True):
        assert by_intent(prediction) == pytest.approx(shares(stepped, seen.sentence), rel=1e-3)


def test_more_steps_fit_the_support_better():
    episode = random_episode(0)
    losses = []
    for steps in (0, 5, 20, 80):
        found = learner(fitting={"steps": steps}).adapt(episode.support).predict([u.sentence for u in episode.support])
        ranked = [dict(prediction.ranking) for prediction in found]
        losses.append(
            -sum(math.log(own[u.intent]) for own, u in zip(ranked, episode.support, strict=True)) / len(ranked)
        )
    assert losses[0] == pytest.approx(math.log(3))
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.2 * losses[0]


def test_adapting_tunes_a_copy_and_gives_the_same_every_time():
    own, episode = learner(dropout=0.5), random_episode(0)
    prepared(own, everything(episode))
    own.loss(episode)  # leaves the network in training
    before = weights_of(own.network)
    first, second = (own.adapt(episode.support) for _ in range(2))
    assert first.predict(asked(episode)) == second.predict(asked(episode))
    assert same(weights_of(own.network), before)
    assert all(weight.grad is None for weight in own.network.parameters())
    with torch.no_grad():
        own.network.body.words.weight.mul_(-0.5)  # pyright: ignore
    again = first.predict(asked(episode)[::-1])[::-1]  # in another order, so encoded anew
    assert [p.tags for p in again] == [p.tags for p in second.predict(asked(episode))]


def test_another_seed_draws_other_batches():
    episode = random_episode(1)
    found = {
        seed: learner(fitting={"batch": 3, "seed": seed}).adapt(episode.support).predict(asked(episode))
        for seed in (0, 1)
    }
    assert found[0] != found[1]


@pytest.mark.parametrize(("decoding", "few"), [("joint", True), ("independent", False)])
def test_joint_decoding_takes_only_slots_shown_with_the_intent(decoding: str, few: bool):
    only_shown = True
    for number in range(6):
        episode = random_episode(number)
        own = learner(number, decoding=decoding, fitting={"steps": 40})
        for prediction in own.adapt(episode.support).predict(asked(episode)):
            shown = {slot.key for u in episode.support if u.intent == prediction.intent for slot in u.slots}
            only_shown &= {slot.key for slot in prediction.slots} <= shown
    assert only_shown == few
