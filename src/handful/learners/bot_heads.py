"""What is fitted to a bot: a linear head that names intents, and the small maps that score slots.

The encoder stays as it is. An intent's name, read as a sentence, is one more example of it. Both fits start from the
bot's examples alone or end where such a fit ends, so that a bot's answers do not depend on the history of its edits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from handful.errors import CheckpointError
from handful.learners.slot_fitting import SlotFitting, fit_slot_maps
from handful.learners.span_model import Encodings, Seen, SpanModel
from handful.learners.span_support import SpanSupport
from handful.model.prototypes import Floats
from handful.model.softmax_regression import SoftmaxRegression, fit_softmax_regression
from handful.model.span_maps import Array, SpanMaps
from handful.model.spans import Numbers, unit_rows
from handful.types import Words


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadFitting:
    """How heads are fitted to a bot; chosen on held-out domains (docs/method.md)."""

    strength: float = 100.0  # C of the intents' L2
    name_weight: float = 1.0  # of an intent's name, beside examples that weigh 1
    balance: float = 0.5  # b: an example of an intent with n of them weighs n^-b; 1 would weigh all intents alike
    slots: SlotFitting = field(default_factory=SlotFitting)
    fewest_slot_examples: float = 1.5  # a slot on average; with fewer the shipped maps stay

    def __post_init__(self) -> None:
        if self.strength <= 0 or min(self.name_weight, self.balance, self.fewest_slot_examples) < 0:
            raise ValueError("strength must be above 0, and the other numbers not below 0")


@dataclass(frozen=True, slots=True, eq=False)
class BotHeads:
    intents: SoftmaxRegression
    intent_names: tuple[str, ...]  # of its rows
    maps: SpanMaps

    def arrays(self) -> dict[str, Array]:
        """In half precision, for a file."""
        head = {"intents.weight": self.intents.weights, "intents.bias": self.intents.bias}
        return {**{name: array.astype(np.float16) for name, array in head.items()}, **self.maps.as_half()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], intent_names: Sequence[str]) -> BotHeads:
        head = SoftmaxRegression(*(arrays[f"intents.{part}"].astype(np.float32) for part in ("weight", "bias")))
        if len(head.weights) != len(intent_names) or head.bias.shape != (len(intent_names),):
            raise CheckpointError(f"found a head of {len(head.weights)} intents, expected {len(intent_names)}")
        return cls(head, tuple(intent_names), SpanMaps.from_half(arrays))


@dataclass(frozen=True, slots=True, eq=False)
class EncodedSupport:
    """A support set as the encoder sees it."""

    shown: SpanSupport
    seen: Sequence[Seen]  # of each utterance
    sentences: Floats  # [m, d], of length one
    intent_names: Floats  # [N, d], of length one
    slot_names: Array  # [K, f]: means of their frozen states

    @classmethod
    def of(cls, shown: SpanSupport, sentences: Sequence[Words], model: SpanModel, known: Encodings) -> EncodedSupport:
        seen = known.of(model, sentences)
        names = known.intent_names(model, shown.intent_texts)
        slots = known.slot_names(model, shown.slot_texts)
        vectors = np.stack([vector for _, vector in seen]).astype(np.float32)
        return cls(shown, seen, unit_rows(vectors), unit_rows(names), slots)


def fit_intents(
    encoded: EncodedSupport, settings: HeadFitting, *, start: BotHeads | None = None, rows: Numbers | None = None
) -> SoftmaxRegression:
    """The intents' head; `start` are heads of the bot before an edit. With `rows`, of some utterances alone."""
    labels = encoded.shown.labels
    rows = np.arange(len(encoded.sentences)) if rows is None else rows
    count = len(labels.intents)
    numbers = np.concatenate([np.arange(count), np.asarray(labels.intent_numbers)[rows]])
    weights = example_weights(numbers, count, settings)
    first = None
    if start is not None:
        place = {name: number for number, name in enumerate(start.intent_names)}
        first = start.intents.with_classes([place.get(intent) for intent in labels.intents])
    vectors = np.concatenate([encoded.intent_names, encoded.sentences[rows]])
    return fit_softmax_regression(vectors, numbers, weights, count, strength=settings.strength, start=first).regression


def example_weights(numbers: Numbers, count: int, settings: HeadFitting) -> Floats:
    """Of the rows that a head is fitted to, `count` names first, given their intents: an intent with many examples
    counts for more than one with few, but not in proportion. [n] -> [n]."""
    shown = np.bincount(numbers, minlength=count)
    weights = (shown[numbers] / shown.mean()) ** -settings.balance
    weights[:count] *= settings.name_weight
    return weights


def fit_maps(
    encoded: EncodedSupport, maps: SpanMaps, settings: HeadFitting, *, rows: Numbers | None = None
) -> SpanMaps:
    """The slots' maps, from the shipped ones. With `rows`, fitted to some utterances alone."""
    shown = encoded.shown
    filled = len(shown.slot_spans[0]) / max(1, len(shown.labels.slots))
    if filled < settings.fewest_slot_examples or not settings.slots.steps:
        return maps
    states = [states for states, _ in encoded.seen]
    return fit_slot_maps(maps, shown, states, encoded.slot_names, settings=settings.slots, rows=rows)


def fit_heads(
    encoded: EncodedSupport, maps: SpanMaps, settings: HeadFitting, *, start: BotHeads | None = None
) -> BotHeads:
    """`maps` are the shipped ones; `start` is where the search for the intents' head begins, not where it ends."""
    names = tuple(encoded.shown.labels.intents)
    fitted = BotHeads(fit_intents(encoded, settings, start=start), names, fit_maps(encoded, maps, settings))
    # As they would come back from a file: a bot that is loaded answers as the one that was saved.
    return BotHeads.from_arrays(fitted.arrays(), names)
