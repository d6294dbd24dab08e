"""Learners by name, for the command line and the parser: both offer the same ones."""

from __future__ import annotations

from typing import Literal, assert_never, get_args

from handful.learners.learner import Learner

LearnerName = Literal["prototypes"]
LEARNERS: tuple[LearnerName, ...] = get_args(LearnerName)


def build_learner(name: LearnerName, *, remember: bool = False) -> Learner:
    """A learner on the default encoder. Torch is imported here, not before.

    `remember` keeps every encoding: right for an evaluation, whose episodes share utterances; a parser would only
    hoard what its users say.
    """
    from handful.encoders.memory import RememberingEncoder
    from handful.encoders.minilm import minilm_folder
    from handful.encoders.transformer import TransformerEncoder
    from handful.learners.prototypes import PrototypeLearner

    match name:
        case "prototypes":
            encoder = TransformerEncoder(minilm_folder())
            return PrototypeLearner(RememberingEncoder(encoder) if remember else encoder)
        case _:
            assert_never(name)
