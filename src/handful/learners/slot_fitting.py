"""Slot maps fitted to a bot: gradient steps in which each example is predicted from others, in numpy.

The encoder and the states of the examples' words stay as they are, so a step costs a few products of small matrices.
Fitting starts from the maps that it is given and ends after a fixed number of steps of at most `batch` examples: the
same examples in the same order and the same seed give the same maps, however fast the machine is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Protocol

import numpy as np

from handful.errors import TrainingError
from handful.learners.support import SupportLabels
from handful.model.slot_batches import SlotBatch, SlotExamples
from handful.model.span_gradients import slot_loss
from handful.model.span_maps import Array, SpanMaps
from handful.model.spans import Numbers

_BLOCK = 1 << 15  # numbers that are updated together: what is read of them stays in the processor's cache


# A plain dataclass, as all that an exported bot needs: it has no pydantic.
@dataclass(frozen=True, slots=True, kw_only=True)
class SlotFitting:
    steps: int = 30
    learning_rate: float = 1e-3  # of the first step; it falls in a straight line, to nought
    measures_rate: float = 1.0  # times that, for scales, temperatures and weights of names,
    no_slot_rate: float = 1.0  # and for the vector of no slot
    batch: int = 48  # examples a step
    seed: int = 0
    weight_decay: float = 0.0
    most_gradient: float = 1.0  # the length to which a longer gradient is cut
    pull: float = 0.0  # p of p/2 ‖maps - shipped maps‖², which is added to the loss

    def __post_init__(self) -> None:
        for name in ("steps", "measures_rate", "no_slot_rate", "seed", "weight_decay", "pull"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} is {getattr(self, name)}, expected 0 or more")
        if self.learning_rate <= 0 or self.most_gradient <= 0:
            raise ValueError("learning_rate and most_gradient must be above 0")
        if self.batch < 2:
            raise ValueError(f"batch is {self.batch}, expected 2 or more: an example is predicted from others")


@dataclass(frozen=True, slots=True)
class SlotFittingStep:
    step: int  # from 1
    steps: int
    loss: float  # of the batch, before the step


class SlotSupport(Protocol):
    """What fitting reads of a learners.span_support.SpanSupport."""

    @property
    def labels(self) -> SupportLabels: ...

    @property
    def slot_spans(self) -> Numbers:
        """[4, n]: utterance, first word, words - 1, slot."""
        ...


def fit_slot_maps(
    maps: SpanMaps,
    support: SlotSupport,
    states: Sequence[Array],
    name_means: Array,
    *,
    settings: SlotFitting,
    rows: Numbers | None = None,
    on_step: Callable[[SlotFittingStep], None] | None = None,
) -> SpanMaps:
    """`states` has for each utterance of the support those of its words, [T, d]; `name_means` [K, f] for each of its
    slots the mean of its name's frozen states. With `rows`, fitted to some utterances alone. Maps and what comes out
    have the same precision."""
    if len(states) != len(support.labels.intent_numbers) or len(name_means) != len(support.labels.slots):
        raise ValueError(
            f"found states of {len(states)} utterances and {len(name_means)} names of slots, expected "
            f"{len(support.labels.intent_numbers)} and {len(support.labels.slots)}, as many as the support has"
        )
    lengths = np.array([len(own) for own in states], dtype=np.intp)
    owners, starts, sizes, slots = support.slot_spans
    examples = SlotExamples(np.asarray(support.labels.intent_numbers), lengths, owners, starts, sizes + 1, slots)
    if rows is not None:
        examples, states = examples.subset(rows), [states[row] for row in rows]
    if len(np.unique(examples.owners)) < 2:  # nothing that one could be predicted from another by
        return maps
    optimiser = _AdamW(maps, settings)
    fitted, gradient = maps.of_vector(optimiser.vector), maps.of_vector(optimiser.gradient)
    kind = optimiser.vector.dtype
    names = np.asarray(name_means, dtype=kind)
    for step, (batch, words) in enumerate(_batches(examples, states, len(names), settings, kind)):
        loss = slot_loss(fitted, batch, words, names[batch.slots], gradient)
        if not np.isfinite(loss):
            raise TrainingError(f"fitting step {step + 1}: the loss is {loss}; a smaller learning rate may help")
        optimiser.step(step)
        if on_step is not None:
            on_step(SlotFittingStep(step + 1, settings.steps, loss))
    return fitted


def _batches(
    examples: SlotExamples, states: Sequence[Array], slots: int, settings: SlotFitting, kind: np.dtype[Any]
) -> Iterator[tuple[SlotBatch, Array]]:
    """Of each step a batch and the states of its words, [W, d]."""

    def laid_out(rows: Numbers) -> tuple[SlotBatch, Array]:
        own = examples.subset(rows)
        batch = SlotBatch.of(own, own.shown_slots(slots))
        return batch, np.concatenate([np.asarray(states[row], dtype=kind) for row in rows[batch.rows]])

    count = len(examples.lengths)
    if count <= settings.batch:
        yield from repeat(laid_out(np.arange(count)), settings.steps)
        return
    for step in range(settings.steps):
        rng = np.random.default_rng([settings.seed, step])
        yield laid_out(draw_batch(examples.intents, settings.batch, rng))


def draw_batch(intents: Numbers, most: int, rng: np.random.Generator) -> Numbers:
    """All utterances of a small support; of a large one some of as many intents as fit, two or more of each. [U]."""
    if len(intents) <= most:
        return np.arange(len(intents))
    order = np.argsort(intents, kind="stable")
    of_intent = np.split(order, np.flatnonzero(np.diff(intents[order])) + 1)
    each = max(2, most // len(of_intent))
    chosen: list[Numbers] = []
    room = most
    for place in rng.permutation(len(of_intent)):
        taken = rng.permutation(of_intent[place])[:each]
        if len(taken) > room:
            break
        chosen.append(taken)
        room -= len(taken)
    return np.sort(np.concatenate(chosen))


class _AdamW:
    """Decoupled weight decay, moments corrected for their start at nought, and the gradient cut to a length."""

    _KEPT = 0.9, 0.999  # of the means of gradients and of their squares
    _FLOOR = 1e-8

    def __init__(self, maps: SpanMaps, settings: SlotFitting) -> None:
        self._settings = settings
        self.vector = maps.vector()
        self.gradient = np.zeros_like(self.vector)
        self._start = self.vector.copy() if settings.pull else None
        self._sums, self._squares = np.zeros_like(self.vector), np.zeros_like(self.vector)
        self._scratch = np.empty(min(_BLOCK, len(self.vector)), dtype=self.vector.dtype)
        rates = {"no_slot": settings.no_slot_rate, "log_measures": settings.measures_rate}
        self._blocks: list[tuple[slice, float]] = []  # numbers that are updated together, and their factor
        start = 0
        for name, array in maps.arrays().items():
            stop = start + array.size
            self._blocks += [
                (slice(first, min(first + _BLOCK, stop)), rates.get(name, 1.0)) for first in range(start, stop, _BLOCK)
            ]
            start = stop

    def step(self, step: int) -> None:
        """Along `gradient`; the steps are counted from nought."""
        settings = self._settings
        if self._start is not None:
            self.gradient += settings.pull * (self.vector - self._start)
        length = math.sqrt(float(np.vdot(self.gradient, self.gradient)))
        if length > settings.most_gradient:
            self.gradient *= settings.most_gradient / (length + 1e-6)
        keep, keep_squares = self._KEPT
        rate = settings.learning_rate * (settings.steps - step) / settings.steps
        # The sums are the moments over 1 - keep, and both corrections stand in factors: fewer passes over the numbers.
        mean = (1 - keep) / (1 - keep ** (step + 1))
        deviation = math.sqrt((1 - keep_squares) / (1 - keep_squares ** (step + 1)))
        for block, factor in self._blocks:
            vector, sums, squares, gradient = (
                array[block] for array in (self.vector, self._sums, self._squares, self.gradient)
            )
            scratch = self._scratch[: len(vector)]
            if settings.weight_decay:
                vector *= 1 - rate * factor * settings.weight_decay
            sums *= keep
            sums += gradient
            squares *= keep_squares
            squares += np.multiply(gradient, gradient, out=scratch)
            np.sqrt(squares, out=scratch)
            scratch += self._FLOOR / deviation
            np.divide(sums, scratch, out=scratch)
            scratch *= rate * factor * mean / deviation
            vector -= scratch
