"""When to say that a sentence is none of the bot's business: the intent `nlu_fallback`.

A sentence's score says how near it is to the intent that it is given: as near as that intent's own examples are to
each other, or less? No out-of-scope sentence is needed to set a limit. A bot's own examples, each told by the others,
are in scope; asked of a bot without their intent, they are not: nobody there could answer them. Between the two runs a
line, and `in_scope_probability` is where a sentence stands on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from handful.model.prototypes import Floats
from handful.model.segments import log_sum
from handful.parser.calibration import Line, fitted_line
from handful.types import Prediction, Utterance

if TYPE_CHECKING:
    from handful.learners.span_decoding import HeldOut

FALLBACK = "nlu_fallback"  # as Rasa calls it
Threshold = float | Literal["auto", "off"]


@dataclass(frozen=True, slots=True)
class Expected:
    """What a bot is taken for until its examples say otherwise. Chosen on SNIPS, ATIS and TOP, by models that had not
    seen the corpus (docs/confidence.md)."""

    likeness: float = 16.0  # of an intent's example to the others
    likeness_examples: float = 3.0  # how many examples' worth of the bot an intent's own likeness starts from
    share: float = 1.0  # of log p beside the likeness
    line: Line = Line(0.8, 2.0)  # of the score
    spread: Line = Line(0.3, 1.5)
    threshold: float = 0.5


EXPECTED = Expected()


@dataclass(frozen=True, slots=True)
class Rejection:
    """How a bot tells what is in scope. `auto` is the threshold that was set for it."""

    likeness: float = EXPECTED.likeness
    of_intents: Mapping[str, float] = field(default_factory=dict)
    line: Line = EXPECTED.line
    auto: float = EXPECTED.threshold

    def __post_init__(self) -> None:
        if not 0.0 <= self.auto <= 1.0:
            raise ValueError(f"found the threshold {self.auto}, expected a number from 0 to 1")

    def score(self, prediction: Prediction) -> float:
        """How much nearer the sentence is to its intent than that intent's examples are to each other."""
        if prediction.likeness is None:
            raise ValueError("the prediction has no likeness: its learner cannot tell what is out of scope")
        usual = self.of_intents.get(prediction.intent, self.likeness)
        return prediction.likeness - usual + EXPECTED.share * float(np.log(max(prediction.confidence, 1e-30)))

    def in_scope_probability(self, prediction: Prediction) -> float:
        """Of a prediction as the learner makes it, before its confidences are calibrated."""
        return self.line.probability(self.score(prediction))

    def rejects(self, prediction: Prediction, threshold: Threshold = "auto") -> bool:
        if threshold == "off":
            return False
        return self.in_scope_probability(prediction) < (self.auto if threshold == "auto" else threshold)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        return cls(values["likeness"], dict(values["of_intents"]), Line(**values["line"]), values["auto"])


def fit_rejection(utterances: Sequence[Utterance], held_out: HeldOut, intents: Sequence[str]) -> Rejection:
    """From a bot's examples, each told by the others. `intents` are the columns of its scores.

    A bot with one intent, or without an example that could be asked for, is what is expected of any bot.
    """
    columns = {intent: column for column, intent in enumerate(intents)}
    own = np.array([columns[utterances[number].intent] for number in held_out.numbers], dtype=np.intp)
    if not len(own):
        return Rejection()
    scores = held_out.intents
    own_likeness = scores[np.arange(len(own)), own]
    likeness = float(own_likeness.mean())
    usual = usual_likeness(own_likeness, own, len(intents), likeness)
    of_intents = {intent: float(usual[column]) for intent, column in columns.items()}
    if len(intents) < 3:  # without its own intent, an example has at most one other: no ranking to speak of
        return Rejection(likeness, of_intents)
    inside, outside = scope_scores(scores, usual), scope_scores(without(scores, own), usual)
    values = np.concatenate([inside, outside])
    right = np.repeat([True, False], [len(inside), len(outside)])
    return Rejection(likeness, of_intents, fitted_line(values, right, EXPECTED.line, EXPECTED.spread))


def usual_likeness(likeness: Floats, own: NDArray[np.intp], intents: int, expected: float) -> Floats:
    """Of each intent what its examples score, as if a few more scored what is expected. [n], [n] -> [intents]."""
    counts = np.bincount(own, minlength=intents)
    sums = np.bincount(own, weights=likeness, minlength=intents)
    held = EXPECTED.likeness_examples
    return (sums + held * expected) / (counts + held)


def scope_scores(scores: Floats, usual: Floats) -> Floats:
    """`Rejection.score` of many rows of raw scores. [n, N], [N] -> [n]."""
    best = scores.argmax(1)
    highest = scores[np.arange(len(best)), best]
    return highest - usual[best] + EXPECTED.share * (highest - log_sum(scores))


def without(scores: Floats, own: NDArray[np.intp]) -> Floats:
    """What a bot without the example's own intent would score: that column is gone. [n, N], [n] -> [n, N]."""
    left = scores.copy()
    left[np.arange(len(own)), own] = -np.inf
    return left
