from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from handful.encoders.choose import TransformerConfig
from handful.errors import TrainingError
from handful.learners.choose import build_trained
from handful.learners.joint_spans import JointSpansConfig, JointSpansLearner
from handful.learners.tuning import TuningConfig, TuningStep, drawn, tuned, tuning
from handful.types import Utterance
from learners.made_up import SENTENCES, SUPPORT, utterance

Build = Callable[..., JointSpansLearner]
FAST = TuningConfig(steps=4, learning_rate=0.01)


@pytest.fixture
def build(tiny_bert: Path) -> Build:
    def built(*, tuning: TuningConfig | None = None, remember: bool = False, **settings: Any) -> JointSpansLearner:
        config = JointSpansConfig(**{"width": 8, **settings}, tuning=tuning or TuningConfig())
        encoder = TransformerConfig(name=str(tiny_bert), frozen_layers=1)
        return build_trained(config, encoder, seed=0, cache=None, remember=remember)

    return built


def weights(learner: JointSpansLearner) -> dict[str, torch.Tensor]:
    return {name: weight.detach().clone() for name, weight in learner.network.named_parameters()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    assert one.keys() == other.keys()
    return all(torch.equal(weight, other[name]) for name, weight in one.items())


def test_the_learner_that_is_tuned_stays_as_it_is(build: Build):
    learner = build(remember=True)
    before, said = weights(learner), learner.adapt(SUPPORT).predict(SENTENCES)
    after = tuned(learner, SUPPORT, FAST)
    assert same(weights(learner), before)
    assert all(weight.grad is None for weight in learner.network.parameters())
    assert learner.adapt(SUPPORT).predict(SENTENCES) == said
    moved = {name for name, weight in weights(after).items() if not torch.equal(weight, before[name])}
    # The bias of the keys shifts all of a row's scores alike: there is nothing to learn for it.
    assert {name for name in before if not name.endswith("key.bias")} <= moved


def test_the_same_seed_gives_the_same_weights_and_another_gives_others(build: Build):
    learner = build(dropout=0.2)
    first = weights(tuned(learner, SUPPORT, FAST))
    torch.manual_seed(99)  # whatever was drawn before
    assert same(weights(tuned(learner, SUPPORT, FAST)), first)
    assert not same(weights(tuned(learner, SUPPORT, FAST.model_copy(update={"seed": 1}))), first)


def test_without_dropout_a_small_support_leaves_nothing_to_chance(build: Build):
    learner = build(dropout=0.0)
    one, other = (tuned(learner, SUPPORT, FAST.model_copy(update={"seed": seed})) for seed in (0, 1))
    assert same(weights(one), weights(other))


def test_whoever_else_draws_numbers_is_not_disturbed(build: Build):
    learner = build(dropout=0.2)
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    steps = tuning(learner, SUPPORT, FAST)
    next(steps)
    drawn_between = torch.rand(3)
    list(steps)
    assert torch.equal(drawn_between, expected)
    torch.manual_seed(5)
    tuned(learner, SUPPORT, FAST)
    assert torch.equal(torch.rand(3), expected)


def test_the_loss_falls(build: Build):
    learner = build(dropout=0.0)
    after = tuned(learner, SUPPORT, TuningConfig(steps=12, learning_rate=0.01))
    assert after.support_loss(SUPPORT).total.item() < 0.8 * learner.support_loss(SUPPORT).total.item()


def test_steps_are_told_one_by_one(build: Build):
    learner = build(dropout=0.0)
    steps = list(tuning(learner, SUPPORT, FAST))
    assert [(step.step, step.steps) for step in steps] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert steps[0] == TuningStep(1, 4, learner.support_loss(SUPPORT).total.item())
    assert steps[-1].loss < steps[0].loss


def test_new_weights_learn_faster_and_the_rate_falls_to_nought(build: Build):
    """Adam's first step moves a weight by its rate; of two steps the second has half of it."""
    learner, rate = build(dropout=0.0), 1e-4
    before = weights(learner)
    one = weights(tuned(learner, SUPPORT, TuningConfig(steps=1, learning_rate=rate, new_weights_rate=5)))
    farthest = {name: float((one[name] - before[name]).abs().max()) for name in before}
    for name, moved in farthest.items():
        assert moved <= 1.01 * (rate if name.startswith("words.") else 5 * rate), name
    assert farthest["views.weight"] == pytest.approx(5 * rate, rel=0.01)
    assert farthest["words.layers.0.output.dense.weight"] == pytest.approx(rate, rel=0.01)
    two = weights(tuned(learner, SUPPORT, TuningConfig(steps=2, learning_rate=rate, new_weights_rate=5)))
    assert max(float((two[name] - one[name]).abs().max()) for name in before) <= 5 * rate / 2 * 1.05


def test_adapting_tunes_a_copy_where_the_settings_say_so(build: Build):
    plain, tuned_on_it = build(evidence=0.0), build(evidence=0.0, tuning=FAST)
    before = weights(tuned_on_it)
    found = tuned_on_it.adapt(SUPPORT).predict(SENTENCES)
    assert found == tuned(plain, SUPPORT, FAST).adapt(SUPPORT).predict(SENTENCES)
    assert found != plain.adapt(SUPPORT).predict(SENTENCES)
    assert same(weights(tuned_on_it), before)


def test_any_support_can_be_tuned_on(build: Build):
    """One utterance, one word, no slots, one intent: each has something to be told by, if only its name."""
    for support in ([utterance("fly", "A")], [utterance("fly", "A"), utterance("to", "B")], list(SUPPORT[:2])):
        learner = build(tuning=FAST)
        (found,) = learner.adapt(support).predict([("fly",)])
        assert found.intent in {u.intent for u in support}


def test_a_loss_that_is_not_finite_is_told(build: Build):
    learner = build()
    with torch.no_grad():
        learner.network.scales.fill_(torch.nan)
    with pytest.raises(TrainingError, match=r"tuning step 1: the loss is nan; a smaller learning rate may help"):
        tuned(learner, SUPPORT, FAST)


# -- which utterances a step looks at ----------------------------------------------------------------------------------


def bot(*sizes: int) -> list[Utterance]:
    return [utterance(f"c{number} {place}", f"c{number}") for number, size in enumerate(sizes) for place in range(size)]


@given(st.lists(st.integers(2, 30), min_size=1, max_size=12), st.integers(1, 15).map(lambda half: 2 * half))
def test_a_step_takes_two_or_more_of_each_intent_and_no_more_than_the_limit(sizes: list[int], most: int):
    support = bot(*sizes)
    for seed in range(3):
        found = drawn(support, most, np.random.default_rng(seed))
        assert len(found) <= most
        assert max(Counter(found).values()) == 1
        assert [u for u in support if u in set(found)] == found, "in the support's own order"
        assert min(Counter(u.intent for u in found).values()) >= 2
        if len(support) <= most:
            assert found == support


@pytest.mark.parametrize(("sizes", "most"), [((4, 4, 4), 5), ((4, 4, 4, 1), 6)])
def test_no_intent_is_cut_down_to_one_example_at_the_limit(sizes: tuple[int, ...], most: int):
    """Alone among its like, an utterance could be told by the intent's name only."""
    for seed in range(20):
        found = Counter(u.intent for u in drawn(bot(*sizes), most, np.random.default_rng(seed)))
        assert all(count >= min(2, sizes[int(intent[1:])]) for intent, count in found.items())


def test_steps_look_at_other_utterances_and_in_time_at_all():
    support = bot(*[6] * 20)
    steps = [drawn(support, 10, np.random.default_rng([0, step])) for step in range(200)]
    assert steps[0] != steps[1]
    assert steps[0] == drawn(support, 10, np.random.default_rng([0, 0]))
    assert {u for step in steps for u in step} == set(support)
    assert {len(Counter(u.intent for u in step)) for step in steps} == {5}, "as many intents as fit"
