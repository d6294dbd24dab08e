"""Episodes of domain sets: some classes say nothing of intents, some sets nothing of slots."""

from __future__ import annotations

import pytest
import torch

from handful.types import Episode, Slot
from learners.made_up import SUPPORT, made_up, utterance

BARE = (
    utterance("rome fly", "nothing", Slot("city", 0, 1)),
    utterance("now to boston", "nothing", Slot("time", 0, 1), Slot("city", 2, 3)),
)
QUERY = (utterance("fly boston now", "Fly", Slot("city", 1, 2)), utterance("b b", "other"))
BARE_QUERY = (utterance("boston !", "nothing", Slot("city", 0, 1)),)


def parts(episode: Episode) -> dict[str, float]:
    return dict(made_up().loss(episode).parts)


def test_a_class_of_slots_alone_has_no_intent_loss_and_no_say_in_that_of_others():
    whole = Episode((*SUPPORT, *BARE), (*QUERY, *BARE_QUERY), 0, 0)
    marked = Episode(whole.support, whole.query, 0, 0, slots_only=frozenset({"nothing"}))
    without = Episode(SUPPORT, QUERY, 0, 0)
    assert parts(marked)["intent"] == pytest.approx(parts(without)["intent"], abs=1e-9)
    assert parts(marked)["intent"] != pytest.approx(parts(whole)["intent"], rel=1e-3)
    assert parts(marked)["slots"] == pytest.approx(parts(whole)["slots"], abs=1e-9)
    assert parts(marked)["slots"] != pytest.approx(parts(without)["slots"], rel=1e-3)


def test_an_episode_of_slots_alone_has_no_intent_loss():
    learner = made_up()
    loss = learner.loss(Episode(BARE, BARE_QUERY, 0, 0, slots_only=frozenset({"nothing"})))
    loss.total.backward()
    assert (loss.parts["intent"], loss.total.item()) == (0, pytest.approx(loss.parts["slots"]))
    assert all(
        weight.grad is None or bool(torch.isfinite(weight.grad).all()) for weight in learner.network.parameters()
    )


def test_an_episode_without_slots_has_no_slot_loss():
    learner = made_up()
    loss = learner.loss(Episode(SUPPORT, QUERY, 0, 0, has_slots=False))
    loss.total.backward()
    assert (loss.parts["slots"], loss.total.item()) == (0, pytest.approx(loss.parts["intent"]))
    assert loss.parts["intent"] == pytest.approx(parts(Episode(SUPPORT, QUERY, 0, 0))["intent"])
    assert learner.network.views.weight.grad is None, "what scores slots learns nothing"
    assert learner.network.no_slot.grad is None
