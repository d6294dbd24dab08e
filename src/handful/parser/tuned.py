"""A bot's tuned weights, in a folder beside its file: `bot.yml` has `bot.yml.tuned/`: tuning.json and a
safetensors file.

They stand on one checkpoint, named by its sum, and were made from certain examples, named by theirs. Examples that came
later are compared with as any others; the tuning is stale then, and is told to be.
"""

from __future__ import annotations

import json
import re
import tempfile
import warnings
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from handful.data.formats.files import write_text
from handful.errors import CheckpointError, HandfulError
from handful.learners.joint_spans import JointSpansLearner
from handful.learners.learner import Learner
from handful.parser.bot import load_bot
from handful.parser.tune import STEPS, Outcome, TuningProgress, TuningReport, example_digest, tune
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
from handful.training.start import load_learner
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
    """The whole name and more: `b.yml` and `b.json` are two bots."""
    named = bot if bot.name not in {"", ".."} else bot.resolve()
    return named.with_name(f"{named.name}.tuned")


def tune_file(
    path: Path,
    *,
    steps: int = STEPS,
    folds: int = 4,
    seed: int = 0,
    seconds: float | None = None,
    format: str | None = None,
) -> Generator[TuningProgress, None, TuningReport]:
    """Tunes a bot's file: the tuned version is put beside it if it is better, and taken away if it is not.

    Yields progress, returns the report; `learners.tuning.returned` runs it to the end.
    """
    examples = load_bot(path, format).document.utterances
    folder = tuned_folder(path)
    _refuse_unwritable(folder)
    # Frozen features are kept: every step sees the same examples.
    learner, about = load_learner(shipped_folder())
    assert isinstance(learner, JointSpansLearner)
    settings = {"steps": steps, "folds": folds, "seed": seed}
    report = yield from tune(learner, examples, seconds=seconds, **settings)
    if report.learner is not None:
        save_tuning(folder, report, examples, checkpoint=about.weights_sha256, settings=settings)
    else:
        remove_tuning(folder)
    return report


def remove_tuning(folder: Path) -> bool:
    """Removes what is ours, readable or not, and the folder if nothing else is in it. Was there anything?"""
    found = (folder / _ABOUT).exists()
    for file in [folder / _ABOUT, *folder.glob("*.safetensors")]:
        if file.name == _ABOUT or re.fullmatch(r"[0-9a-f]{16}", file.stem):
            file.unlink(missing_ok=True)
    with suppress(OSError):  # something else is in it, or it was never there
        folder.rmdir()
    return found


def _refuse_unwritable(folder: Path) -> None:
    """Before the work whose result shall be written there."""
    made = not folder.exists()
    try:
        folder.mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        if made:
            folder.rmdir()
    except OSError as error:
        raise HandfulError(f"{folder}: the tuned version could not be written there: {error.strerror}") from error


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
    try:
        return _tuned_version(folder, learner)
    except CheckpointError as error:
        raise CheckpointError(
            f"{error}; `--no-tuned` (in Python tuned=False) parses without the tuned version, `handful tune` makes it "
            "anew, `handful tune --undo` removes it"
        ) from error


def _tuned_version(folder: Path, learner: Learner) -> TunedVersion | None:
    tuning = read_tuning(folder)
    if tuning is None or not isinstance(learner, JointSpansLearner):
        return None
    if tuning.checkpoint != read_about(shipped_folder()).weights_sha256:
        warnings.warn(
            f"{folder}: was made with another version of handful's checkpoint and is not used: `handful tune` makes it "
            "anew",
            stacklevel=4,
        )
        return None
    return TunedVersion(_load_tuned(folder, tuning, learner), tuning)


def _load_tuned(folder: Path, tuning: Tuning, learner: JointSpansLearner) -> JointSpansLearner:
    """A copy of the learner with the tuned weights."""
    copy = learner.twin()
    file = folder / Path(tuning.weights).name  # never a path out of the folder
    load_weights(copy.network, read_tensors(file, tuning.weights_sha256), file)
    return copy
