"""Speed and memory of training and evaluation, as ratios of two things timed in turn in one run.

python benchmarks/training_speed.py --json results/training_speed.json       (needs HANDFUL_DATA; some minutes)

1. Training with frozen features kept against computed anew: the same code with one switch off.
2. Evaluation, cold and warm, against encoding anew in every episode.
3. A training step against the bare forward and backward of encoder, BiLSTM and label texts on the same tokens.
4. Peak memory of a process that trains with and without the cache.

Of episodes that are timed one by one, a ratio is the median over episodes: what else a machine does comes in bursts.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn

from handful.data.corpora import load_corpus
from handful.encoders.bilstm import time_major
from handful.encoders.choose import TransformerConfig
from handful.encoders.layers import TrainedLayers
from handful.episodes.sampler import EpisodeSampler
from handful.learners.choose import build_trained
from handful.learners.explicit_joint import ExplicitJointConfig, ExplicitJointLearner
from handful.learners.support import SupportLabels
from handful.places import data_dir
from handful.training.config import OptimiserConfig
from handful.training.evaluate import evaluate, evaluate_episode
from handful.training.loop import parameter_groups
from handful.types import Episode

Pair = TypeVar("Pair", bound=tuple[str, Any])
WARM_UP = 3  # episodes that are not counted


def learner_of(frozen: int, *, keep: bool = True, remember: bool = False) -> ExplicitJointLearner:
    encoder = TransformerConfig(frozen_layers=frozen)
    return build_trained(ExplicitJointConfig(), encoder, seed=0, cache=None, remember=remember, keep_features=keep)


def seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def in_turn(number: int, *pair: Pair) -> Sequence[Pair]:
    """What comes second finds warmer caches: each is the first every other time."""
    return pair[:: 1 if number % 2 else -1]


def median_ratio(these: Sequence[float], those: Sequence[float]) -> float:
    return statistics.median(a / b for a, b in zip(these[WARM_UP:], those[WARM_UP:], strict=True))


class Stepper:
    """A training step, as the loop takes it."""

    def __init__(self, learner: ExplicitJointLearner) -> None:
        self.learner = learner
        self.optimiser = torch.optim.AdamW(parameter_groups(learner.network, OptimiserConfig()))

    def step(self, draw: Callable[[], Episode]) -> None:
        self.optimiser.zero_grad()
        self.learner.loss(draw()).total.backward()
        nn.utils.clip_grad_norm_(self.learner.network.parameters(), 1.0)
        self.optimiser.step()


def training(sampler: EpisodeSampler, frozen: int, episodes: int) -> dict[str, float]:
    kept, anew = Stepper(learner_of(frozen)), Stepper(learner_of(frozen, keep=False))
    drawn = [sampler.episode(number) for number in range(episodes)]
    list(kept.learner.prepare([u for episode in drawn for u in (*episode.support, *episode.query)]))
    took: dict[str, list[float]] = {"kept": [], "anew": []}
    for number, episode in enumerate(drawn):
        for name, stepper in in_turn(number, ("kept", kept), ("anew", anew)):
            took[name].append(seconds(lambda stepper=stepper, episode=episode: stepper.step(lambda: episode)))
    return {
        "frozen_layers": frozen,
        "episodes_per_second_kept": round(1 / statistics.median(took["kept"][WARM_UP:]), 3),
        "episodes_per_second_anew": round(1 / statistics.median(took["anew"][WARM_UP:]), 3),
        "ratio": round(median_ratio(took["anew"], took["kept"]), 2),
    }


def evaluation(sampler: EpisodeSampler, episodes: int) -> dict[str, float]:
    """Anew: nothing outlives an episode, within which both scorers share what is encoded."""
    drawn = list(sampler.episodes(episodes))
    anew, kept = learner_of(3, keep=False, remember=True), learner_of(3, remember=True)

    def each_anew() -> None:
        for episode in drawn:
            anew.forget()
            evaluate_episode(anew, episode)

    spent = {
        "anew": seconds(each_anew),
        "cold": seconds(lambda: list(evaluate(kept, drawn))),
        "warm": seconds(lambda: list(evaluate(kept, drawn))),
    }
    return {
        "episodes": episodes,
        **{f"seconds_{name}": round(value, 2) for name, value in spent.items()},
        "ratio_cold": round(spent["anew"] / spent["cold"], 2),
        "ratio_warm": round(spent["anew"] / spent["warm"], 2),
    }


def overhead(sampler: EpisodeSampler, episodes: int) -> dict[str, float]:
    """Both do forward and backward only; the optimiser would be the same on either side."""
    learner = learner_of(3)
    network, words = learner.network, learner.network.words
    assert isinstance(words, TrainedLayers)
    drawn = [sampler.episode(number) for number in range(episodes)]
    list(learner.prepare([u for episode in drawn for u in (*episode.support, *episode.query)]))
    took: dict[str, list[float]] = {"step": [], "bare": []}
    for number, episode in enumerate(drawn):
        sentences = [u.sentence for u in (*episode.support, *episode.query)]
        intents, slots = learner.attended_texts(SupportLabels(episode.support))
        sentences += [*intents, *slots]
        plan = words.planned(sentences, network.features(sentences))
        order, sizes = time_major([len(sentence) for sentence in sentences])
        network.train()

        def bare(plan: Any = plan, order: torch.Tensor = order, sizes: torch.Tensor = sizes) -> None:
            packed = nn.utils.rnn.PackedSequence(
                network.bilstm.dropout(words.raised(plan).index_select(0, plan.words)).index_select(0, order),
                sizes,
            )
            network.bilstm.lstm(packed)[0].data.sum().backward()

        def step(number: int = number) -> None:
            learner.loss(sampler.episode(number)).total.backward()

        for name, work in in_turn(number, ("step", step), ("bare", bare)):
            network.zero_grad()
            took[name].append(seconds(work))
    return {
        "seconds_step": round(statistics.median(took["step"][WARM_UP:]), 4),
        "seconds_bare": round(statistics.median(took["bare"][WARM_UP:]), 4),
        "added_percent": round(100 * (median_ratio(took["step"], took["bare"]) - 1), 1),
    }


def memory(corpus: str, episodes: int) -> dict[str, float]:
    found = {}
    for name in ("kept", "anew"):
        command = [sys.executable, __file__, "--data", corpus, "--episodes", str(episodes), "--memory-of", name]
        found[f"peak_mb_{name}"] = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return found


def memory_of(sampler: EpisodeSampler, keep: bool, episodes: int) -> None:
    stepper = Stepper(learner_of(3, keep=keep))
    if keep:
        list(stepper.learner.prepare([u for utterances in sampler.classes.values() for u in utterances]))
    for number in range(episodes):
        stepper.step(lambda number=number: sampler.episode(number))
    # Not ru_maxrss, which a process inherits from the one that started it.
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    print(int(status.split("VmHWM:")[1].split()[0]) // 1024)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="snips")
    parser.add_argument("--episodes", type=int, default=30, help="train episodes for each ratio")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--memory-of", choices=["kept", "anew"])
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    corpus = load_corpus(options.data, data_dir())
    train = EpisodeSampler(corpus.split("train"), u_max=20, seed=0)
    if options.memory_of:
        return memory_of(train, options.memory_of == "kept", options.episodes)
    test = EpisodeSampler(corpus.split("test"), u_max=20, seed=0)
    record = {
        "data": options.data,
        "threads": options.threads,
        "machine": platform.processor() or platform.machine(),
        "training": [training(train, frozen, options.episodes) for frozen in (3, 4)],
        "evaluation": evaluation(test, 100),
        "step_overhead": overhead(train, options.episodes),
        "memory": memory(options.data, options.episodes),
    }
    print(json.dumps(record, indent=1))
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return None


if __name__ == "__main__":
    main()
