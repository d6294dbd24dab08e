from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from handful.errors import DataError
from handful.learners.fomaml import FomamlConfig, FomamlLearner, InnerConfig
from handful.learners.heads import FittingConfig
from handful.learners.support import SupportLabels
from handful.learners.tuning import drawn
from handful.training.config import load_config
from handful.types import Episode, Utterance, Words
from learners.linear_network import body_weights, linear_network, random_episode, same, told, weights_of
from oracles import baselines as oracle

pytestmark = pytest.mark.usefixtures("one_thread")

RATES = {"rate": 0.4, "heads_rate": 0.7}
BY_HAND = {
    "words.weight": "A",
    "words.bias": "c",
    "intents.weight": "intents",
    "intents.bias": "intents b",
    "tags.weight": "tags",
    "tags.bias": "tags b",
}


def learner(number: int = 0, /, dropout: float = 0.0, **fitting: Any) -> FomamlLearner:
    settings = InnerConfig.model_validate({"steps": 3, **RATES, **fitting})
    return FomamlLearner(linear_network(number, dropout=dropout), FomamlConfig(fitting=settings, slot_weight=0.6))


class Case:
    """A learner and an episode, and what the oracle needs of both."""

    def __init__(self, number: int, /, **fitting: Any) -> None:
        self.learner, self.episode = learner(number, **fitting), random_episode(number)
        self.labels = SupportLabels(self.episode.support)
        self.support, self.query = self.told(self.episode.support), self.told(self.episode.query)
        width = self.learner.network.width
        heads = oracle.empty_heads(width, len(self.labels.intents), len(self.labels.tags))
        self.theta = body_weights(self.learner.network) | heads

    def told(self, utterances: Sequence[Utterance]) -> list[oracle.Told]:
        return told(self.learner.network, utterances, self.labels.intents, self.labels.tags)

    def fitted(self, theta: oracle.Weights, steps: int) -> oracle.Weights:
        return oracle.inner_steps(theta, self.support, steps, slot_weight=0.6, **RATES)


def asked(episode: Episode) -> list[Words]:
    return [u.sentence for u in episode.query]


def differences(function: Callable[[oracle.Weights], float], weights: oracle.Weights, name: str) -> np.ndarray:
    """Of a function at `weights`, in every number of one of them, by central differences."""
    found = np.zeros_like(weights[name])
    for place in np.ndindex(found.shape):
        step = np.zeros_like(found)
        step[place] = 1e-5
        sides = [function(weights | {name: weights[name] + sign * step}) for sign in (1, -1)]
        found[place] = (sides[0] - sides[1]) / 2e-5
    return found


# -- inner steps -------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("steps", [0, 1, 3])
def test_inner_steps_are_gradient_descent_on_body_and_heads(seed: int, steps: int):
    case = Case(seed, steps=steps)
    body, heads = case.learner.fit(case.episode.support, case.labels)
    expected = case.fitted(case.theta, steps)
    for name, weight in (body | heads).items():
        assert weight.numpy() == pytest.approx(expected[BY_HAND[name]], abs=1e-6), name
    # Heads of nought pass no gradient on: in the first step only they move.
    assert bool(np.abs(expected["A"] - case.theta["A"]).max() > 1e-3) == (steps > 1)


@pytest.mark.usefixtures("float64")
def test_a_large_support_is_fitted_in_batches_that_the_seed_draws():
    """Every step has a batch of its own, of three of the support's utterances."""
    weights: list[oracle.Weights] = []
    for seed in (5, 6):
        case = Case(1, batch=3, seed=seed)
        assert len(case.episode.support) > 3
        batches = [drawn(case.episode.support, 3, np.random.default_rng([seed, step])) for step in range(3)]
        assert 0 < len(batches[0]) <= 3
        assert batches[0] != batches[1] or batches[1] != batches[2]
        expected = case.theta
        for batch in batches:
            expected = oracle.inner_steps(expected, case.told(batch), 1, slot_weight=0.6, **RATES)
        found, again = (case.learner.fit(case.episode.support, case.labels) for _ in range(2))
        for body, heads in (found, again):
            for name, weight in (body | heads).items():
                assert weight.numpy() == pytest.approx(expected[BY_HAND[name]], abs=1e-6), name
        assert same(found[0] | found[1], again[0] | again[1])
        weights.append(expected)
    assert np.abs(weights[0]["tags"] - weights[1]["tags"]).max() > 1e-3, "another seed, other batches"


def test_a_frozen_weight_takes_no_step():
    own, episode = learner(), random_episode(0)
    own.network.words.bias.requires_grad_(False)  # pyright: ignore
    body, _ = own.fit(episode.support, SupportLabels(episode.support))
    assert set(body) == {"words.weight"}


# -- the outer gradient ------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("steps", [0, 1, 3])
def test_the_gradient_that_reaches_theta_is_the_one_computed_by_hand(seed: int, steps: int):
    case = Case(seed, steps=steps)
    found = case.learner.loss(case.episode)
    loss, gradients = oracle.fomaml(
        case.theta, case.support, case.query, steps=steps, slot_weight=0.6, rate=0.4, heads_rate=0.7
    )
    assert found.total.item() == pytest.approx(loss, abs=1e-6)
    assert dict(found.parts) == {"query": found.total.item()}
    found.total.backward()
    for name, weight in case.learner.network.named_parameters():
        assert weight.grad is not None
        assert weight.grad.numpy() == pytest.approx(gradients[BY_HAND[name]], abs=1e-6), name
        assert bool(weight.grad.abs().max() > 1e-3) == (steps > 0)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("name", ["A", "c"])
