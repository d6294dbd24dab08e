from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pytest

from handful.data.bio import tags_of
from handful.learners.held_out import HeldOut
from handful.parser.calibration import (
    EXPECTED,
    Calibration,
    Line,
    calibrated,
    fit_calibration,
    fitted_line,
    fitted_sharpness,
    tempered,
)
from handful.types import Prediction, Ranking, Slot, Utterance


def slow_sharpness_loss(b: float, scores: np.ndarray, right: np.ndarray, expected: float, spread: float) -> float:
    total = (b - expected) ** 2 / (2 * spread**2)
    for row, number in zip(scores, right, strict=True):
        total -= np.log(np.exp(b * row[number]) / sum(np.exp(b * value) for value in row))
    return total


def slow_line_loss(
    slope: float, shift: float, values: np.ndarray, right: np.ndarray, weights: np.ndarray, expected: Line, spread: Line
) -> float:
    total = ((slope - expected.slope) / spread.slope) ** 2 / 2 + ((shift - expected.shift) / spread.shift) ** 2 / 2
    for value, is_right, weight in zip(values, right, weights, strict=True):
        share = 1 / (1 + np.exp(-(slope * value + shift)))
        total -= weight * np.log(share if is_right else 1 - share)
    return total


def noisy_scores(true_sharpness: float, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores of four intents whose right one is drawn by softmax(true_sharpness · score)."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 2, (count, 4))
    shares = np.exp(true_sharpness * scores)
    shares /= shares.sum(1, keepdims=True)
    return scores, np.array([rng.choice(4, p=row) for row in shares])


@pytest.mark.parametrize("seed", range(5))
def test_the_sharpness_is_where_the_loss_is_least(seed: int):
    rng = np.random.default_rng(seed)
    scores, right = noisy_scores(rng.uniform(0.3, 3), 30, seed)
    expected, spread = rng.uniform(0.5, 2), rng.uniform(0.1, 1)
    found = fitted_sharpness(scores, right, expected, spread)
    grid = np.linspace(0.05, 6, 5951)
    losses = [slow_sharpness_loss(b, scores, right, expected, spread) for b in grid]
    assert found == pytest.approx(grid[int(np.argmin(losses))], abs=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_the_line_is_where_the_loss_is_least(seed: int):
    rng = np.random.default_rng(seed)
    values, right = rng.normal(1, 2, 40), rng.random(40) < 0.6
    weights = rng.uniform(0.2, 2, 40)
    expected, spread = Line(rng.uniform(0.5, 2), rng.normal()), Line(0.4, 0.8)
    found = fitted_line(values, right, expected, spread, weights)
    least = slow_line_loss(found.slope, found.shift, values, right, weights, expected, spread)
    for slope, shift in rng.normal(0, 0.1, (200, 2)):
        near = max(found.slope + slope, 0.05)
        assert slow_line_loss(near, found.shift + shift, values, right, weights, expected, spread) >= least - 1e-9


def test_many_examples_show_the_temperature_that_made_them_and_none_show_what_is_expected():
    for true in (0.4, 1.0, 2.5):
        scores, right = noisy_scores(true, 20_000, seed=1)
        assert fitted_sharpness(scores, right, 1.25, 0.45) == pytest.approx(true, rel=0.05)
    assert fitted_sharpness(np.empty((0, 4)), np.empty(0, dtype=np.intp), 1.25, 0.45) == 1.25
    assert fitted_line(np.empty(0), np.empty(0, dtype=bool), Line(1.1, -0.7), Line(1, 1)) == Line(1.1, -0.7)


def test_examples_that_are_all_right_do_not_make_a_bot_certain():
    scores = np.tile([9.0, 0.0, 0.0], (5, 1))
    sharpness = fitted_sharpness(scores, np.zeros(5, dtype=np.intp), 1.25, 0.45)
    assert 1.25 <= sharpness < 2
    line = fitted_line(np.full(5, 4.0), np.ones(5, dtype=bool), Line(1, 0), Line(0.3, 0.7))
    assert 0 < line.slope < 2


def test_examples_that_contradict_their_scores_leave_a_line_that_rises():
    values = np.linspace(-5, 5, 200)
    assert fitted_line(values, values < 0, Line(1, 0), Line(10, 10)).slope > 0
    assert fitted_sharpness(np.tile([5.0, 0.0], (200, 1)), np.ones(200, dtype=np.intp), 1.0, 10.0) > 0


def test_temperatures_are_those_of_the_scores():
    scores = np.array([3.0, 1.5, 1.5, -2.0])
    shares = np.exp(scores) / np.exp(scores).sum()
    expected = np.exp(scores / 0.7) / np.exp(scores / 0.7).sum()
    np.testing.assert_allclose(tempered(shares, 0.7), expected, rtol=1e-12)
    np.testing.assert_array_equal(tempered(np.array([1.0, 0.0, 0.0]), 3.0), [1.0, 0.0, 0.0])
    assert tempered(np.array([1.0, 5e-324, 0.0]), 100.0)[2] == 0.0


@pytest.mark.parametrize("seed", range(20))
def test_order_and_slots_stay_as_they_are(seed: int):
    rng = np.random.default_rng(seed)
    shares = np.sort(rng.dirichlet(np.full(40, 0.05)))[::-1]
    names = tuple(f"intent {number}" for number in range(40))
    slots = (Slot("city", 0, 1), Slot("date", 2, 4))
    prediction = Prediction(Ranking(names, tuple(shares.tolist())), tags_of(slots, 5), slots, (0.0, 1.0), 3.5)
    bent = Calibration(0.6, {names[0]: float(rng.uniform(0.05, 20))}, {"date": Line(2.0, 1.0)})
    found = calibrated(prediction, bent)
    assert found.ranking.names == names
    assert sum(found.ranking.confidences) == pytest.approx(1)
    assert (found.slots, found.tags, found.likeness) == (prediction.slots, prediction.tags, 3.5)
    assert 0 < found.slot_confidences[0] < found.slot_confidences[1] < 1
    np.testing.assert_allclose(found.ranking.confidences, tempered(shares, bent.of_intents[names[0]]))


def bot_of(
    rows: Sequence[tuple[str, Sequence[float], bool, float]],
) -> tuple[list[Utterance], HeldOut]:
    """Examples of intents a, b and c by their raw scores; each has a slot that was found (or not) with a confidence."""
    utterances, scores, predictions = [], [], []
    for intent, raw, slot_is_right, confidence in rows:
        true = Slot("city" if slot_is_right else "date", 0, 1)
        utterances.append(Utterance.from_words(["rome", "now"], intent, [true]))
        scores.append(raw)
        shares = np.exp(raw) / np.exp(raw).sum()
        order = np.argsort(-shares, kind="stable")
        ranking = Ranking(tuple("abc"[number] for number in order), tuple(shares[order].tolist()))
        said = (Slot("city", 0, 1),)
        predictions.append(Prediction(ranking, tags_of(said, 2), said, (confidence,), float(max(raw))))
    return utterances, HeldOut(tuple(range(len(rows))), np.array(scores), tuple(predictions), np.array(scores))


def test_an_intent_that_is_too_sure_gets_a_higher_temperature_and_the_others_follow_a_little():
    # Whatever looks like "a" is "b" every second time; "c" is always right.
    doubtful: list[tuple[str, list[float], bool, float]] = [
        (intent, [4.0, 0.0, 0.0], True, 0.9) for intent in "ab" * 10
    ]
    sure: list[tuple[str, list[float], bool, float]] = [("c", [0.0, 0.0, 4.0], True, 0.9)] * 20
    utterances, held_out = bot_of([*doubtful, *sure])
    found = fit_calibration(utterances, held_out, "abc")
    assert found.of_intents["a"] > found.temperature > found.of_intents["c"]
    assert "b" not in found.of_intents, "nothing was ever taken for it: it has the bot's"


def test_slots_that_are_wrong_are_trusted_less():
    good = bot_of([("a", [4.0, 0.0, 0.0], True, 0.95)] * 30)
    bad = bot_of([("a", [4.0, 0.0, 0.0], number % 2 == 0, 0.95) for number in range(30)])
    trusted, doubted = (fit_calibration(*bot, "abc") for bot in (good, bad))
    said = good[1].predictions[0]
    assert calibrated(said, trusted).slot_confidences[0] > 0.9
    assert calibrated(said, doubted).slot_confidences[0] == pytest.approx(0.5, abs=0.15)


def test_a_bot_whose_examples_cannot_be_asked_for_is_what_is_expected():
    utterances = [Utterance.from_words(["hello"], "a"), Utterance.from_words(["bye"], "b")]
    found = fit_calibration(utterances, HeldOut((), np.empty((0, 2)), (), np.empty((0, 2))), "ab")
    assert found == Calibration()
    assert found.temperature == 1 / EXPECTED.sharpness


def test_intents_of_few_examples_say_nothing_of_temperatures():
    """Without one of three examples a bot is so much less sure than with it that its temperature is another."""
    few: list[tuple[str, list[float], bool, float]] = [
        (intent, [0.1, 0.0, 0.0], True, 0.9) for intent in "abc" for _ in range(EXPECTED.fewest_examples - 1)
    ]
    utterances, held_out = bot_of(few)
    found = fit_calibration(utterances, held_out, "abc")
    assert (found.temperature, found.of_intents) == (1 / EXPECTED.sharpness, {})
    enough = bot_of([*few, ("b", [0.0, 2.0, 1.0], True, 0.9), ("b", [0.0, 1.0, 2.0], True, 0.9)])
    found = fit_calibration(*enough, "abc")
    assert found.temperature != 1 / EXPECTED.sharpness
    assert set(found.of_intents) == {"b"}, "one of b was taken for c, but c has too few examples to be judged by"


def test_a_slots_line_is_what_is_expected_then_the_bots_then_its_own():
    rows = [("a", [4.0, 0.0, 0.0], number % 3 > 0, 0.9 if number % 2 else 0.6) for number in range(12)]
    utterances, held_out = bot_of(rows)
    found = fit_calibration(utterances, held_out, "abc").of_slots
    # Found is "city" in all of them; "date" is what it should have been in four.
    expected = EXPECTED.slots.of(8)
    values = np.array([expected.log_odds(np.log(p / (1 - p))) for _, _, _, p in rows])
    right = np.array([is_right for _, _, is_right, _ in rows])
    of_bot = fitted_line(values, right, Line(1, 0), EXPECTED.bot_slot_spread)
    own = fitted_line(of_bot.slope * values + of_bot.shift, right, Line(1, 0), EXPECTED.slot_spread)
    for p in (0.2, 0.6, 0.9):
        odds = np.log(p / (1 - p))
        by_hand = own.log_odds(of_bot.log_odds(expected.log_odds(odds)))
        assert found["city"].log_odds(odds) == pytest.approx(by_hand)
        assert found["date"].log_odds(odds) == pytest.approx(of_bot.log_odds(EXPECTED.slots.of(4).log_odds(odds)))


def test_a_slot_with_one_example_is_not_judged_by_what_was_found_without_it():
    alone = bot_of([("a", [4.0, 0.0, 0.0], True, 0.9)])
    assert fit_calibration(*alone, "abc").of_slots == {"city": EXPECTED.slots.of(1)}


def test_the_more_examples_a_slot_has_the_more_its_confidence_says():
    lines = [EXPECTED.slots.of(count) for count in (0, 1, 5, 20, 200)]
    assert [line.slope for line in lines] == sorted(line.slope for line in lines)
    assert [line.probability(3.0) for line in lines] == sorted(line.probability(3.0) for line in lines)
    few, many = EXPECTED.slots.few, EXPECTED.slots.many
    assert lines[3].slope == pytest.approx((few.slope + many.slope) / 2)
    assert lines[3].shift == pytest.approx((few.shift + many.shift) / 2)


def test_two_lines_as_one():
    first, second = Line(0.5, 1.0), Line(3.0, -2.0)
    assert first.then(second).log_odds(4.0) == second.log_odds(first.log_odds(4.0))


def test_it_can_be_kept_as_json():
    utterances, held_out = bot_of([("a", [4.0, 0.0, 1.0], True, 0.9), ("a", [1.0, 0.0, 1.0], False, 0.3)] * 3)
    found = fit_calibration(utterances, held_out, "abc")
    assert found.of_slots
    assert Calibration.from_dict(json.loads(json.dumps(found.to_dict()))) == found


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan"), float("inf")])
def test_temperatures_that_are_none_are_refused(temperature: float):
    with pytest.raises(ValueError, match="temperature"):
        Calibration(1.0, {"a": temperature})
    with pytest.raises(ValueError, match="rises"):
        Line(min(temperature, 0.0), 0.0)
