"""Learners by name, for the command line and the parser: both offer the same ones."""

from __future__ import annotations

from typing import Literal, assert_never, get_args

from handful.learners.learner import Learner

LearnerName = Literal["prototypes"]
LEARNERS: tuple[LearnerName, ...] = get_args(LearnerName)


def build_learner(name: LearnerName) -> Learner:
    """A learner on the default encoder. Torch is imported here, not before."""
    from handful.encoders.memory import RememberingEncoder
    from handful.encoders.minilm import minilm_folder
    from handful.encoders.transformer import TransformerEncoder
    from handful.learners.prototypes import PrototypeLearner

    match name:
        case "prototypes":
            return PrototypeLearner(RememberingEncoder(TransformerEncoder(minilm_folder())))
        case _:
            assert_never(name)