def test_the_gradient_is_of_first_order_and_not_of_second(name: str):
    """Finite differences at φ_K give it; those through the inner steps, from θ, give something else."""
    case = Case(0)
    case.learner.loss(case.episode).total.backward()
    gradients = {BY_HAND[own]: weight.grad for own, weight in case.learner.network.named_parameters()}
    found = gradients[name]
    assert found is not None

    def query_loss(weights: oracle.Weights) -> float:
        return oracle.joint_loss(weights, case.query, 0.6)[0]

    first = differences(query_loss, case.fitted(case.theta, 3), name)
    second = differences(lambda theta: query_loss(case.fitted(theta, 3)), case.theta, name)
    assert found.numpy() == pytest.approx(first, abs=1e-6)
    assert np.abs(found.numpy() - second).max() > 0.1 * np.abs(second).max()


def test_words_whose_tag_the_support_lacks_teach_nothing():
    """Their sentence teaches all the same, by its intent."""
    own, episode = learner(), random_episode(0)
    last = episode.query[-1]
    assert {slot.label for slot in last.slots} == {"unseen"}
    whole = own.loss(replace(episode, query=(last,))).total.item()
    case = Case(0)
    weights = case.fitted(case.theta, 3)
    (seen,) = case.told([last])
    assert list(seen.tags[:2]) == [oracle.ABSENT] * 2
    only_known = seen._replace(words=seen.words[2:], tags=seen.tags[2:])
    assert whole == pytest.approx(oracle.joint_loss(weights, [only_known], 0.6)[0], rel=1e-4)


# -- adapting ----------------------------------------------------------------------------------------------------------


def test_neither_adapting_nor_the_loss_touches_the_weights():
    own, episode = learner(), random_episode(0)
    before = weights_of(own.network)
    own.adapt(episode.support).predict(asked(episode))
    own.loss(episode)
    assert same(weights_of(own.network), before)
    assert all(weight.grad is None for weight in own.network.parameters())


@pytest.mark.parametrize("steps", [0, 3])
def test_predictions_are_those_of_the_fitted_weights(steps: int):
    case = Case(2, steps=steps)
    weights = case.fitted(case.theta, steps)
    for seen, prediction in zip(
        case.query, case.learner.adapt(case.episode.support).predict(asked(case.episode)), strict=True
    ):
        scores = weights["intents"] @ (weights["A"] @ seen.sentence + weights["c"]) + weights["intents b"]
        shares = np.exp(scores) / np.exp(scores).sum()
        expected = dict(zip(case.labels.intents, shares, strict=True))
        assert {intent.name: intent.confidence for intent in prediction.ranking} == pytest.approx(expected, rel=1e-4)


def test_what_was_adapted_stays_as_it_is_when_training_goes_on():
    own, episode = learner(), random_episode(0)
    adapted = own.adapt(episode.support)
    before = adapted.predict(asked(episode))
    with torch.no_grad():
        own.network.words.weight.mul_(-0.5)  # pyright: ignore
    assert adapted.predict(asked(episode)[::-1])[::-1] == before, "asked in another order, so encoded anew"
    assert own.adapt(episode.support).predict(asked(episode)) != before


def test_dropout_is_for_training_alone():
    own, episode = learner(dropout=0.5), random_episode(0)
    losses = []
    for seed in (0, 1, 0):
        torch.manual_seed(seed)
        losses.append(own.loss(episode).total.item())
    assert losses[0] == losses[2] != losses[1]
    first, second = (own.adapt(episode.support) for _ in range(2))
    own.loss(episode)  # leaves the network in training
    assert first.predict(asked(episode)) == second.predict(asked(episode))


# -- settings ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["steps", "rate", "heads_rate"])
def test_a_file_that_sets_one_of_the_inner_settings_keeps_the_others(key: str, tmp_path: Path):
    (tmp_path / "run.yml").write_text(f"data: atis\nlearner: {{name: fomaml, fitting: {{{key}: 2}}}}\n")
    found = load_config(tmp_path / "run.yml").learner
    assert isinstance(found, FomamlConfig)
    assert found.fitting == InnerConfig().model_copy(update={key: 2})
    assert InnerConfig().rate > FittingConfig().rate, "plain descent wants larger rates than AdamW"
    assert InnerConfig().heads_rate > FittingConfig().heads_rate


@pytest.mark.parametrize("name", ["fomaml", "finetune"])
def test_a_batch_of_one_is_refused(name: str, tmp_path: Path):
    """Examples of an intent are drawn two at a time: nothing would ever fit."""
    (tmp_path / "run.yml").write_text(f"data: atis\nlearner: {{name: {name}, fitting: {{batch: 1}}}}\n")
    with pytest.raises(DataError, match=r"learner\.fitting\.batch: input should be greater than or equal to 2"):
        load_config(tmp_path / "run.yml")


@pytest.mark.parametrize("seed", range(3))
def test_the_smallest_batch_is_never_empty(seed: int):
    own, episode = learner(batch=2, seed=seed, steps=6), random_episode(seed)
    assert np.isfinite(own.loss(episode).total.item())
