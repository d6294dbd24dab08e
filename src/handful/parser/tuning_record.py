"""What is noted of a bot's tuning, in a folder beside its file: `bot.yml` has `bot.yml.tuned/`. Read without torch."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from handful.data.bio import utterance_tags
from handful.errors import CheckpointError
from handful.places import beside
from handful.training.records import read_record
from handful.types import Utterance

if TYPE_CHECKING:
    from handful.parser.tune import Outcome

FORMAT = 1
TUNING = "tuning.json"
MEND_TUNING = (
    "; `--no-tuned` (in Python tuned=False) parses without the tuned version, `handful tune` makes it anew, "
    "`handful tune --undo` removes it"
)


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
    return beside(bot, "tuned")


def read_tuning(folder: Path) -> Tuning | None:
    """None where the bot was never tuned."""
    try:
        return read_record(folder / TUNING, Tuning, FORMAT)
    except (FileNotFoundError, NotADirectoryError):
        return None


def usable_tuning(bot: Path, checkpoint: str) -> Tuning | None:
    """The bot's tuning, where there is one that stands on the checkpoint of this sum."""
    folder = tuned_folder(bot)
    try:
        tuning = read_tuning(folder)
    except CheckpointError as error:
        raise CheckpointError(f"{error}{MEND_TUNING}") from error
    if tuning is not None and tuning.checkpoint != checkpoint:
        warnings.warn(
            f"{folder}: was made with another version of handful's checkpoint and is not used: `handful tune` makes it "
            "anew",
            stacklevel=4,
        )
        return None
    return tuning


def example_digest(utterance: Utterance) -> str:
    """A short name of an example's exact content."""
    row = [utterance.intent, *utterance.sentence, *utterance_tags(utterance)]
    return hashlib.sha256("\x1f".join(row).encode()).hexdigest()[:16]
