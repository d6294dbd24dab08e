"""What a bot without an example would say of it: its heads are fitted anew without the example.

Intents are refitted without each example of a small bot, and without each of ten folds of a large one; slots' maps
without each of four folds. An example is never compared with itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from handful.learners.bot_heads import fit_intents, fit_maps
from handful.learners.span_decoding import AdaptedSpans
from handful.learners.span_model import SpanModel
from handful.model.prototypes import Floats
from handful.model.spans import Numbers
from handful.types import Prediction

_EACH_ALONE = 300  # examples; of more the intents' head is refitted without folds
_INTENT_FOLDS, _SLOT_FOLDS = 10, 4


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """A bot's own examples, each predicted by all the others. `numbers` are those of the examples that can be asked
    for: an intent with a single example takes part through its name."""

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
    logs = np.empty((len(numbers), len(encoded.shown.labels.intents)))
    with model.undisturbed():
        for places in _intent_folds(intents[numbers]):
            kept = np.setdiff1d(np.arange(len(intents)), numbers[places])
            head = fit_intents(encoded, fitting, start=adapted.heads, rows=kept)
            logs[places] = head.log_probabilities(encoded.sentences[numbers[places]])
    scores, cosines = np.empty(logs.shape), np.empty(logs.shape)
    predictions: dict[int, Prediction] = {}
    for places in _folds(intents[numbers], _SLOT_FOLDS):
        kept = np.setdiff1d(np.arange(len(intents)), numbers[places])
        with model.undisturbed():
            maps = fit_maps(encoded, model.maps, fitting, rows=kept)
        without = AdaptedSpans.with_heads(model, encoded, replace(adapted.heads, maps=maps))
        scores[places], cosines[places], found = without.own_predictions(numbers[places], logs[places])
        predictions |= zip(places.tolist(), found, strict=True)
    return HeldOut(tuple(numbers.tolist()), scores, tuple(predictions[n] for n in range(len(numbers))), cosines)


def _intent_folds(intents: Numbers) -> Iterator[Numbers]:
    if len(intents) <= _EACH_ALONE:
        return (np.array([place]) for place in range(len(intents)))
    return _folds(intents, _INTENT_FOLDS)


def _folds(intents: Numbers, count: int) -> Iterator[Numbers]:
    """Places by fold, each intent's examples spread over all of them."""
    order = np.argsort(intents, kind="stable")
    fold = np.empty(len(intents), dtype=np.intp)
    fold[order] = np.arange(len(intents)) % count
    return (found for found in (np.flatnonzero(fold == number) for number in range(count)) if len(found))
