"""Instant, then better: a bot is tuned on its own examples, and that is kept only if cross-validation says so.

In each fold the bot without a share of its examples is tuned anew, and both it and the untuned one are asked for the
share. The same bot and seed give the same outcome; a budget of seconds that runs out gives none.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np

from handful.data.bio import slots_of, utterance_tags
from handful.errors import ConfigError, HandfulError
from handful.learners.joint_spans import JointSpansLearner
from handful.learners.learner import Adapted
from handful.learners.span_decoding import AdaptedSpans
from handful.learners.tuning import TuningConfig, TuningStep, tuning
from handful.training.scoring import SpanCounts, span_counts
from handful.types import Prediction, Utterance

STEPS = 5  # as on the dev intents of ATIS and TOP, at U_max 20 and 100


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the held-out examples were told, over all folds."""

    examples: int
    right_intents: int
    right_parses: int  # intent and every slot
    spans: SpanCounts

    @property
    def intent_accuracy(self) -> float:
        return self.right_intents / self.examples

    @property
    def slot_f1(self) -> float:
        return self.spans.f1

    @property
    def score(self) -> float:
        """What decides: the mean of intent accuracy and slot F1; of a bot without slots, the accuracy alone."""
        if not self.spans.gold and not self.spans.predicted:
            return self.intent_accuracy
        return (self.intent_accuracy + self.slot_f1) / 2

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(
            self.examples + other.examples,
            self.right_intents + other.right_intents,
            self.right_parses + other.right_parses,
            self.spans + other.spans,
        )


@dataclass(frozen=True, slots=True)
class TuningProgress:
    """An event: one more gradient step, of a fold or, after the last fold, of the whole bot."""

    fold: int  # from 1
    folds: int
    step: TuningStep

    @property
    def done(self) -> float:
        """The share of all steps, if the whole bot is tuned in the end."""
        return ((self.fold - 1) * self.step.steps + self.step.step) / ((self.folds + 1) * self.step.steps)


@dataclass(frozen=True, slots=True)
class TuningReport:
    before: Outcome
    after: Outcome
    seconds: float
    learner: JointSpansLearner | None  # none where tuning did not help

    @property
    def better(self) -> bool:
        return self.learner is not None


def tune(
    learner: JointSpansLearner,
    examples: Sequence[Utterance],
    *,
    steps: int = STEPS,
    seed: int = 0,
    folds: int = 4,
    seconds: float | None = None,
) -> Generator[TuningProgress, None, TuningReport]:
    """Yields progress, returns the report with the tuned learner, if it is better than the one that came in."""
    parts = split_folds(examples, folds, seed)
    if not parts:
        raise ConfigError(
            "there is nothing to tune by: cross-validation needs an intent with two examples, and two intents or a slot"
        )
    started = time.monotonic()
    config = TuningConfig(steps=steps, seed=seed)
    before = after = Outcome(0, 0, 0, SpanCounts())
    for number, (kept, held) in enumerate(parts, 1):
        before += asked(AdaptedSpans(learner, kept), held)
        tuned = yield from _told(tuning(learner, kept, config), number, len(parts), started, seconds)
        after += asked(AdaptedSpans(tuned, kept), held)
    if after.score <= before.score:
        return TuningReport(before, after, time.monotonic() - started, None)
    whole = yield from _told(tuning(learner, examples, config), len(parts) + 1, len(parts), started, seconds)
    return TuningReport(before, after, time.monotonic() - started, whole)


def _told(
    steps: Generator[TuningStep, None, JointSpansLearner], fold: int, folds: int, started: float, seconds: float | None
) -> Generator[TuningProgress, None, JointSpansLearner]:
    while True:
        try:
            step = next(steps)
        except StopIteration as done:
            return done.value
        yield TuningProgress(fold, folds, step)
        last = fold > folds and step.step == step.steps
        if seconds is not None and not last and time.monotonic() - started > seconds:
            raise HandfulError(
                f"the {seconds:g} seconds were used up in fold {min(fold, folds)} of {folds}, and nothing was changed: "
                "give more seconds, or fewer folds or steps"
            )


def split_folds(examples: Sequence[Utterance], folds: int, seed: int) -> list[tuple[list[Utterance], list[Utterance]]]:
    """Pairs of examples to keep and to ask for. Each intent's examples are dealt out in turn; the only one of an intent
    is always kept, since nobody could tell an intent without any."""
    if folds < 2:
        raise ConfigError(f"found {folds} folds, expected 2 or more")
    rng = np.random.default_rng(seed)
    by_intent: defaultdict[str, list[int]] = defaultdict(list)
    for number, utterance in enumerate(examples):
        by_intent[utterance.intent].append(number)
    if len(by_intent) < 2 and not any(utterance.slots for utterance in examples):
        return []
    fold_of: dict[int, int] = {}
    dealt = 0
    for _, own in sorted(by_intent.items()):
        if len(own) < 2:
            continue
        for number in rng.permutation(own).tolist():
            fold_of[number] = dealt % folds
            dealt += 1
    found = []
    for fold in range(folds):
        held = [examples[number] for number in range(len(examples)) if fold_of.get(number) == fold]
        kept = [examples[number] for number in range(len(examples)) if fold_of.get(number) != fold]
        # With more folds than examples of an intent some intent may lose its last one: it is not asked for then.
        held = [utterance for utterance in held if any(utterance.intent == other.intent for other in kept)]
        if held:
            found.append((kept, held))
    return found


def asked(adapted: Adapted, held: Sequence[Utterance]) -> Outcome:
    predictions = adapted.predict([utterance.sentence for utterance in held])
    return sum((_outcome(u, p) for u, p in zip(held, predictions, strict=True)), Outcome(0, 0, 0, SpanCounts()))


def _outcome(utterance: Utterance, prediction: Prediction) -> Outcome:
    gold = utterance_tags(utterance)
    right = utterance.intent == prediction.intent
    whole = right and set(slots_of(gold)) == set(slots_of(prediction.tags))
    return Outcome(1, int(right), int(whole), span_counts(gold, prediction.tags))
