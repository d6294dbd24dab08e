from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.encoders.choose import TransformerConfig
from handful.errors import ConfigError, TrainingError
from handful.learners.choose import build_trained
from handful.learners.joint_spans import JointSpansConfig, JointSpansLearner
from handful.learners.span_support import SpanSupport
from handful.types import Episode, Slot, Utterance
from learners.made_up import Case, made_up, utterance

Build = Callable[..., JointSpansLearner]

SUPPORT = (
    utterance("fly to boston", "Fly", Slot("Fly.city", 2, 3)),
    utterance("fly to rome now", "Fly", Slot("Fly.city", 2, 3), Slot("Fly.time", 3, 4)),
    utterance("boston rome !", "ask", Slot("ask.pair", 0, 2)),
    utterance("a b now", "other"),
)
QUERY = (
    utterance("now fly rome", "Fly", Slot("Fly.time", 0, 1), Slot("Fly.city", 2, 3)),
    utterance("rome", "ask", Slot("ask.pair", 0, 1)),
    utterance("a to b b !", "other", Slot("other.unseen", 2, 4)),
)
EPISODE = Episode(SUPPORT, QUERY, 0, 0)


@pytest.fixture
def build(tiny_bert: Path) -> Build:
    def built(*, keep_features: bool = True, remember: bool = False, **settings: Any) -> JointSpansLearner:
        config = JointSpansConfig(**{"dropout": 0.0, "width": 8, **settings})
        encoder = TransformerConfig(name=str(tiny_bert), frozen_layers=1)
        learner = build_trained(config, encoder, seed=3, cache=None, remember=remember, keep_features=keep_features)
        with torch.no_grad():  # border scores begin at nought; here they have something to say
            learner.network.views.weight[-4:].normal_(generator=torch.Generator().manual_seed(0))
        return learner

    return built


# -- the loss ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("support_weight", [0.0, 0.5, 2.0])
def test_the_loss_is_that_of_all_segmentations(support_weight: float):
    learner = made_up(support_weight=support_weight)
    found = learner.loss(EPISODE)
    expected = Case(learner, SUPPORT).loss(QUERY, support_weight)
    assert found.parts == pytest.approx(expected, abs=1e-6)
    assert found.total.item() == pytest.approx(sum(expected.values()), abs=1e-6)
    assert min(expected.values()) > 0.1, "both parts have something to say"


WORDS = ("fly", "to", "boston", "rome", "now", "a", "b", "!")


@st.composite
def utterances(draw: Callable[..., Any]) -> Utterance:
    words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4))
    slots, reached = [], 0
    while reached < len(words):
        size, label = draw(st.integers(1, 3)), draw(st.sampled_from(["", "city", "time"]))
        end = min(reached + size, len(words))
        if label:
            slots.append(Slot(label, reached, end))
        reached = end
    return utterance(" ".join(words), draw(st.sampled_from(["A", "B", "C"])), *slots)


@settings(deadline=None, max_examples=40)
@given(st.lists(utterances(), min_size=1, max_size=4), st.integers(0, 1000))
def test_the_loss_of_any_support_is_that_of_each_utterance_told_by_the_others(support: list[Utterance], seed: int):
    """Of one utterance, of one intent, without slots, and with slots that intents share."""
    learner = made_up(seed)
    assert learner.support_loss(support).parts == pytest.approx(Case(learner, support).loss((), 1.0), abs=1e-6)


def test_the_loss_of_the_real_network_is_that_of_all_segmentations(build: Build):
    learner = build()
    expected = Case(learner, SUPPORT).loss(QUERY, 0.5)
    assert learner.loss(EPISODE).parts == pytest.approx(expected, rel=1e-4)
    assert min(expected.values()) > 0.1


