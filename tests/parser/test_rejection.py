from __future__ import annotations

import json

import numpy as np
import pytest

from handful.learners.span_decoding import HeldOut
from handful.parser.calibration import Line
from handful.parser.rejection import (
    AUTO,
    EXPECTED_LINE,
    USUAL_LIKENESS,
    Rejection,
    fit_rejection,
    scope_scores,
    usual_likeness,
    without,
)
from handful.types import Prediction, Ranking, Utterance


def said(likeness: float | None, confidence: float, intent: str = "a") -> Prediction:
    ranking = Ranking((intent, "other"), (confidence, 1 - confidence))
    return Prediction(ranking, ("O",), (), (), likeness)


def slow_score(raw: np.ndarray, cosines: np.ndarray, usual: np.ndarray) -> float:
    best = max(range(len(raw)), key=lambda number: raw[number])
    share = np.exp(raw[best]) / sum(np.exp(value) for value in raw)
    return 10 * (cosines[best] - usual[best]) + np.log(share)


def bot_of(rng: np.random.Generator, examples: int, gap: float) -> tuple[list[Utterance], HeldOut]:
    """Examples of intents a, b, c and d, which are `gap` nearer to their own intent than to others."""
    intents = [number for number in range(4) for _ in range(examples)]
    cosines = rng.normal(0.4, 0.05, (len(intents), 4))
    cosines[np.arange(len(intents)), intents] += gap
    utterances = [Utterance.from_words(["hello"], "abcd"[number]) for number in intents]
    return utterances, HeldOut(tuple(range(len(intents))), 20 * cosines, (), cosines)


@pytest.mark.parametrize("seed", range(5))
def test_many_scores_at_once_are_those_of_predictions_one_by_one(seed: int):
    rng = np.random.default_rng(seed)
    scores, cosines, usual = rng.normal(0, 3, (20, 5)), rng.uniform(-1, 1, (20, 5)), rng.uniform(0, 1, 5)
    found = scope_scores(scores, cosines, usual)
    np.testing.assert_allclose(found, [slow_score(*rows, usual) for rows in zip(scores, cosines, strict=True)])
    shares = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    rejection = Rejection(of_intents={f"intent {number}": value for number, value in enumerate(usual.tolist())})
    for row, expected in enumerate(found):
        order = np.argsort(-shares[row], kind="stable")
        ranking = Ranking(tuple(f"intent {number}" for number in order), tuple(shares[row][order].tolist()))
        prediction = Prediction(ranking, ("O",), (), (), float(cosines[row, order[0]]))
        assert rejection.score(prediction) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_a_bot_without_the_examples_own_intent_is_a_bot_with_one_column_less(seed: int):
    rng = np.random.default_rng(seed)
    scores, cosines, usual = rng.normal(0, 3, (20, 5)), rng.uniform(-1, 1, (20, 5)), rng.uniform(0, 1, 5)
    own = rng.integers(0, 5, 20)
    found = scope_scores(without(scores, own), cosines, usual)
    for row, number in enumerate(own):
        rest = [np.delete(values, number) for values in (scores[row], cosines[row], usual)]
        assert found[row] == pytest.approx(slow_score(*rest))
    assert np.isfinite(scores).all(), "the bot's own scores stay as they are"


def test_an_intent_with_few_examples_is_taken_for_like_the_others():
    near, own = np.array([0.9] * 50 + [0.1]), np.array([0] * 50 + [1])
    many, one, none = usual_likeness(near, own, 3, 0.7)
    assert many == pytest.approx((50 * 0.9 + 3 * 0.7) / 53)
    assert one == pytest.approx((0.1 + 3 * 0.7) / 4)
    assert none == pytest.approx(0.7)


def test_own_examples_are_in_scope_and_those_of_a_missing_intent_are_not():
    rng = np.random.default_rng(0)
    utterances, held_out = bot_of(rng, examples=10, gap=0.4)
    found = fit_rejection(utterances, held_out, "abcd")
    near, far = said(0.8, 0.99), said(0.4, 0.5)
    assert found.in_scope_probability(near) > 0.8
    assert found.in_scope_probability(far) < 0.1
    assert not found.rejects(near)
    assert found.rejects(far)


def test_what_is_near_is_a_matter_of_the_bot():
    rng = np.random.default_rng(1)
    tight, loose = (fit_rejection(*bot_of(rng, 10, gap), "abcd") for gap in (0.5, 0.2))
    between = said(0.6, 0.9)
    assert tight.in_scope_probability(between) < loose.in_scope_probability(between)


def test_it_rises_with_likeness_and_with_confidence():
    rejection = fit_rejection(*bot_of(np.random.default_rng(2), 5, 0.3), "abcd")
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


@pytest.mark.parametrize("examples", [0, 5])
@pytest.mark.parametrize("intents", ["a", "ab"])
def test_small_bots_have_a_safe_default(intents: str, examples: int):
    utterances = [Utterance.from_words(["hello"], intent) for intent in intents for _ in range(max(examples, 1))]
    shape = (len(intents) * examples, len(intents))
    held_out = HeldOut(tuple(range(shape[0])), np.full(shape, 3.0), (), np.full(shape, 0.5))
    found = fit_rejection(utterances, held_out, intents)
    assert found.line == EXPECTED_LINE
    assert found.usual == pytest.approx((5 * USUAL_LIKENESS + shape[0] * 0.5) / (5 + shape[0]))
    assert not found.rejects(said(0.67, 0.9))


def test_a_learner_without_likeness_is_told():
    with pytest.raises(ValueError, match="no likeness"):
        Rejection().score(said(None, 0.9))


def test_it_can_be_kept_as_json():
    found = fit_rejection(*bot_of(np.random.default_rng(3), 4, 0.3), "abcd")
    assert found.of_intents
    assert found.line != Line(1.0, 0.0)
    assert Rejection.from_dict(json.loads(json.dumps(found.to_dict()))) == found
