from __future__ import annotations

import json

import numpy as np
import pytest

from handful.learners.held_out import HeldOut
from handful.model.spans import unit_rows
from handful.parser.rejection import (
    AUTO,
    SCOPE_LINE,
    USUAL_LIKENESS,
    IntentScope,
    Rejection,
    fit_rejection,
    likeness_of_intents,
)
from handful.types import Prediction, Ranking, Utterance

Vectors = dict[str, np.ndarray]


def said(likeness: float | None, confidence: float, intent: str = "a") -> Prediction:
    ranking = Ranking((intent, "other"), (confidence, 1 - confidence))
    return Prediction(ranking, ("O",), (), (), likeness)


def vectors_of(rng: np.random.Generator, examples: dict[str, int], noise: float = 0.6) -> Vectors:
    """Of each intent's examples: around a middle of its own."""
    middles = rng.normal(size=(len(examples), 12))
    return {
        intent: unit_rows(middle / np.linalg.norm(middle) + noise * rng.normal(size=(count, 12)) / np.sqrt(12))
        for middle, (intent, count) in zip(middles, examples.items(), strict=True)
    }


def bot_of(vectors: Vectors) -> tuple[list[Utterance], HeldOut]:
    """Cosines as `held_out` has them; what the heads say of the examples is nothing that a rejection may read."""
    utterances = [Utterance.from_words(["hello"], intent) for intent, own in vectors.items() for _ in own]
    every = np.concatenate(list(vectors.values()))
    intents = np.array([utterance.intent for utterance in utterances])
    cosines = np.zeros((len(every), len(vectors)))
    for row, vector in enumerate(every):
        for column, intent in enumerate(vectors):
            others = (intents == intent) & (np.arange(len(every)) != row)
            cosines[row, column] = (every[others] @ vector).mean() if others.any() else 0.0
    return utterances, HeldOut(tuple(range(len(every))), np.full(cosines.shape, np.nan), (), cosines)


def pairwise(examples: np.ndarray) -> float:
    cosines = [a @ b for place, a in enumerate(examples) for other, b in enumerate(examples) if place != other]
    return float(np.mean(cosines))


@pytest.mark.parametrize("count", [2, 3, 10])
@pytest.mark.parametrize("seed", range(3))
def test_the_spread_is_the_length_of_the_examples_mean(seed: int, count: int):
    (examples,) = vectors_of(np.random.default_rng(seed), {"a": count}).values()
    scope = IntentScope(pairwise(examples), count)
    assert scope.spread == pytest.approx(np.linalg.norm(examples.mean(0)))


def test_the_usual_cosine_is_that_of_one_more_example():
    rng = np.random.default_rng(0)
    (many,) = vectors_of(rng, {"a": 3000}).values()
    for count in (1, 2, 5, 20):
        found = []
        for start in range(0, 2900, 29):
            mean = many[start : start + count].mean(0)
            found.append(mean @ many[start + count] / np.linalg.norm(mean))
        assert IntentScope(pairwise(many[:200]), count).usual_cosine == pytest.approx(np.mean(found), abs=0.03)


def test_an_intents_likeness_is_held_near_the_bots_and_that_near_what_is_usual():
    near, own = np.array([0.9] * 50 + [0.1]), np.array([0] * 50 + [1])
    many, one, none = likeness_of_intents(near, own, 3)
    of_bot = (50 * 0.9 + 0.1 + 5 * USUAL_LIKENESS) / (51 + 5)
    assert none == pytest.approx(of_bot)
    assert many == pytest.approx((50 * 0.9 + 20 * of_bot) / (50 + 20))
    assert one == pytest.approx((0.1 + 20 * of_bot) / (1 + 20))


def test_likeness_is_of_pairs_of_examples_and_one_alone_shows_nothing():
    vectors = vectors_of(np.random.default_rng(1), {"a": 4, "b": 6, "c": 1})
    found = fit_rejection(*bot_of(vectors), "abc")
    pairs = {intent: pairwise(vectors[intent]) for intent in "ab"}
    of_bot = (4 * pairs["a"] + 6 * pairs["b"] + 5 * USUAL_LIKENESS) / (4 + 6 + 5)
    assert found.of_intents["a"].likeness == pytest.approx((4 * pairs["a"] + 20 * of_bot) / 24)
    assert found.of_intents["c"].likeness == pytest.approx(of_bot)
    assert [found.of_intents[intent].examples for intent in "abc"] == [4, 6, 1]


