"""Search over settings, in stages: each stage tries every combination of its values on top of the best so far.

One stage with three settings is a full grid; three stages with one setting each are a coarse search. A run is a
folder named by its settings' digest, so a sweep that is stopped goes on where it was, and shares runs with others.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from handful.errors import ConfigError, DataError, Problem, TrainingError
from handful.settings import Settings
from handful.training.checkpoint import About, read_about
from handful.training.config import RunConfig, apply_change, load_config, place_of, plain, read_mapping, told
from handful.training.events import Event
from handful.training.run import RunFolder

Values = dict[str, Any]


class SweepPlan(Settings):
    base: Path | None = None  # a file with the settings of every run; relative to the plan's own
    set: dict[str, Any] = Field(default_factory=dict)  # a.b: c on top of them, or on top of the defaults
    stages: tuple[dict[str, tuple[Any, ...]], ...] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Trained:
    config: RunConfig
    folder: Path
    about: About

    @property
    def score(self) -> float:
        """What chose the checkpoint chooses the settings, too."""
        return self.config.dev.score(self.about.dev)


@dataclass(frozen=True, slots=True)
class Failed:
    """A run that could not go on, as one whose loss was not finite: its settings are out, the others are not."""

    config: RunConfig
    folder: Path
    reason: str


@dataclass(frozen=True, slots=True)
class StageBegun:
    number: int
    runs: int


@dataclass(frozen=True, slots=True)
class RunGoesOn:
    config: RunConfig
    event: Event


@dataclass(frozen=True, slots=True)
class RunDone:
    stage: int
    values: dict[str, Any]
    trained: Trained

    def record(self) -> dict[str, Any]:
        about = self.trained.about
        score = {"score": round(self.trained.score, 3), "dev": about.dev, "step": about.step}
        return {"stage": self.stage, "values": self.values, **score, "run": self.trained.folder.name}


@dataclass(frozen=True, slots=True)
class RunFailed:
    stage: int
    values: dict[str, Any]
    failed: Failed

    def record(self) -> dict[str, Any]:
        return {
            "stage": self.stage,
            "values": self.values,
            "failed": self.failed.reason,
            "run": self.failed.folder.name,
        }


@dataclass(frozen=True, slots=True)
class StageDone:
    number: int
    best: dict[str, Any]
    score: float


SweepEvent = StageBegun | RunGoesOn | RunDone | RunFailed | StageDone

# Trains many runs, here or elsewhere: events of runs under way, and each run's end once. The one seam that an
# engine for several machines has to fit.
Engine = Callable[[Sequence[RunConfig], Path], Iterable[RunGoesOn | Trained | Failed]]


def one_after_another(start: Callable[[RunConfig, RunFolder], Iterable[Event]]) -> Engine:
    """The engine of one machine. A run that is complete already ends at once, if it stands on the same ground."""

    def train(configs: Sequence[RunConfig], folder: Path) -> Iterator[RunGoesOn | Trained | Failed]:
        for config in configs:
            run = RunFolder(folder / config.digest())
            try:
                for event in start(config, run):
                    yield RunGoesOn(config, event)
            except TrainingError as error:
                yield Failed(config, run.folder, str(error))
                continue
            yield Trained(config, run.folder, read_about(run.checkpoint))

    return train


def sweep(plan: SweepPlan, base: Values, folder: Path, engine: Engine) -> Generator[SweepEvent, None, None]:
    """The stages in order. Ties go to the values that were named first."""
    chosen: dict[str, Any] = dict(plan.set)
    for number, stage in enumerate(plan.stages, 1):
        configs = {_config(base, chosen | values).digest(): values for values in _combinations(stage)}
        yield StageBegun(number, len(configs))
        found: list[tuple[dict[str, Any], Trained]] = []
        for event in engine([_config(base, chosen | values) for values in configs.values()], folder):
            match event:
                case Trained():
                    values = configs[event.config.digest()]
                    found.append((values, event))
                    yield RunDone(number, values, event)
                case Failed():
                    yield RunFailed(number, configs[event.config.digest()], event)
                case _:
                    yield event
        if not found:
            raise TrainingError(f"stage {number}: none of its {len(configs)} runs came to an end")
        order = list(configs.values())
        best, trained = max(found, key=lambda pair: (pair[1].score, -order.index(pair[0])))
        chosen |= best
        yield StageDone(number, best, trained.score)


def load_plan(path: Path) -> tuple[SweepPlan, Values]:
    """The plan, and its base settings. Every combination of a stage is tried on them, with the first values of the
    stages before, ahead of the first run."""
    document = read_mapping(path)
    try:
        plan = SweepPlan.model_validate(plain(document))
    except ValidationError as error:
        found = [wrong for wrong in error.errors() if wrong["type"] != "too_short" or error.error_count() == 1]
        # A list whose items are all wrong counts as empty as well.
        raise DataError([Problem(place_of(document, wrong), told(wrong)) for wrong in found]) from None
    base = {} if plan.base is None else load_config(path.parent / plan.base).written()
    chosen = dict(plan.set)
    for stage, written in zip(plan.stages, document.need("stages").items(), strict=True):
        found = _combinations(stage)
        if not stage or not found:
            written.fail("found a stage without values, expected settings with lists of them")
        try:
            for values in found:
                _config(base, chosen | values)
        except ConfigError as error:
            written.fail(str(error))
        chosen |= found[0]
    return plan, base


def _combinations(stage: dict[str, tuple[Any, ...]]) -> list[dict[str, Any]]:
    return [dict(zip(stage, values, strict=True)) for values in itertools.product(*stage.values())]


def changed_config(config: RunConfig, changes: Values) -> RunConfig:
    """Settings with others on top, as `a.b: c`."""
    return _config(config.written(), changes)


def _config(base: Values, changes: Values) -> RunConfig:
    values = deepcopy(base)
    for key, value in changes.items():
        apply_change(values, key, deepcopy(value))  # a later change may reach into it
    try:
        return RunConfig.model_validate(values)
    except ValidationError as error:
        raise ConfigError(f"the sweep's settings: {told(error.errors()[0])}") from None
