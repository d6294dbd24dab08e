"""Learners that are ready at once: the checkpoint that comes with the package, and the one that needs no training."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Literal, assert_never, get_args

from handful.errors import CheckpointError
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
