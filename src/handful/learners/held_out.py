"""What a bot without an example would say of it: its heads are fitted anew without the example.

Intents are refitted without each example of a small bot, and without each of ten folds of a large one; slots' maps
without each of four folds. An example is never compared with itself. The heads that the bot uses are where a search
starts, and nothing that they say of an example is ever taken for what is said without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from handful.learners.bot_heads import EncodedSupport, HeadFitting, example_weights, fit_maps
from handful.learners.span_decoding import AdaptedSpans
from handful.learners.span_model import SpanModel
from handful.model.prototypes import Floats
from handful.model.softmax_refits import left_out_logits
from handful.model.softmax_regression import Fit, SoftmaxRegression, fit_softmax_regression
from handful.model.spans import Numbers
from handful.types import Prediction

_EACH_ALONE = 300  # examples; of more the intents' head is refitted without folds
_INTENT_FOLDS, _SLOT_FOLDS = 10, 4
# Slots' maps without a fold are fitted in half the time: three found slots of a hundred fewer are right, and the
# confidences that are set by them are as good (held-out domains).
_FOLD_STEPS, _FOLD_BATCH = 20, 24
_TOLERANCE = 10.0  # of refits without a fold of hundreds, times 1 / C: probabilities differ by 0.003 on average


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """A bot's own examples, each predicted by all the others. `numbers` are those of the examples that were asked for:
    an intent with a single example takes part through its name."""

    numbers: tuple[int, ...]
    intents: Floats  # [n, N]: what each intent scores
    predictions: tuple[Prediction, ...]
    cosines: Floats  # [n, N]: the mean of those with each intent's examples


def held_out(model: SpanModel, adapted: AdaptedSpans, most: int | None = None) -> HeldOut:
    """Of more than `most` examples, so many, evenly from all of them: the others are examples all the same."""
    encoded, fitting = adapted.encoded, model.config.fitting
    intents = np.asarray(encoded.shown.labels.intent_numbers)
    numbers = np.arange(len(intents))
    if most is not None and len(numbers) > most:
        numbers = numbers[np.linspace(0, len(numbers) - 1, most).astype(np.intp)]
    with model.undisturbed():
        logs = IntentRows.of(encoded, fitting).left_out(adapted.heads.intents, numbers)
    scores, cosines = np.empty(logs.shape), np.empty(logs.shape)
    predictions: dict[int, Prediction] = {}
    for places, without in _slot_folds(model, adapted, numbers):
        scores[places], cosines[places], found = without.own_predictions(numbers[places], logs[places])
        predictions |= zip(places.tolist(), found, strict=True)
    return HeldOut(tuple(numbers.tolist()), scores, tuple(predictions[n] for n in range(len(numbers))), cosines)


@dataclass(frozen=True, slots=True, eq=False)
class IntentRows:
    """What an intents' head is fitted to: first the names, one an intent, then the examples."""

    vectors: Floats  # [m, d]
    intents: Numbers  # [m]
    count: int  # N
    fitting: HeadFitting

    @classmethod
    def of(cls, encoded: EncodedSupport, fitting: HeadFitting) -> IntentRows:
        labels = encoded.shown.labels
        intents = np.concatenate([np.arange(len(labels.intents)), np.asarray(labels.intent_numbers)])
        vectors = np.concatenate([encoded.intent_names, encoded.sentences])
        return cls(vectors, intents, len(labels.intents), fitting)

    def weights(self, rows: Numbers) -> Floats:
        """Of all rows, in a head that is fitted to the names and to these. [m]."""
        weights = np.zeros(len(self.intents))
        weights[rows] = example_weights(self.intents[rows], self.count, self.fitting)
        return weights

    def left_out(self, head: SoftmaxRegression, examples: Numbers) -> Floats:
        """log P(intent | example) by heads that were not fitted to the example, from those that were. [n] -> [n, N]."""
        rows, everything = self.count + examples, np.arange(len(self.intents))
        there = len(everything) - self.count
        if there <= _EACH_ALONE:
            fit = Fit(head, self.vectors, self.intents, self.weights(everything), self.fitting.strength)
            weights = np.stack([self.weights(np.delete(everything, row)) for row in rows])
            return _normalised(left_out_logits(fit, rows, weights))
        logs = np.empty((len(rows), self.count))
        # A tenth of all examples is left out at once, or less: where few of many are asked for, that takes fewer folds.
        for places in _folds(self.intents[rows], max(2, -(-_INTENT_FOLDS * len(rows) // there))):
            kept = np.delete(everything, rows[places])
            logs[places] = self._refitted(head, kept).log_probabilities(self.vectors[rows[places]])
        return logs

    def _refitted(self, head: SoftmaxRegression, kept: Numbers) -> SoftmaxRegression:
        return fit_softmax_regression(
            self.vectors[kept],
            self.intents[kept],
            self.weights(kept)[kept],
            self.count,
            strength=self.fitting.strength,
            start=head,
            tolerance=_TOLERANCE,
        ).regression


def _slot_folds(model: SpanModel, adapted: AdaptedSpans, numbers: Numbers) -> Iterator[tuple[Numbers, AdaptedSpans]]:
    """Places among the examples `numbers`, and a bot whose slots' maps were not fitted to them."""
    encoded, fitting = adapted.encoded, model.config.fitting
    if not encoded.shown.labels.slots:  # nothing was fitted
        yield np.arange(len(numbers)), adapted
        return
    slots = fitting.slots
    quick = replace(
        fitting,
        slots=replace(slots, steps=min(slots.steps, _FOLD_STEPS), batch=min(slots.batch, _FOLD_BATCH)),
    )
    intents = np.asarray(encoded.shown.labels.intent_numbers)
    for places in _folds(intents[numbers], _SLOT_FOLDS):
        with model.undisturbed():
            maps = fit_maps(encoded, model.maps, quick, rows=np.delete(np.arange(len(intents)), numbers[places]))
        yield places, AdaptedSpans.with_heads(model, encoded, replace(adapted.heads, maps=maps))


def _folds(intents: Numbers, count: int) -> Iterator[Numbers]:
    """Places by fold, each intent's examples spread over all of them."""
    order = np.argsort(intents, kind="stable")
    fold = np.empty(len(intents), dtype=np.intp)
    fold[order] = np.arange(len(intents)) % count
    return (found for found in (np.flatnonzero(fold == number) for number in range(count)) if len(found))


def _normalised(logits: Floats) -> Floats:
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
