from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.data.bio import utterance_tags
from handful.encoders.choose import TransformerConfig
from handful.learners.choose import build_trained
from handful.learners.explicit_joint import ExplicitJointConfig, ExplicitJointLearner
from handful.training.evaluate import evaluate_episode
from handful.types import Episode, Prediction, Slot, Utterance, Words
from oracles import explicit_joint as oracle

Build = Callable[..., ExplicitJointLearner]


@pytest.fixture
def build(tiny_bert: Path) -> Build:
    def built(*, keep_features: bool = True, remember: bool = False, **settings: Any) -> ExplicitJointLearner:
        config = ExplicitJointConfig(**{"dropout": 0.0, **settings})
        encoder = TransformerConfig(name=str(tiny_bert), frozen_layers=1)
        learner = build_trained(config, encoder, seed=3, cache=None, remember=remember, keep_features=keep_features)
        # Weights as they are drawn make vectors that are nearly alike; larger ones tell the variants apart.
        with torch.no_grad():
            for weight in learner.network.bilstm.parameters():
                weight.mul_(2.0)
        return learner

    return built


def utterance(text: str, intent: str, *slots: Slot) -> Utterance:
    return Utterance.from_words(text.split(), intent, slots)


EPISODE = Episode(
    support=(
        utterance("fly to boston", "Fly", Slot("Fly.city", 2, 3)),
        utterance("fly to rome now", "Fly", Slot("Fly.city", 2, 3), Slot("Fly.time", 3, 4)),
        utterance("boston rome !", "ask", Slot("ask.pair", 0, 2)),
        utterance("a b now to a b", "other"),
    ),
    query=(
        utterance("now fly rome", "Fly", Slot("Fly.time", 0, 1), Slot("Fly.city", 2, 3)),
        utterance("rome", "ask", Slot("ask.pair", 0, 1)),
        utterance("a to b b !", "other", Slot("other.unseen", 2, 4)),
    ),
    seed=0,
    index=0,
)


def hidden(learner: ExplicitJointLearner, sentence: Words) -> list[list[float]]:
    """H of one sentence by itself."""
    with torch.no_grad():
        return learner.network.eval()([sentence]).double().tolist()


def of_oracle(learner: ExplicitJointLearner, episode: Episode) -> tuple[float, ...]:
    config = learner.config

    def told(utterances: tuple[Utterance, ...]) -> list[Any]:
        return [(hidden(learner, u.sentence), u.intent, utterance_tags(u)) for u in utterances]

    def means(texts: list[str]) -> list[list[float]]:
        return [oracle.mean(hidden(learner, tuple(text.split()))) for text in texts]

    return oracle.losses(
        told(episode.support),
        told(episode.query),
        means(["fly", "ask", "other"]),
        means(["fly city", "fly time", "ask pair"]),
        direction=config.direction,
        reach=config.window,
        per_token=config.slot_mean == "token",
        temperature=config.temperature,
        cosine=config.similarity == "cosine",
    )


@pytest.mark.parametrize(
    ("direction", "window", "slot_mean", "similarity"),
    [
        *product(["both", "intent-to-slot", "slot-to-intent"], [0, 1], ["token"], ["cosine"]),
        ("both", 2, "utterance", "inner"),
    ],
)
def test_losses_are_those_of_the_paper(build: Build, direction: str, window: int, slot_mean: str, similarity: str):
    learner = build(direction=direction, window=window, slot_mean=slot_mean, similarity=similarity, temperature=0.5)
    found = learner.losses(EPISODE).numbers()
    assert list(found.values()) == pytest.approx(of_oracle(learner, EPISODE), rel=1e-4, abs=1e-5)
    assert min(found.values()) > 1e-3, "an episode in which every term has something to say"


def test_the_total_is_weighed_by_the_settings(build: Build):
    learner = build(slot_weight=0.5, intent_contrast_weight=0.25, slot_contrast_weight=0.125)
    expected = oracle.total(of_oracle(learner, EPISODE), 0.5, 0.25, 0.125)
    assert learner.loss(EPISODE).total.item() == pytest.approx(expected, rel=1e-4)