def test_the_score_is_how_much_nearer_than_usual_and_how_sure():
    scope = IntentScope(0.5, 4)
    spread = np.sqrt((1 + 3 * 0.5) / 4)
    expected = np.sqrt(4 / (4 + 3)) * (10 * (0.4 / spread - 0.5 / spread) + np.log(0.7))
    assert Rejection({"a": scope}).score(said(0.4, 0.7)) == pytest.approx(expected)
    probability = Rejection({"a": scope}).in_scope_probability(said(0.4, 0.7))
    assert probability == pytest.approx(1 / (1 + np.exp(-SCOPE_LINE.slope * expected - SCOPE_LINE.shift)))


def test_what_is_like_the_examples_is_in_scope_and_what_is_not_is_not():
    vectors = vectors_of(np.random.default_rng(2), dict.fromkeys("abcd", 11))
    found = fit_rejection(*bot_of({intent: own[:10] for intent, own in vectors.items()}), "abcd")
    for intent, own in vectors.items():
        near = said(float((own[:10] @ own[10]).mean()), 0.9, intent)
        far = said(float((own[:10] @ -own[10]).mean()), 0.5, intent)
        assert found.in_scope_probability(near) > 0.7
        assert found.in_scope_probability(far) < 0.1
        assert not found.rejects(near)
        assert found.rejects(far)


def test_what_is_near_is_a_matter_of_the_bot():
    tight, loose = (
        fit_rejection(*bot_of(vectors_of(np.random.default_rng(3), {"a": 10, "b": 10}, noise)), "ab")
        for noise in (0.4, 1.5)
    )
    between = said(0.5, 0.9)
    assert tight.in_scope_probability(between) < loose.in_scope_probability(between)


def test_few_examples_make_nothing_certain():
    low, high = said(0.2, 0.5), said(0.9, 0.99)
    for likely, unlikely in ((1, 30), (2, 100)):
        few, many = (Rejection({"a": IntentScope(0.6, count)}) for count in (likely, unlikely))
        assert many.in_scope_probability(low) < few.in_scope_probability(low)
        assert many.in_scope_probability(high) > few.in_scope_probability(high)


def test_it_rises_with_likeness_and_with_confidence():
    rejection = fit_rejection(*bot_of(vectors_of(np.random.default_rng(2), dict.fromkeys("abcd", 5))), "abcd")
    by_likeness = [rejection.in_scope_probability(said(value, 0.8)) for value in np.linspace(-1, 1, 9)]
    by_confidence = [rejection.in_scope_probability(said(0.6, value)) for value in np.linspace(0.5, 1, 9)]
    for values in (by_likeness, by_confidence):
        assert values == sorted(values)
        assert 0 <= values[0] < values[-1] <= 1


def test_thresholds():
    rejection = Rejection()
    doubtful = said(USUAL_LIKENESS - 0.15, 0.8)
    sure = rejection.in_scope_probability(doubtful)
    assert AUTO < sure < 0.9
    assert not rejection.rejects(doubtful)
    assert not rejection.rejects(doubtful, "auto")
    assert rejection.rejects(doubtful, 0.9)
    assert not rejection.rejects(doubtful, 0.0)
    assert not rejection.rejects(said(-1.0, 0.5), "off")
    assert rejection.rejects(said(-1.0, 0.5))


@pytest.mark.parametrize("examples", [1, 5])
@pytest.mark.parametrize("intents", ["a", "ab"])
def test_small_bots_have_a_safe_default(intents: str, examples: int):
    vectors = vectors_of(np.random.default_rng(4), dict.fromkeys(intents, examples))
    found = fit_rejection(*bot_of(vectors), intents)
    usual = found.of_intents["a"]
    assert not found.rejects(said(usual.likeness, 0.9))
    assert found.rejects(said(0.0, 0.9))


def test_examples_that_are_all_alike_or_all_opposed_are_no_error():
    for likeness in (1.0, -1.0, 0.0):
        scope = IntentScope(likeness, 10)
        assert np.isfinite([scope.spread, scope.usual_cosine, Rejection({"a": scope}).score(said(0.5, 0.5))]).all()
    for likeness, examples in ((1.1, 5), (float("nan"), 5), (0.5, 0)):
        with pytest.raises(ValueError, match="likeness"):
            IntentScope(likeness, examples)


def test_a_learner_without_likeness_is_told():
    with pytest.raises(ValueError, match="no likeness"):
        Rejection().score(said(None, 0.9))


def test_it_can_be_kept_as_json():
    found = fit_rejection(*bot_of(vectors_of(np.random.default_rng(3), {"a": 4, "b": 2})), "ab")
    assert found.of_intents["a"] != found.of_intents["b"]
    assert Rejection.from_dict(json.loads(json.dumps(found.to_dict()))) == found
