"""From a learner and episodes to a record of results: what `evaluate` prints and `bench` collects is made here."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handful.data.corpora import Corpus
from handful.episodes.sampler import EpisodeSampler
from handful.learners.learner import Learner
from handful.training.config import RunConfig
from handful.training.details import Details
from handful.training.evaluate import evaluate, summary
from handful.training.records import read_events
from handful.training.run import LOG
from handful.training.scoring import EpisodeScore
from handful.training.start import encoder_label, features_dir, load_learner, row_of


@dataclass(frozen=True, slots=True)
class Scored:
    """A learner, and what its results are filed under."""

    learner: Learner
    about: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Scoring:
    """Which episodes: number 0 to `episodes` of a split's sampler."""

    corpus: str
    u_max: int
    episodes: int = 100
    seed: int = 0
    split: str = "test"


def trained(run: Path, changes: Mapping[str, Any] | None = None) -> Scored:
    built, about = load_learner(run, remember=True, cache=features_dir(), changes=changes)
    config = about.config.model_copy(update={"learner": built.config})
    return Scored(
        built,
        {
            **labels_of(config),
            "train_seconds": about.train_seconds,
            "train_episodes": about.step * config.optimiser.episodes_per_step,
            **_decoding(built.config),
            "config": config.model_dump(mode="json"),
        },
    )


def labels_of(config: RunConfig) -> dict[str, Any]:
    """What a trained learner's results are found by."""
    return {
        "row": row_of(config),
        "encoder": encoder_label(config),
        "mode": "single" if len(config.corpora) == 1 else "joint",
        "train_corpus": config.data_label,
        "train_u_max": config.u_max,
        "train_seed": config.train_seed,
    }


def measured(
    scored: Scored,
    corpus: Corpus,
    sampler: EpisodeSampler,
    scoring: Scoring,
    told: Callable[[EpisodeScore], None] = lambda _: None,
) -> dict[str, Any]:
    """Scores the episodes, telling each one's score, and gives the record."""
    started = time.perf_counter()
    details, scores = Details(), []
    for event in evaluate(scored.learner, sampler.episodes(scoring.episodes), details):
        scores.append(event.score)
        told(event.score)
    return {
        **scored.about,
        "corpus": scoring.corpus,
        "split": scoring.split,
        "u_max": scoring.u_max,
        "episodes": scoring.episodes,
        "episode_seed": scoring.seed,
        "query_cap": sampler.query_cap,
        "data_version": corpus.digest(scoring.split),
        "eval_seconds": round(time.perf_counter() - started, 1),
        "peak_mb": peak_mb(),
        **_percentages(scores),
        "details": details.record(),
    }


def dev_curve(run: Path) -> list[list[float]]:
    """Step, intent accuracy, slot F1 strict and released after each epoch of a run, from its log."""
    metrics = ("intent_accuracy", "slot_f1_strict", "slot_f1_released")
    return [
        [event["step"], *(round(event["scores"][metric], 2) for metric in metrics)]
        for event in read_events(run / LOG)
        if event["event"] == "dev"
    ]


def _decoding(config: Any) -> dict[str, Any]:
    """How predictions were made, where a learner has more than one way."""
    if config.name == "joint_spans":
        return {"tuning_steps": config.tuning.steps}
    steps = {"tuning_steps": config.fitting.steps} if hasattr(config, "fitting") else {}
    return {"decoding": config.decoding, **steps}


def peak_mb() -> int | None:
    """The most memory that this process ever had; only Linux tells.

    Not ru_maxrss: a process inherits that from the one that started it, and other systems count it in other units.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return None
    found = re.search(r"^VmHWM:\s*(\d+) kB$", status, re.MULTILINE)
    return None if found is None else round(int(found[1]) / 1024)


def _percentages(scores: Sequence[EpisodeScore]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for metric, value in summary(scores).items():
        found[metric] = {
            "mean": round(100 * value.mean, 2),
            "ci95": None if value.ci95 is None else round(100 * value.ci95, 2),
            "per_episode": [round(100 * getattr(score, metric), 2) for score in scores],
        }
    return found