@pytest.mark.parametrize("part", ["names", "nearest", "spans", "neighbours", "types", "borders"])
def test_a_part_that_is_left_out_says_nothing(part: str, build: Build):
    learner, whole = build(without=(part,)), build()
    found = learner.loss(EPISODE).parts
    # At the temperature that stands for the mean, single precision has three digits left.
    assert found == pytest.approx(Case(learner, SUPPORT).loss(QUERY, 0.5), rel=1e-3)
    assert found != pytest.approx(whole.loss(EPISODE).parts, rel=1e-3)


def test_an_utterance_is_no_example_of_itself():
    """The mean over utterances, each asked of a support that has never held it. Every label is shown twice."""
    support = (
        *SUPPORT[:2],
        utterance("to rome fly boston !", "Fly", Slot("Fly.time", 1, 3), Slot("Fly.city", 3, 4)),
        *SUPPORT[2:],
        utterance("now boston", "ask", Slot("ask.pair", 1, 2)),
        utterance("to", "other"),
    )
    learner = made_up(support_weight=0.0)
    apart = [
        learner.loss(Episode((*support[:number], *support[number + 1 :]), (asked,), 0, 0)).parts
        for number, asked in enumerate(support)
    ]
    for name, value in learner.support_loss(support).parts.items():
        assert value == pytest.approx(sum(parts[name] for parts in apart) / len(support), abs=1e-9)


def test_what_cannot_be_told_counts_as_outside():
    """A label that the support lacks, and a span longer than any that is looked at."""
    learner, long = made_up(), utterance("fly to " + " ".join(["rome"] * 9), "Fly", Slot("Fly.city", 2, 11))
    for asked in (QUERY[2], long):
        with_slot, without = (
            learner.loss(Episode(SUPPORT, (u,), 0, 0)).parts["slots"] for u in (asked, replace(asked, slots=()))
        )
        assert with_slot == without


def test_a_label_that_the_support_shows_with_another_intent_alone_counts_as_outside():
    learner, asked = made_up(support_weight=0.0), utterance("fly rome", "other", Slot("Fly.city", 1, 2))
    expected = Case(learner, SUPPORT).loss((asked,), 0.0)
    assert learner.loss(Episode(SUPPORT, (asked,), 0, 0)).parts == pytest.approx(expected, abs=1e-6)


def test_spans_as_long_as_the_supports_longest_are_learnt():
    text = " ".join(["rome"] * 9)
    support = (utterance(text, "A", Slot("x", 0, 9)), utterance("to", "B"))
    query = utterance(f"{text} to", "A", Slot("x", 0, 9))
    learner = made_up()
    assert learner.loss(Episode(support, (query,), 0, 0)).parts == pytest.approx(
        Case(learner, support).loss((query,), 0.5), abs=1e-6
    )
    with_slot, without = (
        learner.loss(Episode(support, (u,), 0, 0)).parts["slots"] for u in (query, replace(query, slots=()))
    )
    assert with_slot != without


def test_gradients_reach_every_trained_weight(build: Build):
    learner = build()
    learner.loss(EPISODE).total.backward()
    for name, weight in learner.network.named_parameters():
        assert weight.grad is not None, name
        assert torch.isfinite(weight.grad).all(), name
        # The bias of the keys shifts all of a row's scores alike, so no loss can depend on it.
        assert weight.grad.any() or name.endswith("key.bias"), name


def test_losses_are_the_same_with_and_without_the_cache(build: Build):
    kept, anew = build(), build(keep_features=False)
    assert list(kept.prepare([*SUPPORT, *QUERY])) == [14], "seven sentences, three intents and four slots"
    assert list(kept.prepare([])) == []
    for _ in range(2):
        assert kept.loss(EPISODE).parts == pytest.approx(anew.loss(EPISODE).parts, rel=1e-5)


def test_dropout_follows_the_seed(build: Build):
    learner = build(dropout=0.3)
    losses = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        losses.append(learner.loss(EPISODE).total.item())
    assert losses[0] == losses[1] != losses[2]


# -- what the support says ---------------------------------------------------------------------------------------------


