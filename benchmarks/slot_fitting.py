"""What fitting slot maps to a bot costs, as a ratio to one product of a batch's states with the map of views.

python benchmarks/slot_fitting.py [--json results/slot_fitting.json]

Bots are drawn by chance: the cost depends on sizes alone. One thread, the best of a few rounds.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from handful.learners.slot_fitting import SlotFitting, fit_slot_maps
from handful.learners.span_support import SpanSupport
from handful.model.span_maps import Array, SpanMaps
from handful.model.threads import one_blas_thread
from handful.types import Slot, Utterance

STATE, WIDTH, HIDDEN = 384, 128, 256  # as in the shipped model
SLOTS_OF_INTENT = 4
# Examples, intents, slots, words of a sentence.
BOTS = ((100, 12, 20, 8), (48, 12, 20, 8), (1500, 150, 60, 8), (100, 12, 20, 30), (100, 1, 60, 12))


def random_maps(rng: np.random.Generator) -> SpanMaps:
    """Weights of the size that layers start from, and measures as they are trained."""

    def layer(out: int, width: int) -> Array:
        return rng.uniform(-1, 1, size=(out, width)) / width**0.5

    rows = 6 * WIDTH + 4
    arrays = (
        layer(rows, STATE), np.zeros(rows), np.ones(STATE), np.zeros(STATE), layer(HIDDEN, STATE), np.zeros(HIDDEN),
        layer(2 * WIDTH, HIDDEN), np.zeros(2 * WIDTH), rng.normal(size=WIDTH) / WIDTH**0.5,
        np.log([[4.0, 1.0, 1.3], [8.0, 1.2, 1.3]]),
    )  # fmt: skip
    return SpanMaps(*(np.asarray(array, dtype=np.float32) for array in arrays))


def random_bot(examples: int, intents: int, slots: int, words: int, rng: np.random.Generator) -> list[Utterance]:
    """Sentences of half to one and a half times so many words, with two slots where they fit."""
    shown = [rng.choice(slots, size=min(SLOTS_OF_INTENT, slots), replace=False) for _ in range(intents)]
    bot = []
    for number in range(examples):
        length = int(rng.integers(max(1, words // 2), words + words // 2 + 1))
        filled, start = [], int(rng.integers(3))
        for slot in rng.choice(shown[number % intents], size=2):
            end = start + int(rng.integers(1, 4))
            if end <= length:
                filled.append(Slot(f"slot {slot}", start, end))
            start = end + int(rng.integers(3))
        bot.append(Utterance.from_words(["word"] * length, f"intent {number % intents}", filled))
    return bot


def best_seconds(work: Callable[[], object], rounds: int) -> float:
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return min(taken)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", type=Path, help="write the records here")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error(f"found {options.rounds} rounds, expected at least one")
    settings, records = SlotFitting(), []
    for examples, intents, slots, words in BOTS:
        rng = np.random.default_rng(0)
        maps = random_maps(rng)
        bot = random_bot(examples, intents, slots, words, rng)
        support = SpanSupport(bot, {})
        states = [rng.normal(size=(len(u.words), STATE)).astype(np.float32) for u in bot]
        names = rng.normal(size=(len(support.labels.slots), STATE)).astype(np.float32)
        batch = np.concatenate(states[: settings.batch])
        with one_blas_thread():
            product = best_seconds(lambda: batch @ maps.views_weight.T, 20 * options.rounds)  # noqa: B023
            seconds = best_seconds(
                lambda: fit_slot_maps(maps, support, states, names, settings=settings), options.rounds
            )
        ratio = seconds / settings.steps / product
        records.append(dict(examples=examples, intents=intents, slots=slots, words=words, seconds=seconds, product=product, ratio_of_a_step=ratio))
        print(records[-1])


if __name__ == "__main__":
    main()
