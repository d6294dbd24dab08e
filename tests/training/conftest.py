from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from handful.training.config import RunConfig
from handful.training.loop import Trainer
from handful.training.run import RunFolder
from handful.training.start import prepare_run


@pytest.fixture
def tiny_config(tiny_bert: Path) -> Callable[..., RunConfig]:
    """Settings of a run that takes a second."""

    def made(**changes: Any) -> RunConfig:
        values: dict[str, Any] = {
            "data": "atis",
            "epochs": 3,
            "episodes_per_epoch": 4,
            "encoder": {"name": str(tiny_bert), "frozen_layers": 1},
            "optimiser": {"warmup_steps": 2, "learning_rate": 0.01},
            "dev": {"episodes": 2},
        }
        return RunConfig.model_validate({**values, **changes})

    return made


@pytest.fixture
def start(tiny_data: Path) -> Callable[..., Trainer]:
    def started(config: RunConfig, folder: Path, **options: Any) -> Trainer:
        return prepare_run(config, RunFolder(folder), data_dir=tiny_data, **options)

    return started


@pytest.fixture
def trained(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    tiny_config: Callable[..., RunConfig],
    start: Callable[..., Trainer],
) -> Path:
    """The folder of a finished run of one epoch: a copy, to be damaged at will."""
    kept = tmp_path_factory.getbasetemp() / "trained"
    if not kept.exists():
        list(start(tiny_config(epochs=1), kept.with_name("in training")).train())
        kept.with_name("in training").rename(kept)
    return Path(shutil.copytree(kept, tmp_path / "run"))
