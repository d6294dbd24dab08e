"""Learners that are ready at once: the checkpoint that comes with the package, and the one that needs no training."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Literal, assert_never, get_args

from handful.errors import CheckpointError

if TYPE_CHECKING:
    from handful.learners.learner import Learner

ReadyName = Literal["joint_spans", "prototypes"]
READY: tuple[ReadyName, ...] = get_args(ReadyName)


def shipped_folder() -> Path:
    """The checkpoint that comes with the package (its card is CARD.md there)."""
    folder = Path(str(resources.files("handful") / "shipped"))
    if not (folder / "checkpoint.json").is_file():
        raise CheckpointError(
            f"{folder}: the checkpoint that comes with handful is not there: install the package again, or make it "
            "with `handful train configs/shipped.yml`"
        )
    return folder


@dataclass(frozen=True, slots=True)
class CheckpointSums:
    """What names a checkpoint's numbers."""

    weights: str
    encoder: str


def checkpoint_folder(folder: Path) -> Path:
    """Of a run, or of a checkpoint itself."""
    inside = folder / "checkpoint"
    return inside if (inside / "checkpoint.json").is_file() else folder


def checkpoint_sums(folder: Path) -> CheckpointSums:
    """Read as plain JSON: whoever loads the weights looks at the rest (checkpoint.py), and torch can wait."""
    file = checkpoint_folder(folder) / "checkpoint.json"
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        return CheckpointSums(str(content["weights_sha256"]), str(content["encoder"]))
    except FileNotFoundError:
        raise CheckpointError(
            f"{folder}: found no checkpoint.json, expected the folder of a checkpoint or of a run"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{file}: cannot be read: {error}; the file is damaged or not ours") from error


def ready_learner(name: ReadyName, *, remember: bool = False) -> Learner:
    """Torch is imported here, not before.

    `remember` keeps every encoding: right for an evaluation, whose episodes share utterances; a parser would only
    hoard what its users say.
    """
    match name:
        case "joint_spans":
            from handful.training.start import load_learner

            learner, _ = load_learner(shipped_folder(), remember=remember, keep_features=remember)
            return learner
        case "prototypes":
            from handful.learners.choose import build_prototypes

            return build_prototypes(remember=remember)
        case _:
            assert_never(name)
