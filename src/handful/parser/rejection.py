"""When to say that a sentence is none of the bot's business.

Two things speak for a sentence's being in scope: it is as near to its intent's examples as they are to each other, and
no other intent comes close. Its score is the sum of both. No out-of-scope sentence is needed to set a limit: a bot's
own examples, each told by the others, are in scope; asked of a bot without their intent, they are not, since nobody
there could answer them. Between the two runs a line, and `in_scope_probability` is where a sentence stands on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from handful.data.bot_settings import Threshold
from handful.model.prototypes import Floats
from handful.model.segments import log_sum
from handful.parser.calibration import Line, fitted_line
from handful.types import Prediction, Utterance

if TYPE_CHECKING:
    from handful.learners.held_out import HeldOut

# What a bot is taken for until its examples say otherwise, and how many examples' worth, or how wide a spread, that
# has. Chosen on SNIPS, ATIS and TOP, by models that had not seen the corpus: docs/confidence.md.
USUAL_LIKENESS, BOT_EXAMPLES, INTENT_EXAMPLES = 0.67, 5.0, 3.0
LIKENESS_WEIGHT = 10.0  # a tenth of a cosine counts as much as a factor e of the confidence
EXPECTED_LINE, LINE_SPREAD = Line(0.9, 1.2), Line(0.3, 1.0)
AUTO = 0.3  # to turn away a sentence that is in scope is about twice as bad as to answer one that is not


@dataclass(frozen=True, slots=True)
class Rejection:
    """How a bot tells what is in scope."""

    usual: float = USUAL_LIKENESS  # how near examples of one intent are to each other
    of_intents: Mapping[str, float] = field(default_factory=dict)
    line: Line = EXPECTED_LINE  # of the score

    def score(self, prediction: Prediction) -> float:
        if prediction.likeness is None:
            raise ValueError("the prediction has no likeness: its learner cannot tell what is out of scope")
        usual = self.of_intents.get(prediction.intent, self.usual)
        return float(scope_score(prediction.likeness - usual, np.log(max(prediction.confidence, 1e-30))))

    def in_scope_probability(self, prediction: Prediction) -> float:
        """Of a prediction as the learner makes it, before its confidences are calibrated."""
        return self.line.probability(self.score(prediction))

    def rejects(self, prediction: Prediction, threshold: Threshold = "auto") -> bool:
        if threshold == "off":
            return False
        return self.in_scope_probability(prediction) < (AUTO if threshold == "auto" else threshold)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        return cls(values["usual"], dict(values["of_intents"]), Line(**values["line"]))


def scope_score(nearer: Any, log_confidence: Any) -> Any:
    """Of numbers, or of arrays: how much nearer than usual a sentence is to its intent, and log p of that intent."""
    return LIKENESS_WEIGHT * nearer + log_confidence


def fit_rejection(utterances: Sequence[Utterance], held_out: HeldOut, intents: Sequence[str]) -> Rejection:
    """From a bot's examples, each told by the others. `intents` are the columns of its scores.

    A bot without an example that could be asked for is what is expected of any bot; with one intent or two, it has the
    line that is expected: without its own intent, an example has none to choose from.
    """
    columns = {intent: column for column, intent in enumerate(intents)}
    own = np.array([columns[utterances[number].intent] for number in held_out.numbers], dtype=np.intp)
    if not len(own):
        return Rejection()
    near = held_out.cosines[np.arange(len(own)), own]
    usual = float((near.sum() + BOT_EXAMPLES * USUAL_LIKENESS) / (len(near) + BOT_EXAMPLES))
    by_intent = usual_likeness(near, own, len(intents), usual)
    line = EXPECTED_LINE
    if len(intents) > 2:
        inside = scope_scores(held_out.intents, held_out.cosines, by_intent)
        outside = scope_scores(without(held_out.intents, own), held_out.cosines, by_intent)
        right = np.repeat([True, False], [len(inside), len(outside)])
        line = fitted_line(np.concatenate([inside, outside]), right, EXPECTED_LINE, LINE_SPREAD)
    return Rejection(usual, {intent: float(by_intent[column]) for intent, column in columns.items()}, line)


def usual_likeness(near: Floats, own: NDArray[np.intp], intents: int, expected: float) -> Floats:
    """Of each intent how near its examples are, as if a few more were as near as is expected. [n], [n] -> [N]."""
    counts = np.bincount(own, minlength=intents)
    sums = np.bincount(own, weights=near, minlength=intents)
    return (sums + INTENT_EXAMPLES * expected) / (counts + INTENT_EXAMPLES)


def scope_scores(scores: Floats, cosines: Floats, usual: Floats) -> Floats:
    """`Rejection.score` of many rows of raw scores. [n, N], [n, N], [N] -> [n]."""
    rows, best = np.arange(len(scores)), scores.argmax(1)
    return scope_score(cosines[rows, best] - usual[best], scores[rows, best] - log_sum(scores))


def without(scores: Floats, own: NDArray[np.intp]) -> Floats:
    """What a bot without the example's own intent would score: that column is gone. [n, N], [n] -> [n, N]."""
    left = scores.copy()
    left[np.arange(len(own)), own] = -np.inf
    return left
