"""What benchmarks/confidence.py derives from bots, on bots that are made up to have known constants."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from handful.data.bio import tags_of
from handful.learners.held_out import HeldOut
from handful.parser.calibration import EXPECTED, Line
from handful.parser.rejection import AUTO, COSINE_WEIGHT, INTENT_EXAMPLES, STEADYING_EXAMPLES, fit_rejection
from handful.types import Prediction, Ranking, Slot, Utterance

USED = {"cosine_weight": COSINE_WEIGHT, "steadying": STEADYING_EXAMPLES, "intent_examples": INTENT_EXAMPLES}


@pytest.fixture
def derived(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "benchmarks"))
    import confidence_constants  # pyright: ignore[reportMissingImports]

    return confidence_constants


def said(confidence: float, likeness: float, slots: tuple[Slot, ...] = (), sure: tuple[float, ...] = ()) -> Prediction:
    ranking = Ranking(("a", "b"), (confidence, 1 - confidence))
    return Prediction(ranking, tags_of(slots, 2), slots, sure, likeness)


def asked_bot(derived: ModuleType, support: list[Utterance], query: list[Utterance], **parts: Any) -> Any:
    cosines = np.full((len(support), 2), 0.6)
    held = HeldOut(tuple(range(len(support))), np.zeros((len(support), 2)), (said(0.5, 0.6),) * len(support), cosines)
    parts = {"shots": 10, "predictions": (), "strangers": {}, "nearest": {}, **parts}
    return derived.AskedBot(support=tuple(support), held=held, query=tuple(query), **parts)


def examples(counts: dict[str, int]) -> list[Utterance]:
    """Of each slot so many, under two intents by turns."""
    slots = [key for key, count in counts.items() for _ in range(count)]
    return [Utterance.from_words(["x", "y"], "ab"[number % 2], [Slot(key, 0, 1)]) for number, key in enumerate(slots)]


def test_slots_lines_are_found_again(derived: ModuleType):
    few, many, half = Line(0.3, -0.5), Line(1.1, 0.2), 20.0
    rng = np.random.default_rng(0)
    counts = {"one": 1, "some": 8, "more": 40, "many": 200}
    bots = []
    for _ in range(6):
        query, predictions = [], []
        for _ in range(3000):
            key = list(counts)[rng.integers(4)]
            share = counts[key] / (counts[key] + half)
            odds = rng.normal(1, 2)
            line = Line(few.slope * (1 - share) + many.slope * share, few.shift * (1 - share) + many.shift * share)
            right = rng.random() < line.probability(odds)
            query.append(Utterance.from_words(["x", "y"], "a", [Slot(key, 0, 1)] if right else []))
            predictions.append(said(0.9, 0.6, (Slot(key, 0, 1),), (float(1 / (1 + np.exp(-odds))),)))
        bots.append(asked_bot(derived, examples(counts), query, predictions=predictions))
    lines, loss = derived.slot_lines(bots, half)
    assert (lines.few.slope, lines.many.slope) == pytest.approx((few.slope, many.slope), abs=0.06)
    assert (lines.few.shift, lines.many.shift) == pytest.approx((few.shift, many.shift), abs=0.12)
    _, other = derived.slot_lines(bots, 1000.0)
    assert loss < other


def test_the_sharpness_is_what_makes_confidences_true(derived: ModuleType):
    rng = np.random.default_rng(1)
    odds = rng.normal(0, 1.5, 4000)
    right = rng.random(4000) < 1 / (1 + np.exp(-2.0 * odds))
    query = [Utterance.from_words(["x", "y"], "a" if is_a else "b") for is_a in right]
    predictions = []
    for value in odds:
        p = float(1 / (1 + np.exp(-value)))
        ranking = Ranking(("a", "b"), (p, 1 - p)) if p >= 0.5 else Ranking(("b", "a"), (1 - p, p))
        predictions.append(Prediction(ranking, ("O", "O"), (), (), 0.6))
    bot = asked_bot(derived, examples({"one": 10}), query, predictions=predictions)
    assert derived.best_sharpness(bot) == pytest.approx(2.0, rel=0.1)
    untouched = derived.intents_loss(bot, EXPECTED)
    assert derived.intents_loss(bot, derived.replace(EXPECTED, sharpness=2.0)) < untouched


def test_scores_are_those_of_the_parser(derived: ModuleType):
    bot = asked_bot(derived, examples({"one": 3, "two": 4}), [])
    rejection = fit_rejection(bot.support, bot.held, bot.intents)
    predictions = [said(0.9, 0.7), said(0.6, 0.2), said(0.8, 0.5)]
    found = derived.scores(bot, predictions, **USED)
    assert found == pytest.approx([rejection.score(prediction) for prediction in predictions])


def test_strangers_that_are_far_away_are_told_at_any_weight_and_by_the_threshold(derived: ModuleType):
    support = examples({"one": 20})
    for number in range(30):
        support += [Utterance.from_words(["x", "y"], f"intent {number}")]
    query = [Utterance.from_words(["x", "y"], "a")] * 50
    near, far = [said(0.9, 0.6 + 0.001 * step) for step in range(50)], [said(0.9, 0.1)] * 30
    cosines = np.full((len(support), 32), 0.6)
    held = HeldOut(tuple(range(len(support))), np.zeros((len(support), 32)), (), cosines)
    strangers = {derived.KINDS[0]: far}
    bot = derived.AskedBot(10, tuple(support), held, tuple(query), near, strangers, {})
    assert derived.pooled_auroc([bot], **USED) == 100.0
    found = derived.threshold([bot], USED)
    assert found["recall"] == 100.0
    assert found["limit"] > AUTO