def test_gradients_reach_every_trained_weight(build: Build):
    learner = build()
    learner.loss(EPISODE).total.backward()
    for name, weight in learner.network.named_parameters():
        assert weight.grad is not None, name
        # The bias of the keys shifts all of a row's scores alike, so no loss can depend on it.
        assert weight.grad.any() or name.endswith("key.bias"), name


def test_losses_are_the_same_with_and_without_the_cache(build: Build):
    kept, anew = build(), build(keep_features=False)
    list(kept.prepare([*EPISODE.support, *EPISODE.query]))
    for _ in range(2):
        assert kept.losses(EPISODE).numbers() == pytest.approx(anew.losses(EPISODE).numbers(), rel=1e-5)


def test_dropout_follows_the_seed(build: Build):
    learner = build(dropout=0.3)
    losses = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        losses.append(learner.loss(EPISODE).total.item())
    assert losses[0] == losses[1] != losses[2]


SENTENCES = st.lists(
    st.lists(
        st.sampled_from(["fly", "to", "boston", "rome", "now", "a", "b", "!", "unknown"]), min_size=1, max_size=30
    ).map(tuple),
    min_size=1,
    max_size=5,
)


@settings(deadline=None, max_examples=30)
@given(SENTENCES)
def test_an_utterance_alone_or_in_any_batch_gives_the_same_numbers(
    tiny_learner: ExplicitJointLearner, batch: list[Words]
):
    """Sentences of up to 30 words, beyond the tiny encoder's 16 positions, so that windows are among them."""
    with torch.no_grad():
        network = tiny_learner.network.eval()
        together = network(batch).split([len(words) for words in batch])
        for words, rows in zip(batch, together, strict=True):
            assert rows.numpy() == pytest.approx(network([words]).numpy(), abs=2e-6)
    adapted = tiny_learner.adapt(EPISODE.support)
    for words, prediction in zip(batch, adapted.predict(batch), strict=True):
        (alone,) = adapted.predict([words])
        assert alone.tags == prediction.tags
        assert alone.confidence == pytest.approx(prediction.confidence, abs=1e-4)


@pytest.fixture(scope="module")
def tiny_learner(tiny_bert: Path) -> ExplicitJointLearner:
    encoder = TransformerConfig(name=str(tiny_bert), frozen_layers=1)
    return build_trained(ExplicitJointConfig(window=1), encoder, seed=0, cache=None, remember=False)


def test_the_intent_is_that_of_the_nearest_prototype(build: Build):
    learner = build()
    slots = [oracle.mean(hidden(learner, tuple(text.split()))) for text in ("fly city", "fly time", "ask pair")]

    def vector(sentence: Words) -> list[float]:
        return oracle.mean([oracle.attended(word, slots) for word in hidden(learner, sentence)])

    prototypes = oracle.prototypes([vector(u.sentence) for u in EPISODE.support], [u.intent for u in EPISODE.support])
    for u, prediction in zip(EPISODE.query, predict(learner, EPISODE), strict=True):
        distances = {name: oracle.squared_distance(vector(u.sentence), p) for name, p in prototypes.items()}
        assert prediction.intent == min(distances, key=lambda name: distances[name])
        expected = np.exp(-oracle.prototype_loss(vector(u.sentence), prediction.intent, prototypes))
        assert prediction.confidence == pytest.approx(expected, rel=1e-3)


def predict(learner: ExplicitJointLearner, episode: Episode) -> list[Any]:
    return learner.adapt(episode.support).predict([u.sentence for u in episode.query])


