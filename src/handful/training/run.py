"""A run's folder: its settings, its event log, what is needed to go on, and the best checkpoint.

    config.json      all settings
    events.jsonl     one event a line
    state.json       how far it is; names the two files below (state/)
    checkpoint/      the best weights so far (checkpoint.py)

state.json is the one commit point: it is replaced in one step, after everything that it names is on disk. What was
written after it is written again, the same, by the run that goes on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from handful.data.formats.files import write_text
from handful.errors import CheckpointError, ConfigError
from handful.training.checkpoint import (
    load_weights,
    read_about,
    read_tensors,
    remove_half_written,
    remove_unnamed,
    trained_weights,
    write_tensors,
)
from handful.training.config import RunConfig
from handful.training.events import Event, as_record
from handful.training.records import read_events, read_record

try:
    import fcntl
except ImportError:  # no such locks on this system
    fcntl = None

LOG = "events.jsonl"
HELD = "another process is training in this folder"
_STATE_FORMAT = 1


class Progress(BaseModel):
    """How far a run is."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    step: int = Field(default=0, ge=0)
    scored_step: int = Field(default=0, ge=0)  # the last one after which dev episodes were scored
    best: float | None = None
    best_step: int = Field(default=0, ge=0)
    epochs_without_better: int = Field(default=0, ge=0)
    seconds: float = Field(default=0.0, ge=0)
    finished: str | None = None


class Ground(BaseModel):
    """What a run stands on and does not hold: encoder and data, by their sums. A name may come to mean another."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    encoder: str
    data: str


class _State(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    format: int = Field(ge=1)
    ground: Ground
    progress: Progress
    weights: str
    weights_sha256: str
    optimiser: str
    optimiser_sha256: str
    log_bytes: int = Field(ge=0)


class RunFolder:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._log = folder / LOG

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    def refuse_existing(self) -> None:
        if (self.folder / "config.json").exists():
            raise ConfigError(f"{self.folder}: there is a run already; --resume goes on with it, --into names another")
        if self.folder.exists() and not self.folder.is_dir():
            raise ConfigError(f"{self.folder}: found a file, expected a folder or nothing; --into names another")
        # A process that was killed while it wrote config.json left a part of it, and no run.
        if self.folder.is_dir() and any(not file.match(".config.json.*") for file in self.folder.iterdir()):
            raise ConfigError(f"{self.folder}: the folder holds other files and no run; --into names another")

    def create(self, config: RunConfig) -> None:
        write_text(self.folder / "config.json", json.dumps(config.model_dump(mode="json"), indent=1) + "\n")

    def check_config(self, config: RunConfig) -> None:
        """A run goes on with the settings that it was started with."""
        file = self.folder / "config.json"
        try:
            before = read_record(file, RunConfig, _STATE_FORMAT)
        except FileNotFoundError:
            raise ConfigError(f"{self.folder}: there is no run to resume") from None
        if before != config:
            old, new = before.model_dump(mode="json"), config.model_dump(mode="json")
            changed = sorted(key for key in new if new[key] != old.get(key))
            raise ConfigError(f"{self.folder}: was started with other settings ({', '.join(changed)}); start a new run")

    def delivered(self, ground: Ground) -> bool:
        """Whether the run was brought to its end elsewhere, and came here without what is needed to go on."""
        if (self.folder / "state.json").exists() or not self.complete():
            return False
        about = read_about(self.checkpoint)
        self._refuse_other(Ground(encoder=about.encoder, data=about.data_version), ground)
        return True

    def complete(self) -> bool:
        """Whether its log says that it is at its end."""
        events = read_events(self._log)
        return bool(events) and events[-1]["event"] == "finished"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Two processes must not train in one folder: each would cut the other's log and remove its weights."""
        with (self.folder / ".lock").open("w") as lock:
            if fcntl is not None:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError as error:
                    raise ConfigError(f"{self.folder}: {HELD}") from error
            yield

    def log(self, event: Event) -> None:
        with self._log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(as_record(event)) + "\n")

    def save(self, progress: Progress, network: nn.Module, optimiser: torch.optim.Optimizer, ground: Ground) -> None:
        state = self.folder / "state"
        weights, weights_sum = write_tensors(state, trained_weights(network))
        moments, moments_sum = write_tensors(state, _moments(network, optimiser))
        log_bytes = 0
        if self._log.exists():
            with self._log.open("rb") as file:
                os.fsync(file.fileno())
                log_bytes = file.seek(0, os.SEEK_END)
        content = _State(
            format=_STATE_FORMAT,
            ground=ground,
            progress=progress,
            weights=weights.name,
            weights_sha256=weights_sum,
            optimiser=moments.name,
            optimiser_sha256=moments_sum,
            log_bytes=log_bytes,
        )
        write_text(self.folder / "state.json", content.model_dump_json(indent=1) + "\n")
        remove_unnamed(state, [weights, moments])
        remove_half_written(self.folder)

    def restore(self, network: nn.Module, optimiser: torch.optim.Optimizer, ground: Ground) -> Progress:
        """Weights and moments as they were, and how far that was. A new run has none."""
        state = self._read_state()
        if state is None:
            return Progress()
        self._refuse_other(state.ground, ground)
        weights = self.folder / "state" / Path(state.weights).name
        load_weights(network, read_tensors(weights, state.weights_sha256), weights)
        moments = self.folder / "state" / Path(state.optimiser).name
        _restore_moments(network, optimiser, read_tensors(moments, state.optimiser_sha256), moments)
        return state.progress

    def _refuse_other(self, before: Ground, now: Ground) -> None:
        for what, old, new in (("encoder weights", before.encoder, now.encoder), ("data", before.data, now.data)):
            if old != new:
                raise ConfigError(
                    f"{self.folder}: was started on other {what} than those found here: expected {old!r}, "
                    f"found {new!r}; start a new run"
                )

    def cut_log(self) -> None:
        """Back to where the saved state was: what came after it comes again."""
        state = self._read_state()
        if state is None:
            self._log.unlink(missing_ok=True)
        elif self._log.exists():
            os.truncate(self._log, min(state.log_bytes, self._log.stat().st_size))

    def _read_state(self) -> _State | None:
        try:
            return read_record(self.folder / "state.json", _State, _STATE_FORMAT)
        except FileNotFoundError:
            return None


def _moments(network: nn.Module, optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """AdamW's running means and step counts, by the parameters' names."""
    found: dict[str, Tensor] = {}
    for name, parameter in network.named_parameters():
        for key, value in optimiser.state.get(parameter, {}).items():
            found[f"{key}:{name}"] = value.detach().contiguous().cpu()
    return found


def _restore_moments(
    network: nn.Module, optimiser: torch.optim.Optimizer, moments: Mapping[str, Tensor], source: Path
) -> None:
    parameters = dict(network.named_parameters())
    for key, value in moments.items():
        kind, _, name = key.partition(":")
        if name not in parameters or value.shape != (() if kind == "step" else parameters[name].shape):
            raise CheckpointError(f"{source}: {key} does not belong to this model")
        for other in ("step", "exp_avg", "exp_avg_sq"):
            if f"{other}:{name}" not in moments:
                raise CheckpointError(f"{source}: {other}:{name} is missing")
        place = value if kind == "step" else value.to(parameters[name].device)
        optimiser.state[parameters[name]][kind] = place.clone()
