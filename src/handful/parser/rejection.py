"""When to say that a sentence is none of the bot's business.

Two things speak for a sentence's being in scope: it is as near to the middle of its intent's examples as one more
example would be, and no other intent comes close. Its score is the sum of both, and a line makes a probability of it.

Nothing of this is fitted to what heads say of the bot's own examples. How near one more example would be follows from
how near the examples are to each other; the rest was derived on bots of domains that the model had not seen
(benchmarks/confidence.py, docs/confidence.md).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from handful.data.bot_settings import Threshold
from handful.model.prototypes import Floats
from handful.parser.calibration import Line
from handful.types import Prediction, Utterance

if TYPE_CHECKING:
    from handful.learners.held_out import HeldOut

# The mean cosine of two examples of one intent, until a bot's say otherwise, and how many examples' worth that has;
# and how many examples' worth the bot's has for an intent.
USUAL_LIKENESS, BOT_EXAMPLES, INTENT_EXAMPLES = 0.6, 5.0, 20.0
COSINE_WEIGHT = 10.0  # a tenth of a cosine counts as much as a factor e of the confidence
STEADYING_EXAMPLES = 3.0  # so many examples of an intent, and half of a score's variance is of what they happen to be
SCOPE_LINE = Line(1.3, 1.55)
AUTO = 0.3  # on held-out domains 6 % of what is named rightly is turned away then, and 70 % of what is out of scope


@dataclass(frozen=True, slots=True)
class IntentScope:
    """How an intent's examples lie: `likeness` is the mean cosine of two of them."""

    likeness: float = USUAL_LIKENESS
    examples: int = 1

    def __post_init__(self) -> None:
        if not (-1 <= self.likeness <= 1 and self.examples >= 1):
            raise ValueError(f"found the likeness {self.likeness} of {self.examples} examples")

    @property
    def spread(self) -> float:
        """The length of the mean of the examples, which have length one."""
        return float(np.sqrt(max((1 + (self.examples - 1) * self.likeness) / self.examples, 0.01)))

    @property
    def usual_cosine(self) -> float:
        """Of one more example with the middle of these."""
        return self.likeness / self.spread

    def nearer_than_usual(self, likeness: float) -> float:
        """Of a sentence whose cosines with the examples have this mean: its cosine with their middle, less the usual
        one."""
        return likeness / self.spread - self.usual_cosine


@dataclass(frozen=True, slots=True)
class Rejection:
    """How a bot tells what is in scope."""

    of_intents: Mapping[str, IntentScope] = field(default_factory=dict)

    def score(self, prediction: Prediction) -> float:
        if prediction.likeness is None:
            raise ValueError("the prediction has no likeness: its learner cannot tell what is out of scope")
        scope = self.of_intents.get(prediction.intent, IntentScope())
        nearer = scope.nearer_than_usual(prediction.likeness)
        return scope_score(nearer, float(np.log(max(prediction.confidence, 1e-30))), scope.examples)

    def in_scope_probability(self, prediction: Prediction) -> float:
        """Of a prediction as the learner makes it, before its confidences are calibrated."""
        return SCOPE_LINE.probability(self.score(prediction))

    def rejects(self, prediction: Prediction, threshold: Threshold = "auto") -> bool:
        if threshold == "off":
            return False
        return self.in_scope_probability(prediction) < (AUTO if threshold == "auto" else threshold)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        return cls({intent: IntentScope(**scope) for intent, scope in values["of_intents"].items()})


def scope_score(
    nearer: float,
    log_confidence: float,
    examples: int,
    *,
    cosine_weight: float = COSINE_WEIGHT,
    steadying: float = STEADYING_EXAMPLES,
) -> float:
    """How much nearer than usual a sentence is to its intent, and log p of that intent; the fewer examples the intent
    has, the less both mean."""
    return math.sqrt(examples / (examples + steadying)) * (cosine_weight * nearer + log_confidence)


def fit_rejection(utterances: Sequence[Utterance], held_out: HeldOut, intents: Sequence[str]) -> Rejection:
    """From how near a bot's examples are to the others of their intent; `intents` are the columns of the cosines."""
    counts = Counter(utterance.intent for utterance in utterances)
    columns = {intent: column for column, intent in enumerate(intents)}
    own = np.array([columns[utterances[number].intent] for number in held_out.numbers], dtype=np.intp)
    near = held_out.cosines[np.arange(len(own)), own] if len(own) else np.empty(0)
    with_others = np.array([counts[utterances[number].intent] > 1 for number in held_out.numbers], dtype=bool)
    likeness = likeness_of_intents(near[with_others], own[with_others], len(intents))
    return Rejection(
        {intent: IntentScope(float(likeness[column]), counts[intent]) for intent, column in columns.items()}
    )


def likeness_of_intents(
    near: Floats, own: NDArray[np.intp], intents: int, *, intent_examples: float = INTENT_EXAMPLES
) -> Floats:
    """Of each intent the mean cosine of two of its examples, held near the bot's, and that near what is usual, given of
    each example its mean with the others. [n], [n] -> [N]."""
    of_bot = (near.sum() + BOT_EXAMPLES * USUAL_LIKENESS) / (len(near) + BOT_EXAMPLES)
    counts = np.bincount(own, minlength=intents)
    sums = np.bincount(own, weights=near, minlength=intents)
    return (sums + intent_examples * of_bot) / (counts + intent_examples)