def test_joint_decoding_takes_only_slots_of_the_intent_and_independent_decoding_any(build: Build):
    joint, independent = build(), build(decoding="independent")
    for prediction in predict(joint, EPISODE):
        assert all(slot.label.startswith(f"{prediction.intent}.") for slot in prediction.slots)
    labels = [oracle.mean(hidden(independent, (text,))) for text in ("fly", "ask", "other")]
    vectors = [oracle.attended(word, labels) for u in EPISODE.support for word in hidden(independent, u.sentence)]
    prototypes = oracle.prototypes(vectors, [tag for u in EPISODE.support for tag in utterance_tags(u)])
    for u, prediction in zip(EPISODE.query, predict(independent, EPISODE), strict=True):
        words = [oracle.attended(word, labels) for word in hidden(independent, u.sentence)]
        nearest = [min(prototypes, key=lambda tag, w=w: oracle.squared_distance(w, prototypes[tag])) for w in words]
        assert list(prediction.tags) == nearest


def test_predictions_never_see_the_labels_of_the_query(build: Build):
    learner = build(remember=True)
    wrong = tuple(
        replace(u, intent=other.intent, slots=(Slot("made.up", 0, 1),))
        for u, other in zip(EPISODE.query, (EPISODE.query[1], EPISODE.query[2], EPISODE.query[0]), strict=True)
    )
    told = []
    for episode in (EPISODE, replace(EPISODE, query=wrong)):
        watched = Watched(learner)
        told.append((evaluate_episode(watched, episode), watched.calls))
    (right_score, (strict, released)), (wrong_score, (strict_again, released_again)) = told
    assert strict == strict_again
    assert strict[0] is None, "the strict scorer's predictions get no candidates"
    assert released[0] != released_again[0], "the released scorer's do, and from the query's labels"
    assert right_score != wrong_score


class Watched:
    """A learner that notes what an evaluation asks of it, and what it answers."""

    def __init__(self, learner: ExplicitJointLearner) -> None:
        self._learner, self.config = learner, learner.config
        self.calls: list[tuple[Set[str] | None, list[Prediction]]] = []

    def adapt(self, support: Sequence[Utterance]) -> Watched:
        self._adapted = self._learner.adapt(support)
        return self

    def predict(self, sentences: Sequence[Words], *, tag_candidates: Set[str] | None = None) -> list[Prediction]:
        self.calls.append((tag_candidates, self._adapted.predict(sentences, tag_candidates=tag_candidates)))
        return self.calls[-1][1]


def test_what_is_remembered_is_forgotten_when_the_weights_change(build: Build):
    learner, fresh = build(remember=True), build()
    before = predict(learner, EPISODE)
    learner.loss(EPISODE).total.backward()
    with torch.no_grad():
        for mine, other in zip(learner.network.parameters(), fresh.network.parameters(), strict=True):
            mine.add_(mine.grad if mine.grad is not None else 0.0, alpha=-1.0)
            other.copy_(mine)
    after = predict(learner, EPISODE)
    assert after == predict(fresh, EPISODE)
    assert after != before


def test_a_description_takes_the_place_of_the_name(build: Build):
    plain = build()
    described = build(descriptions={"Fly": "rome rome now", "Fly.city": "to"})
    assert plain.losses(EPISODE).numbers() != pytest.approx(described.losses(EPISODE).numbers(), rel=1e-3)
    same = build(descriptions={"Fly": "fly", "Fly.city": "fly city"})
    assert plain.losses(EPISODE).numbers() == pytest.approx(same.losses(EPISODE).numbers(), rel=1e-6)


def test_a_support_without_slots_and_one_without_o_are_learnt_from_and_predicted(build: Build):
    for direction in ("both", "slot-to-intent", "intent-to-slot"):
        learner = build(direction=direction)
        bare = Episode((utterance("fly", "a"), utterance("to rome", "b")), (utterance("rome", "b"),), 0, 0)
        full = Episode(
            (utterance("fly", "a", Slot("x", 0, 1)), utterance("rome", "b", Slot("y", 0, 1))),
            (utterance("to rome", "b"),),
            0,
            0,
        )
        for episode in (bare, full):
            loss = learner.loss(episode)
            loss.total.backward()
            assert torch.isfinite(loss.total)
            assert len(predict(learner, episode)) == 1
        assert predict(learner, bare)[0].slots == ()
    assert build().adapt(EPISODE.support).predict([]) == []
