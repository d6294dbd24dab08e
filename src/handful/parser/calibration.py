"""Confidences that mean what they say: of the parses that are 80 % sure, four in five are right.

No example is set aside for it: a bot's own examples, each predicted by heads that were not fitted to it, show how often
a given confidence is right. What few examples cannot show is taken from what other bots have shown (`EXPECTED`), and an
intent or a slot with few examples from the bot.

An intent's scores are divided by a temperature before the softmax. A slot's confidence is moved on a line of its
log-odds: the fewer examples a slot has, the less its confidence says.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from handful.model.prototypes import Floats
from handful.types import Prediction, Ranking, Utterance

if TYPE_CHECKING:
    from handful.learners.held_out import HeldOut

_ROUNDS = 50  # of Newton's method, which needs about six
_SMALLEST_SLOPE = 0.05  # what is likelier must stay likelier
_SUREST = 1e-4  # away from nought and one, where log-odds end


@dataclass(frozen=True, slots=True)
class Line:
    """log-odds = slope · value + shift."""

    slope: float
    shift: float

    def __post_init__(self) -> None:
        if not (np.isfinite([self.slope, self.shift]).all() and self.slope > 0):
            raise ValueError(f"found the line {self.slope} · x + {self.shift}, expected one that rises")

    def log_odds(self, value: float) -> float:
        return self.slope * value + self.shift

    def probability(self, value: float) -> float:
        return float(1 / (1 + np.exp(-np.clip(self.log_odds(value), -30, 30))))

    def then(self, line: Line) -> Line:
        """The two as one: the other of this one's log-odds."""
        return Line(line.slope * self.slope, line.slope * self.shift + line.shift)


@dataclass(frozen=True, slots=True)
class SlotLines:
    """The line of a slot with n examples: it moves from one of few examples to one of many as n / (n + half)."""

    few: Line = Line(0.17, -0.54)
    many: Line = Line(0.98, 0.08)
    half: float = 20.0

    def of(self, examples: int) -> Line:
        share = examples / (examples + self.half)
        slope, shift = (
            (1 - share) * few + share * many
            for few, many in ((self.few.slope, self.many.slope), (self.few.shift, self.many.shift))
        )
        return Line(slope, shift)


@dataclass(frozen=True, slots=True)
class Expected:
    """What a bot is taken for until its examples say otherwise, and how readily they may: the larger a spread, the
    fewer examples it takes. Derived on bots of domains that the model had not seen (benchmarks/confidence.py).
    """

    sharpness: float = 1.55  # 1 / temperature
    bot_spread: float = 0.3
    intent_spread: float = 0.2
    # Examples that an intent needs for them to be counted: without one of three, a bot is far less sure than with it.
    fewest_examples: int = 4
    slots: SlotLines = SlotLines()
    bot_slot_spread: Line = Line(0.2, 0.3)  # around the line that leaves log-odds as they are
    slot_spread: Line = Line(0.1, 0.5)


EXPECTED = Expected()
_UNSEEN_SLOT = EXPECTED.slots.of(0)
_AS_IT_IS = Line(1.0, 0.0)


@dataclass(frozen=True, slots=True)
class Calibration:
    """How a bot's confidences are to be read. Intents that are not named have the bot's own."""

    temperature: float = 1 / EXPECTED.sharpness
    of_intents: Mapping[str, float] = field(default_factory=dict)
    of_slots: Mapping[str, Line] = field(default_factory=dict)  # of log-odds, by the slot's label and role

    def __post_init__(self) -> None:
        for temperature in (self.temperature, *self.of_intents.values()):
            if not 0 < temperature < float("inf"):
                raise ValueError(f"found the temperature {temperature}, expected a number above 0")

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        return cls(
            values["temperature"],
            dict(values["of_intents"]),
            {key: Line(**line) for key, line in values["of_slots"].items()},
        )


def fit_calibration(
    utterances: Sequence[Utterance], held_out: HeldOut, intents: Sequence[str], *, expected: Expected = EXPECTED
) -> Calibration:
    """From a bot's examples, each predicted by the others. `intents` are the columns of its scores."""
    asked = [utterances[number] for number in held_out.numbers]
    columns = {intent: column for column, intent in enumerate(intents)}
    own = np.array([columns[utterance.intent] for utterance in asked], dtype=np.intp)
    examples = Counter(utterance.intent for utterance in utterances)
    counted = np.array([examples[utterance.intent] >= expected.fewest_examples for utterance in asked], dtype=bool)
    scores, right, best = held_out.intents[counted], own[counted], held_out.intents[counted].argmax(1)
    sharpness = fitted_sharpness(scores, right, expected.sharpness, expected.bot_spread)
    of_intents: dict[str, float] = {}
    for column, intent in enumerate(intents):
        rows = np.flatnonzero(best == column)
        if examples[intent] >= expected.fewest_examples and len(rows):
            of_intents[intent] = 1 / fitted_sharpness(scores[rows], right[rows], sharpness, expected.intent_spread)
    return Calibration(1 / sharpness, of_intents, fit_slot_lines(utterances, asked, held_out.predictions, expected))


