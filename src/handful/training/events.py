"""What happens in a run, as values: the progress bar, the JSONL log, TensorBoard and the tests read the same ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Prepared:
    """Frozen features are computed once, before the first step."""

    sentences: int


@dataclass(frozen=True, slots=True)
class StepDone:
    step: int  # from 1
    episodes: tuple[int, ...]  # their numbers
    loss: float
    parts: Mapping[str, float]
    learning_rate: float
    gradient_norm: float
    seconds: float  # of training so far, over all sittings


@dataclass(frozen=True, slots=True)
class DevScored:
    epoch: int  # from 1
    step: int
    scores: Mapping[str, float]  # in percent
    chosen_by: float  # what the checkpoint is chosen by
    best: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class Finished:
    step: int
    best_step: int
    reason: str  # "planned" or "no better"
    seconds: float


Event = Prepared | StepDone | DevScored | Finished

_NAMES = {Prepared: "prepared", StepDone: "step", DevScored: "dev", Finished: "finished"}


def as_record(event: Event) -> dict[str, Any]:
    return {"event": _NAMES[type(event)], **asdict(event)}
