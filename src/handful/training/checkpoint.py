"""Checkpoints: a folder of safetensors and JSON that holds what was trained, and names the encoder it stands on.

Nothing in it can run: JSON is data, and safetensors are numbers with names.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Collection, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import transformers
from pydantic import BaseModel, ConfigDict, Field
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from handful.data.formats.files import write_text
from handful.encoders.digests import sha256_of
from handful.errors import CheckpointError, listed
from handful.training.config import RunConfig
from handful.training.records import read_record
from handful.training.scoring import METRICS

FORMAT = 1
ABOUT = "checkpoint.json"


class About(BaseModel):
    """checkpoint.json: what the weights are, how they were made, and how they scored."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: int = Field(ge=1)
    config: RunConfig
    encoder: str  # the frozen part, by its sums
    weights: str  # the file's name
    weights_sha256: str
    step: int
    dev: dict[str, float]  # means over the dev episodes, in percent; empty where there were none
    train_seconds: float
    data_version: str
    versions: dict[str, str]

    def model_post_init(self, _: Any) -> None:
        if self.dev and set(self.dev) != set(METRICS):
            raise ValueError(f"found the dev scores {sorted(self.dev)}, expected {sorted(METRICS)}")


def versions() -> dict[str, str]:
    return {
        "handful": version("handful"),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "numpy": np.__version__,
    }


def trained_weights(network: nn.Module) -> dict[str, Tensor]:
    """What training changes; frozen weights are the named encoder's and stay there."""
    return {name: p.detach().contiguous().cpu() for name, p in network.named_parameters() if p.requires_grad}


def load_weights(network: nn.Module, weights: Mapping[str, Tensor], source: Path) -> None:
    expected = {name: parameter for name, parameter in network.named_parameters() if parameter.requires_grad}
    missing, unknown = sorted(expected.keys() - weights.keys()), sorted(weights.keys() - expected.keys())
    if missing or unknown:
        found = "; ".join(
            f"{what} {listed(names, 3)}" for what, names in (("lacks", missing), ("has also", unknown)) if names
        )
        raise CheckpointError(f"{source}: the weights are not those of this model: the file {found}")
    for name, parameter in expected.items():
        found = weights[name]
        # Half precision is for files: it is read, and computed with as what the network has.
        if parameter.shape != found.shape or found.dtype not in {parameter.dtype, torch.float16}:
            raise CheckpointError(
                f"{source}: {name} has the shape {list(found.shape)} of {found.dtype}, "
                f"expected {list(parameter.shape)} of {parameter.dtype}"
            )
    with torch.no_grad():
        for name, parameter in expected.items():
            parameter.copy_(weights[name])


def save_checkpoint(
    folder: Path,
    trained: Mapping[str, Tensor],
    about: Mapping[str, Any],
    precision: Literal["float32", "float16"] = "float32",
) -> None:
    """Whole or not at all: checkpoint.json names its weights, and takes the place of the one before in one step."""
    if precision == "float16":
        trained = {name: weight.half() for name, weight in trained.items()}
    weights, total = write_tensors(folder, trained)
    content = {"format": FORMAT, **about, "weights": weights.name, "weights_sha256": total, "versions": versions()}
    checked = About.model_validate(content)
    write_text(folder / ABOUT, json.dumps(checked.model_dump(mode="json"), indent=1) + "\n")
    remove_unnamed(folder, [weights])


def write_tensors(folder: Path, tensors: Mapping[str, Tensor]) -> tuple[Path, str]:
    """A file that is named by its own content: what is there under that name is complete. Returns it and its sha256."""
    temporary = folder / f".{os.getpid()}.partial"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        save_file(dict(tensors), temporary)
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.chmod(0o644)  # safetensors makes files that nobody else may read
        total = sha256_of(temporary)
        return temporary.replace(folder / f"{total[:16]}.safetensors"), total
    except (OSError, SafetensorError) as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise CheckpointError(f"{folder}: weights cannot be written: {error}") from error


def remove_unnamed(folder: Path, named: Collection[Path]) -> None:
    """Tensors that nothing names any more."""
    for file in folder.glob("*.safetensors"):
        if file not in named:
            file.unlink()
    remove_half_written(folder)


def remove_half_written(folder: Path) -> None:
    """What killed processes left: the temporary files of write_tensors and write_text."""
    for pattern in (".*.partial", ".*.json.*"):
        for file in folder.glob(pattern):
            file.unlink(missing_ok=True)


def read_about(folder: Path) -> About:
    try:
        return read_record(folder / ABOUT, About, FORMAT)
    except (FileNotFoundError, NotADirectoryError):
        raise CheckpointError(f"{folder}: found no {ABOUT}, expected the folder of a checkpoint or of a run") from None


def read_checkpoint(folder: Path) -> tuple[About, dict[str, Tensor]]:
    """What the weights are, and the weights, at once: a run in training may replace both at any moment."""
    about = read_about(folder)
    while True:
        try:
            # Path.name: never a path out of the folder.
            return about, read_tensors(folder / Path(about.weights).name, about.weights_sha256)
        except CheckpointError:
            newer = read_about(folder)
            if newer == about:
                raise
            about = newer


def load_checkpoint_weights(
    folder: Path, about: About, weights: Mapping[str, Tensor], network: nn.Module, encoder_name: str
) -> None:
    """Puts the checkpoint's weights into a network that was built from its own settings."""
    if about.encoder != encoder_name:
        raise CheckpointError(
            f"{folder}: it was trained on other encoder weights than those found here: expected {about.encoder!r}, "
            f"found {encoder_name!r}"
        )
    load_weights(network, weights, folder / Path(about.weights).name)


def read_tensors(file: Path, expected_sum: str) -> dict[str, Tensor]:
    try:
        if sha256_of(file) != expected_sum:
            raise CheckpointError(
                f"{file}: the sha256 is not the one that was noted for it: the file is damaged or was replaced"
            )
        return load_file(file)
    except (OSError, ValueError, SafetensorError) as error:  # ValueError: a name with a NUL
        raise CheckpointError(f"{file}: cannot be read: {error}") from error
