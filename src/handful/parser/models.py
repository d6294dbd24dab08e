"""Which model a bot is parsed with. Torch is imported only where it is asked for, or to make what is missing.

The default runs on ONNX Runtime in int8: the checkpoint's graph is made once, on first use, and kept in the cache.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from handful.data.bot_settings import RUNTIMES, BotSettings, Runtime
from handful.errors import CheckpointError, ConfigError
from handful.places import cache_dir
from handful.training.shipped import READY, ReadyName, checkpoint_sums, shipped_folder

if TYPE_CHECKING:
    from handful.learners.joint_spans import JointSpansLearner
    from handful.learners.learner import Learner
    from handful.learners.span_model import SpanModel

DEFAULT_RUNTIME: Runtime = "int8"
Progress = Callable[[str], None]
_EXPORT = 3  # to be raised when the same weights come to give another graph


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    learner: Learner | SpanModel
    identity: str  # the same identity, the same numbers


def model_for(
    settings: BotSettings,
    *,
    learner: ReadyName = "joint_spans",
    runtime: Runtime | None = None,
    progress: Progress | None = None,
    threads: int | None = None,
) -> Model:
    """By the bot's own settings; what is given here goes before them. `threads` are those of one sentence's or batch's
    way through ONNX Runtime."""
    for what, found, known in (("learner", learner, READY), ("runtime", runtime, (*RUNTIMES, None))):
        if found not in known:
            raise ConfigError(f"found the {what} {found!r}, expected {' or '.join(filter(None, known))}")
    if settings.encoder is not None and settings.checkpoint is not None:
        raise ConfigError("settings: found both encoder and checkpoint: a checkpoint brings its encoder with it")
    if learner == "prototypes" or settings.encoder is not None:
        return _prototypes(settings)
    checkpoint = settings.checkpoint or shipped_folder()
    sums = checkpoint_sums(checkpoint)
    chosen = runtime or settings.runtime or DEFAULT_RUNTIME
    if chosen == "torch":
        return Model(_torch_learner(checkpoint), f"torch {sums.weights}")

    from handful.runtime.folder import load_exported

    folder = runtime_folder(sums.weights, sums.encoder)
    if not folder.exists():
        _export(checkpoint, folder, sums.weights, progress)
    try:
        exported, about = load_exported(folder, threads=threads)
    except CheckpointError as error:
        raise CheckpointError(f"{error}; remove {folder}, and it is made anew") from error
    return Model(exported, about.identity)


def runtime_folder(weights: str, encoder: str, precision: Literal["int8", "float32"] = "int8") -> Path:
    """Where the graph of these weights is kept."""
    named = hashlib.sha256(f"{_EXPORT} {precision} {weights} {encoder}".encode()).hexdigest()
    return cache_dir() / "runtime" / named[:16]


def _prototypes(settings: BotSettings) -> Model:
    from handful.learners.choose import build_prototypes

    encoder = None if settings.encoder is None else str(settings.encoder)
    return Model(build_prototypes(encoder=encoder, remember=True), f"prototypes {encoder}")


def _torch_learner(checkpoint: Path) -> JointSpansLearner:
    from handful.learners.joint_spans import JointSpansLearner
    from handful.training.start import load_learner

    learner, about = load_learner(checkpoint, keep_features=False)
    if not isinstance(learner, JointSpansLearner):
        raise ConfigError(f"{checkpoint}: found a model of {about.config.learner.name}, expected one of joint_spans")
    return learner


def _export(checkpoint: Path, folder: Path, weights: str, progress: Progress | None) -> None:
    tell = progress or (lambda _: None)
    tell("first use of this model: loading it")
    learner = _torch_learner(checkpoint)
    from handful.runtime.export import export_model

    try:
        for step in export_model(learner, folder, weights=weights, precision="int8"):
            tell(f"first use of this model: {step}")
    except OSError as error:
        raise CheckpointError(
            f"{folder}: cannot be written: {error.strerror or error}; HANDFUL_CACHE names another place, and "
            "`--runtime torch` (in Python runtime='torch') needs none"
        ) from error
