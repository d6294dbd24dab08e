"""A bot's tuned weights, in a folder beside its file: `bot.yml` has `bot.tuned/` (tuning.json and a safetensors file).

They stand on one checkpoint, named by its sum, and were made from certain examples, named by theirs. Examples that came
later are compared with as any others; the tuning is stale then, and is told to be.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from handful.data.formats.files import write_text
from handful.learners.joint_spans import JointSpansLearner
from handful.learners.learner import Learner
from handful.parser.tune import Outcome, TuningReport, example_digest
from handful.training.checkpoint import (
    load_weights,
    read_about,
    read_record,
    read_tensors,
    remove_unnamed,
    trained_weights,
    write_tensors,
)
from handful.training.shipped import shipped_folder
from handful.types import Utterance

_FORMAT = 1
_ABOUT = "tuning.json"


class Scores(BaseModel):
    """Of the held-out examples, over all folds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    examples: int
    intent_accuracy: float
    slot_f1: float
    joint_accuracy: float

    @classmethod
    def of(cls, outcome: Outcome) -> Scores:
        return cls(
            examples=outcome.examples,
            intent_accuracy=round(outcome.intent_accuracy, 4),
            slot_f1=round(outcome.slot_f1, 4),
            joint_accuracy=round(outcome.right_parses / outcome.examples, 4),
        )


class Tuning(BaseModel):
    """tuning.json."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: int = Field(ge=1)
    checkpoint: str  # the sha256 of the weights that were tuned
    steps: int
    seed: int
    folds: int
    before: Scores
    after: Scores
    seconds: float
    examples: tuple[str, ...]  # sums, in order
    weights: str
    weights_sha256: str

    def is_stale(self, examples: Sequence[Utterance]) -> bool:
        """Have examples come, gone or changed since?"""
        return sorted(self.examples) != sorted(map(example_digest, examples))

    def newer(self, examples: Sequence[Utterance]) -> int:
        """How many of these examples the tuning has not seen."""
        return len({example_digest(utterance) for utterance in examples} - set(self.examples))


def tuned_folder(bot: Path) -> Path:
    return bot.with_name(f"{bot.stem if bot.suffix else bot.name}.tuned")


def save_tuning(
    folder: Path, report: TuningReport, examples: Sequence[Utterance], *, checkpoint: str, settings: dict[str, Any]
) -> Tuning:
    """Whole or not at all, as checkpoints are: tuning.json names its weights and is replaced in one step."""
    if report.learner is None:
        raise ValueError("a tuning that did not help is not kept")
    halves = {name: weight.half() for name, weight in trained_weights(report.learner.network).items()}
    weights, total = write_tensors(folder, halves)
    tuning = Tuning(
        format=_FORMAT,
        checkpoint=checkpoint,
        **settings,
        before=Scores.of(report.before),
        after=Scores.of(report.after),
        seconds=round(report.seconds, 1),
        examples=tuple(map(example_digest, examples)),
        weights=weights.name,
        weights_sha256=total,
    )
    write_text(folder / _ABOUT, json.dumps(tuning.model_dump(mode="json"), indent=1) + "\n")
    remove_unnamed(folder, [weights])
    return tuning


def read_tuning(folder: Path) -> Tuning | None:
    """None where the bot was never tuned."""
    try:
        return read_record(folder / _ABOUT, Tuning, _FORMAT)
    except (FileNotFoundError, NotADirectoryError):
        return None


@dataclass(frozen=True, slots=True)
class TunedVersion:
    learner: JointSpansLearner
    tuning: Tuning


def tuned_version(bot: Path, learner: Learner) -> TunedVersion | None:
    """The bot's tuned version of the learner that comes with handful, where there is one that stands on it."""
    folder = tuned_folder(bot)
    tuning = read_tuning(folder)
    if tuning is None or not isinstance(learner, JointSpansLearner):
        return None
    if tuning.checkpoint != read_about(shipped_folder()).weights_sha256:
        warnings.warn(
            f"{folder}: was made with another version of handful's checkpoint and is not used: `handful tune` makes it "
            "anew",
            stacklevel=3,
        )
        return None
    return TunedVersion(_load_tuned(folder, tuning, learner), tuning)


def _load_tuned(folder: Path, tuning: Tuning, learner: JointSpansLearner) -> JointSpansLearner:
    """A copy of the learner with the tuned weights."""
    copy = learner.twin()
    file = folder / Path(tuning.weights).name  # never a path out of the folder
    load_weights(copy.network, read_tensors(file, tuning.weights_sha256), file)
    return copy
