"""What a bot costs: adapting, parsing and growing, each as a ratio of two things timed in turn in one run.

python benchmarks/parsing_speed.py --json results/parsing_speed.json

Bots are made of TOP's train utterances (HANDFUL_DATA), dealt out to intents; the sentences to parse are of its dev
intents, others in every round of a comparison (where their pieces lie is remembered from one comparison to the next,
about 2 % of the work). The bare encoder is MiniLM as it comes: the same sentences, tokenised and through all its
layers.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from handful.data.corpora import load_corpus
from handful.encoders.minilm import minilm_folder
from handful.encoders.transformer import TransformerEncoder
from handful.places import data_dir
from handful.training.shipped import ready_learner
from handful.types import Utterance, Words

Thing = TypeVar("Thing")
MOST_ROUNDS = 20


def bot_of(utterances: Sequence[Utterance], intents: int, shots: int) -> list[Utterance]:
    """A bot of many intents: real sentences with real slots, whose names are each intent's own. Neighbours in the
    alphabet, which begin alike, make an intent."""
    found = []
    for number, utterance in enumerate(sorted(utterances[: intents * shots], key=lambda u: u.text.lower())):
        intent = f"intent {number // shots}"
        slots = tuple(replace(slot, label=f"{intent} {slot.label}") for slot in utterance.slots)
        found.append(replace(utterance, intent=intent, slots=slots))
    return found


def in_turn(
    first: Callable[[Any], Any], second: Callable[[Any], Any], given: Iterator[Any], rounds: int
) -> tuple[float, float, float]:
    """Medians of the seconds of both, and the median of their ratios, taken one after the other on the same thing, so
    that both see the same machine."""
    took = []
    for number in range(-1, rounds):  # the first warms up
        thing, row = next(given), [0.0, 0.0]
        for which in (0, 1) if number % 2 == 0 else (1, 0):
            started = time.perf_counter()
            (first, second)[which](thing)
            row[which] = time.perf_counter() - started
        took.append(row)
    ratio = statistics.median(a / b for a, b in took[1:])
    return statistics.median(a for a, _ in took[1:]), statistics.median(b for _, b in took[1:]), ratio


def fresh(things: Sequence[Thing], count: int) -> Iterator[Sequence[Thing]]:
    """So many at a time, none of them twice."""
    return (things[start : start + count] for start in range(0, len(things), count))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", type=Path, help="write the record here")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    if not 1 <= options.rounds <= MOST_ROUNDS:
        parser.error(f"found {options.rounds} rounds, expected 1 to {MOST_ROUNDS}: there are no more fresh sentences")
    torch.set_num_threads(options.threads)
    corpus = load_corpus("top", data_dir())
    rng = np.random.default_rng(0)
    train = [corpus.split("train")[number] for number in rng.permutation(len(corpus.split("train")))]
    asked: list[Words] = list(dict.fromkeys(u.sentence for u in corpus.split("dev")))
    learner, encoder = ready_learner("joint_spans"), TransformerEncoder(minilm_folder())
    record: dict[str, Any] = {
        "threads": options.threads,
        "rounds": options.rounds,
        "data_version": corpus.digest("train"),
    }

    def timed(what: str, first: Callable[[Any], Any], second: Callable[[Any], Any], given: Iterator[Any]) -> None:
        a, b, ratio = in_turn(first, second, given, options.rounds)
        print(f"{what}: {a:.4f} s against {b:.4f} s: {ratio:.2f}", flush=True)
        record[what] = {"ratio": round(ratio, 3), "seconds": round(a, 5), "against_seconds": round(b, 5)}

    hundred = bot_of(train, 10, 10)
    bots = fresh(train[100:], 100)
    timed(
        "adapting",
        learner.adapt,
        lambda bot: encoder.encode([u.sentence for u in bot]),
        (bot_of(b, 10, 10) for b in bots),
    )
    small, large = learner.adapt(hundred), learner.adapt(bot_of(train, 1000, 10))
    timed("parsing_200", small.predict, encoder.encode, fresh(asked, 200))
    timed("thousand_intents_200", large.predict, small.predict, fresh(asked, 200))

    def one_by_one(parse: Callable[[Sequence[Words]], Any]) -> Callable[[Sequence[Words]], Any]:
        """One sentence at a time, as a service is asked."""
        return lambda sentences: [parse([words]) for words in sentences]

    timed("parsing_one_by_one", one_by_one(small.predict), one_by_one(encoder.encode), fresh(asked, 30))
    timed("thousand_intents_one_by_one", one_by_one(large.predict), one_by_one(small.predict), fresh(asked, 30))
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
