"""A bot's tuned weights, in a folder beside its file: `bot.yml` has `bot.yml.tuned/`: tuning.json and a
safetensors file.

They stand on one checkpoint, named by its sum, and were made from certain examples, named by theirs. Examples that came
later are compared with as any others; the tuning is stale then, and is told to be.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Generator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from handful.data.formats.files import write_text
from handful.errors import CheckpointError, ConfigError, HandfulError
from handful.learners.joint_spans import JointSpansConfig, JointSpansLearner
from handful.parser.bot import load_bot
from handful.parser.tune import STEPS, TuningProgress, TuningReport, tune
from handful.parser.tuning_record import (
    FORMAT,
    MEND_TUNING,
    TUNING,
    Scores,
    Tuning,
    example_digest,
    tuned_folder,
)
from handful.training.checkpoint import (
    load_weights,
    read_tensors,
    remove_unnamed,
    trained_weights,
    write_tensors,
)
from handful.training.shipped import shipped_folder
from handful.training.start import load_learner, read_run
from handful.types import Utterance


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
    bot = load_bot(path, format)
    examples = bot.document.utterances
    folder = tuned_folder(path)
    _refuse_unwritable(folder)
    # Frozen features are kept: every step sees the same examples.
    checkpoint = bot.settings.checkpoint or shipped_folder()
    # Looked at before it is given a bot's descriptions, which other learners have no place for.
    found = read_run(checkpoint).config.learner
    changes = {"descriptions": dict(bot.descriptions)} if isinstance(found, JointSpansConfig) else {}
    learner, about = load_learner(checkpoint, changes=changes)
    if not isinstance(learner, JointSpansLearner):
        raise ConfigError(f"{checkpoint}: found a model of {found.name}, expected one of joint_spans")
    settings = {"steps": steps, "folds": folds, "seed": seed}
    report = yield from tune(learner, examples, seconds=seconds, **settings)
    if report.learner is not None:
        save_tuning(folder, report, examples, checkpoint=about.weights_sha256, settings=settings)
    else:
        remove_tuning(folder)
    return report


def remove_tuning(folder: Path) -> bool:
    """Removes what is ours, readable or not, and the folder if nothing else is in it. Was there anything?"""
    found = (folder / TUNING).exists()
    for file in [folder / TUNING, *folder.glob("*.safetensors")]:
        if file.name == TUNING or re.fullmatch(r"[0-9a-f]{16}", file.stem):
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
        format=FORMAT,
        checkpoint=checkpoint,
        **settings,
        before=Scores.of(report.before),
        after=Scores.of(report.after),
        seconds=round(report.seconds, 1),
        examples=tuple(map(example_digest, examples)),
        weights=weights.name,
        weights_sha256=total,
    )
    write_text(folder / TUNING, json.dumps(tuning.model_dump(mode="json"), indent=1) + "\n")
    remove_unnamed(folder, [weights])
    return tuning


def load_tuned(bot: Path, tuning: Tuning, learner: JointSpansLearner) -> JointSpansLearner:
    """A copy of the learner with the bot's tuned weights."""
    copy = learner.twin()
    file = tuned_folder(bot) / Path(tuning.weights).name  # never a path out of the folder
    try:
        load_weights(copy.network, read_tensors(file, tuning.weights_sha256), file)
    except CheckpointError as error:
        raise CheckpointError(f"{error}{MEND_TUNING}") from error
    return copy