def fit_slot_lines(
    utterances: Sequence[Utterance], asked: Sequence[Utterance], predictions: Sequence[Prediction], expected: Expected
) -> dict[str, Line]:
    """Of each slot: what is expected of one with so many examples, then what those of the bot show, then its own."""
    examples = Counter(slot.key for utterance in utterances for slot in utterance.slots)
    usual = {key: expected.slots.of(count) for key, count in examples.items()}
    odds: defaultdict[str, list[tuple[float, bool]]] = defaultdict(list)
    for utterance, prediction in zip(asked, predictions, strict=True):
        true = {(slot.key, slot.start, slot.end) for slot in utterance.slots}
        for slot, confidence in zip(prediction.slots, prediction.slot_confidences, strict=True):
            if examples[slot.key] > 1:  # without its one example nobody could have found it
                is_right = (slot.key, slot.start, slot.end) in true
                odds[slot.key].append((usual[slot.key].log_odds(log_odds(confidence)), is_right))
    of_bot = _fitted([pair for own in odds.values() for pair in own], _AS_IT_IS, expected.bot_slot_spread)
    lines = {}
    for key in examples:
        own = _fitted([(of_bot.log_odds(value), right) for value, right in odds[key]], _AS_IT_IS, expected.slot_spread)
        lines[key] = usual[key].then(of_bot).then(own)
    return lines


def calibrated(prediction: Prediction, calibration: Calibration) -> Prediction:
    """The same intents in the same order and the same slots, with confidences that mean what they say."""
    temperature = calibration.of_intents.get(prediction.intent, calibration.temperature)
    confidences = tempered(np.array(prediction.ranking.confidences), temperature)
    slots = [
        calibration.of_slots.get(slot.key, _UNSEEN_SLOT).probability(log_odds(confidence))
        for slot, confidence in zip(prediction.slots, prediction.slot_confidences, strict=True)
    ]
    ranking = Ranking(prediction.ranking.names, tuple(confidences.tolist()))
    return replace(prediction, ranking=ranking, slot_confidences=tuple(slots))


def tempered(falling: Floats, temperature: float) -> Floats:
    """softmax(log p / temperature) of probabilities from the highest down. What is nought stays so. [N] -> [N]."""
    with np.errstate(divide="ignore"):
        scaled = np.log(falling / falling[0]) / temperature
    shares = np.exp(scaled)
    # Rounding must not turn two neighbours round.
    return np.minimum.accumulate(np.minimum(shares / shares.sum(), 1.0))


def log_odds(confidence: float) -> float:
    inside = min(max(confidence, _SUREST), 1 - _SUREST)
    return float(np.log(inside / (1 - inside)))


def fitted_sharpness(scores: Floats, right: NDArray[np.intp], expected: float, spread: float) -> float:
    """The b that minimises Σ_i -log softmax(b · scores_i)[right_i] + (b - expected)² / 2 spread². [n, N], [n].

    Convex in b, so Newton's method finds it; b is 1 / temperature.
    """
    if not len(scores):
        return expected
    scores = scores - scores.max(1, keepdims=True)
    of_right = scores[np.arange(len(right)), right]
    sharpness = expected
    for _ in range(_ROUNDS):
        shares = np.exp(sharpness * scores)
        shares /= shares.sum(1, keepdims=True)
        mean = (shares * scores).sum(1)
        variance = (shares * scores**2).sum(1) - mean**2
        slope = (mean - of_right).sum() + (sharpness - expected) / spread**2
        step = slope / (variance.sum() + 1 / spread**2)
        # From far away a whole step may lead out of what makes sense.
        moved = float(np.clip(sharpness - step, max(sharpness / 2, _SMALLEST_SLOPE), sharpness * 2))
        if abs(moved - sharpness) < 1e-9:
            break
        sharpness = moved
    return sharpness


def fitted_line(
    values: Floats, right: NDArray[np.bool_], expected: Line, spread: Line, weights: Floats | None = None
) -> Line:
    """Logistic regression on one value, held near an expected line. [n], [n], [n] -> the line that minimises

    Σ_i w_i log(1 + exp(∓(slope · v_i + shift))) + (slope - expected)² / 2 spread² + the same of the shift.
    """
    if not len(values):
        return expected
    weights = np.ones(len(values)) if weights is None else weights
    rows = np.stack([values, np.ones(len(values))], axis=1)
    centre, hold = np.array([expected.slope, expected.shift]), np.array([spread.slope, spread.shift]) ** -2.0
    found = centre
    loss = _line_loss(found, rows, right, weights, centre, hold)
    for _ in range(_ROUNDS):
        shares = 1 / (1 + np.exp(-np.clip(rows @ found, -30, 30)))
        slope = rows.T @ (weights * (shares - right)) + hold * (found - centre)
        curve = (rows * (weights * shares * (1 - shares))[:, None]).T @ rows + np.diag(hold)
        # At its least the slope stays, where the loss would have it fall further, and the shift alone moves.
        free = np.array([found[0] > _SMALLEST_SLOPE or slope[0] < 0, True])
        step = np.zeros(2)
        step[free] = np.linalg.solve(curve[np.ix_(free, free)], slope[free])
        moved, size = found, 1.0
        while size > 1e-6:  # half a step, where a whole one leads uphill
            moved = found - size * step
            moved[0] = max(moved[0], _SMALLEST_SLOPE)
            if (reached := _line_loss(moved, rows, right, weights, centre, hold)) <= loss:
                loss = reached
                break
            size /= 2
        if size <= 1e-6 or np.abs(moved - found).max() < 1e-9:
            break
        found = moved
    return Line(float(found[0]), float(found[1]))


def _line_loss(
    line: Floats, rows: Floats, right: NDArray[np.bool_], weights: Floats, centre: Floats, hold: Floats
) -> float:
    odds = rows @ line
    return float(
        (weights * np.logaddexp(0.0, np.where(right, -odds, odds))).sum() + (hold * (line - centre) ** 2).sum() / 2
    )


def _fitted(pairs: Sequence[tuple[float, bool]], expected: Line, spread: Line) -> Line:
    values = np.array([value for value, _ in pairs])
    return fitted_line(values, np.array([right for _, right in pairs], dtype=bool), expected, spread)