def test_labels_are_read_as_words_without_the_intent_before_them():
    support = (
        utterance("fly rome now", "BookFlight", Slot("BookFlight.fromloc.city_name", 1, 2), Slot("time", 2, 3)),
        utterance("a rome", "ask", Slot("time", 0, 1), Slot("city", 1, 2, role="to")),
    )
    shown = SpanSupport(support, {"time": "when it is", "ask": "a question"})
    assert shown.intent_texts == [("book", "flight"), ("a", "question")]
    assert shown.labels.slots == ["BookFlight.fromloc.city_name", "city:to", "time"]
    assert shown.slot_texts == [("from", "location", "city", "name"), ("city", "to"), ("when", "it", "is")]
    assert shown.open_slots.tolist() == [[True, False, True], [False, True, True]]


def test_the_longest_span_is_eight_words_or_what_the_support_shows():
    long = utterance(" ".join("abcdefghijk"), "A", Slot("x", 1, 11))
    assert SpanSupport(SUPPORT, {}).longest == 8
    assert SpanSupport((*SUPPORT, long), {}).longest == 10
    with pytest.raises(ConfigError, match="the support set is empty"):
        SpanSupport((), {})


def test_a_description_takes_the_place_of_the_name():
    plain, intent, slot, same = (
        made_up(descriptions=descriptions).loss(EPISODE).parts
        for descriptions in ({}, {"ask": "rome rome now"}, {"ask.pair": "to"}, {"ask": "ask", "ask.pair": "pair"})
    )
    assert intent["intent"] != pytest.approx(plain["intent"], rel=1e-3)
    assert (intent["slots"], slot["intent"]) == (plain["slots"], plain["intent"])
    assert slot["slots"] != pytest.approx(plain["slots"], rel=1e-3)
    assert same == plain


# -- what is seen ------------------------------------------------------------------------------------------------------


def test_what_is_remembered_is_forgotten_when_the_weights_change(build: Build):
    learner, fresh = build(remember=True), build()
    sentences = [u.sentence for u in QUERY]
    before = learner.adapt(SUPPORT).predict(sentences)
    learner.loss(EPISODE).total.backward()
    with torch.no_grad():
        for mine, other in zip(learner.network.parameters(), fresh.network.parameters(), strict=True):
            mine.add_(mine.grad if mine.grad is not None else 0.0, alpha=-0.01)
            other.copy_(mine)
    after = learner.adapt(SUPPORT).predict(sentences)
    assert after == fresh.adapt(SUPPORT).predict(sentences)
    assert after != before


def test_a_sentence_is_seen_the_same_alone_and_among_others(build: Build):
    """Sentences of up to 20 words, beyond the tiny encoder's 16 positions, so that windows are among them."""
    learner = build()
    batch = [("fly",), ("now", "fly", "to", "boston", "rome", "!"), ("a", "b") * 10, ("rome",) * 7]
    for words, (rows, mean) in zip(batch, learner.see(batch), strict=True):
        ((alone, own),) = learner.see([words])
        assert rows.shape == (len(words), 16)
        assert rows == pytest.approx(alone, abs=5e-6)
        assert mean == pytest.approx(own, abs=5e-6)


def test_weights_out_of_range_are_told(build: Build):
    learner = build()
    with torch.no_grad():
        learner.network.views.weight[0, 0] = torch.nan
    with pytest.raises(TrainingError, match="the network's output is not finite"):
        learner.adapt(SUPPORT)


def test_a_twin_shares_what_is_frozen_and_nothing_that_is_trained(build: Build):
    learner = build()
    twin = learner.twin()
    mine, its = dict(learner.network.named_parameters()), dict(twin.network.named_parameters())
    assert mine.keys() == its.keys()
    assert all(torch.equal(weight, its[name]) for name, weight in mine.items())
    assert not {weight.data_ptr() for weight in mine.values()} & {weight.data_ptr() for weight in its.values()}
    assert twin.network.frozen is learner.network.frozen
    asked = [u.sentence for u in QUERY]
    assert twin.adapt(SUPPORT).predict(asked) == learner.adapt(SUPPORT).predict(asked)
