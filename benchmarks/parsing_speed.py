"""What a bot costs: adapting, parsing and growing, each as a ratio of two things timed in turn in one run.

python benchmarks/parsing_speed.py --json results/parsing_speed.json

Bots are made of TOP's train utterances (HANDFUL_DATA), dealt out to intents; the sentences to parse are of its dev
intents. The bare encoder is MiniLM as it comes: the same sentences, tokenised and through all its layers.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from handful.data.corpora import load_corpus
from handful.encoders.minilm import minilm_folder
from handful.encoders.transformer import TransformerEncoder
from handful.places import data_dir
from handful.training.shipped import ready_learner
from handful.types import Utterance, Words


def bot_of(utterances: Sequence[Utterance], intents: int, shots: int) -> list[Utterance]:
    """A bot of many intents: real sentences with real slots, whose names are each intent's own. Neighbours in the
    alphabet, which begin alike, make an intent."""
    found = []
    for number, utterance in enumerate(sorted(utterances[: intents * shots], key=lambda u: u.text.lower())):
        intent = f"intent {number // shots}"
        slots = tuple(replace(slot, label=f"{intent} {slot.label}") for slot in utterance.slots)
        found.append(replace(utterance, intent=intent, slots=slots))
    return found


def in_turn(first: Callable[[], Any], second: Callable[[], Any], rounds: int) -> tuple[float, float, float]:
    """Medians of the seconds of both, and the median of their ratios, taken one after the other, so that both see the
    same machine."""
    first()
    second()
    took = []
    for number in range(rounds):
        order = (0, 1) if number % 2 == 0 else (1, 0)
        row = [0.0, 0.0]
        for which in order:
            started = time.perf_counter()
            (first, second)[which]()
            row[which] = time.perf_counter() - started
        took.append(row)
    ratio = statistics.median(a / b for a, b in took)
    return statistics.median(a for a, _ in took), statistics.median(b for _, b in took), ratio


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", type=Path, help="write the record here")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    corpus = load_corpus("top", data_dir())
    rng = np.random.default_rng(0)
    train = [corpus.split("train")[number] for number in rng.permutation(len(corpus.split("train")))]
    asked: list[Words] = [u.sentence for u in corpus.split("dev")[:200]]
    learner, encoder = ready_learner("joint_spans"), TransformerEncoder(minilm_folder())
    record: dict[str, Any] = {
        "threads": options.threads,
        "rounds": options.rounds,
        "data_version": corpus.digest("train"),
    }

    hundred = bot_of(train, 10, 10)
    sentences = [utterance.sentence for utterance in hundred]
    record["adapting"] = timed(lambda: learner.adapt(hundred), lambda: encoder.encode(sentences), options.rounds)
    small = learner.adapt(hundred)
    # A bot that is asked the same again remembers the last answer, so every round asks in another order.
    turned = itertools.cycle([asked, asked[::-1]])
    record["parsing_200"] = timed(lambda: small.predict(next(turned)), lambda: encoder.encode(asked), options.rounds)
    # One sentence at a time, as a service is asked.
    singles = asked[:30]
    record["parsing_one_by_one"] = timed(
        lambda: [small.predict([words]) for words in singles],
        lambda: [encoder.encode([words]) for words in singles],
        options.rounds,
    )
    large = learner.adapt(bot_of(train, 1000, 10))
    orders = itertools.cycle([asked, asked, asked[::-1], asked[::-1]])
    record["thousand_intents_200"] = timed(
        lambda: large.predict(next(orders)), lambda: small.predict(next(orders)), options.rounds
    )
    record["thousand_intents_one_by_one"] = timed(
        lambda: [large.predict([words]) for words in singles],
        lambda: [small.predict([words]) for words in singles],
        options.rounds,
    )
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def timed(first: Callable[[], Any], second: Callable[[], Any], rounds: int) -> dict[str, float]:
    a, b, ratio = in_turn(first, second, rounds)
    print(f"{a:.4f} s against {b:.4f} s: {ratio:.2f}", flush=True)
    return {"ratio": round(ratio, 3), "seconds": round(a, 5), "against_seconds": round(b, 5)}


if __name__ == "__main__":
    main()
