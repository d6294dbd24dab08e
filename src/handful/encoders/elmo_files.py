"""ELMo's official files, options.json and weights.hdf5: what must be in them, and their tensors as elmo.py wants them.

The names and layouts are those of bilm-tf, which wrote the files: matrices are [in, out], as TensorFlow has them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt, ValidationError
from torch import Tensor

from handful.errors import CheckpointError

if TYPE_CHECKING:
    import h5py

# 256 bytes, then the beginning and end of a sentence, the beginning and end of a word, and padding.
CHARACTERS = 261
_FORGET_BIAS = 1.0  # LSTMCell's default, which the files' own biases leave out

# The compressions that HDF5 has built in. Any other would have it look for a plug-in, and run that.
_OWN_FILTERS = range(1, 7)


class _Part(BaseModel):
    # A file has much besides, of how it was trained. Its n_characters is not read: it is 261 in files
    # as trained and 262 in files as published (with a row for masks, which we never look up).
    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class CharacterEmbedding(_Part):
    dim: PositiveInt


class CharacterCnn(_Part):
    activation: Literal["relu", "tanh"]
    # strict=False: JSON has no tuples.
    filters: Annotated[tuple[tuple[PositiveInt, PositiveInt], ...], Field(min_length=1, strict=False)]  # width, number
    embedding: CharacterEmbedding
    max_characters_per_token: Annotated[int, Field(ge=3)]  # the marks around a word, and at least one of its bytes
    n_highway: Annotated[int, Field(ge=0)] = 0

    @property
    def width(self) -> int:
        return sum(number for _, number in self.filters)


class Lstm(_Part):
    dim: PositiveInt
    projection_dim: PositiveInt
    use_skip_connections: bool
    n_layers: PositiveInt = 1
    cell_clip: PositiveFloat | None = None
    proj_clip: PositiveFloat | None = None


class Options(_Part):
    char_cnn: CharacterCnn
    lstm: Lstm


@dataclass(frozen=True, slots=True)
class Linear:
    weight: Tensor  # [in, out]; of a convolution [out, in, width]
    bias: Tensor  # [out]


@dataclass(frozen=True, slots=True)
class Highway:
    carry: Linear
    transform: Linear


@dataclass(frozen=True, slots=True)
class Cell:
    """An LSTM cell. The gates lie side by side: input, new, forget, output."""

    of_input: Tensor  # [in, 4h]
    of_state: Tensor  # [out, 4h]
    bias: Tensor  # [4h], the forget gate's with the 1.0 that TensorFlow adds
    projection: Tensor | None  # [h, out]


@dataclass(frozen=True, slots=True)
class Weights:
    characters: Tensor  # [261, c]
    convolutions: tuple[Linear, ...]
    highways: tuple[Highway, ...]
    projection: Linear | None
    forward: tuple[Cell, ...]
    backward: tuple[Cell, ...]


def read_options(path: Path) -> Options:
    try:
        options = Options.model_validate_json(path.read_bytes())
    except OSError as error:
        raise CheckpointError(f"{path}: cannot be read: {error.strerror}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = "/".join(map(str, first["loc"]))
        found = "no such key" if first["type"] == "missing" else _shown(first["input"])
        at = f"{path}: {place}" if place else f"{path}"
        raise CheckpointError(f"{at}: found {found}, expected the options of ELMo: {first['msg']}") from error
    cnn, lstm = options.char_cnn, options.lstm
    widest = max(width for width, _ in cnn.filters)
    if widest > cnn.max_characters_per_token:
        raise CheckpointError(
            f"{path}: char_cnn/filters: found a filter of {widest} characters, "
            f"expected at most the {cnn.max_characters_per_token} of max_characters_per_token"
        )
    if lstm.dim < lstm.projection_dim:
        raise CheckpointError(
            f"{path}: lstm/dim: found {lstm.dim}, expected at least projection_dim's {lstm.projection_dim}"
        )
    return options


def read_weights(path: Path, options: Options) -> Weights:
    try:
        import h5py
    except ImportError as error:
        raise CheckpointError(f"{path}: the weights of ELMo need h5py: pip install 'handful[elmo]'") from error
    try:
        with h5py.File(path, "r") as file:
            return _weights(_Reader(path, file), options)
    # h5py's words for a damaged file are of any of these kinds.
    except (OSError, RuntimeError, KeyError, ValueError) as error:
        raise CheckpointError(f"{path}: found {error}, expected a whole HDF5 file of ELMo's weights") from error


@dataclass(frozen=True, slots=True)
class _Reader:
    path: Path
    file: h5py.File

    def __call__(self, name: str, *shape: int) -> Tensor:
        """The dataset `name`, once it is known to be numbers of this shape that lie in this very file."""
        import h5py

        expected = f"expected floats of shape {list(shape)}"
        found = self.file.get(name)
        if not isinstance(found, h5py.Dataset):
            raise CheckpointError(f"{self.path}: {name}: found no such dataset, {expected}")
        if found.shape != shape or found.dtype.kind != "f":
            raise CheckpointError(
                f"{self.path}: {name}: found {found.dtype} of shape {list(found.shape or ())}, {expected}"
            )
        filters = found.id.get_create_plist()
        own = all(filters.get_filter(index)[0] in _OWN_FILTERS for index in range(filters.get_nfilters()))
        if not own or found.is_virtual or found.external or found.file.filename != self.file.filename:
            raise CheckpointError(
                f"{self.path}: {name}: found data in another file or of a foreign compression, {expected} in this one"
            )
        values = np.asarray(found[...], dtype=np.float32)
        if not np.isfinite(values).all():
            raise CheckpointError(f"{self.path}: {name}: found values that are not finite, {expected}")
        return torch.from_numpy(values)


def _weights(read: _Reader, options: Options) -> Weights:
    cnn, out = options.char_cnn, options.lstm.projection_dim
    return Weights(
        characters=read("char_embed", CHARACTERS, cnn.embedding.dim),
        convolutions=tuple(
            Linear(
                # TensorFlow's [1, width, in, out] as PyTorch's [out, in, width].
                read(f"CNN/W_cnn_{index}", 1, width, cnn.embedding.dim, number)[0].permute(2, 1, 0).contiguous(),
                read(f"CNN/b_cnn_{index}", number),
            )
            for index, (width, number) in enumerate(cnn.filters)
        ),
        highways=tuple(
            Highway(
                *(
                    Linear(
                        read(f"CNN_high_{index}/W_{gate}", cnn.width, cnn.width),
                        read(f"CNN_high_{index}/b_{gate}", cnn.width),
                    )
                    for gate in ("carry", "transform")
                )
            )
            for index in range(cnn.n_highway)
        ),
        # bilm-tf makes no projection where there is nothing to change.
        projection=Linear(read("CNN_proj/W_proj", cnn.width, out), read("CNN_proj/b_proj", out))
        if cnn.width != out
        else None,
        forward=tuple(_cell(read, 0, layer, options.lstm) for layer in range(options.lstm.n_layers)),
        backward=tuple(_cell(read, 1, layer, options.lstm) for layer in range(options.lstm.n_layers)),
    )


def _cell(read: _Reader, direction: int, layer: int, lstm: Lstm) -> Cell:
    root = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
    kernel = read(f"{root}/W_0", 2 * lstm.projection_dim, 4 * lstm.dim)
    bias = read(f"{root}/B", 4 * lstm.dim)
    bias[2 * lstm.dim : 3 * lstm.dim] += _FORGET_BIAS
    projected = lstm.projection_dim < lstm.dim
    return Cell(
        of_input=kernel[: lstm.projection_dim],
        of_state=kernel[lstm.projection_dim :],
        bias=bias,
        projection=read(f"{root}/W_P_0", lstm.dim, lstm.projection_dim) if projected else None,
    )


def _shown(value: object) -> str:
    shown = repr(value.decode(errors="replace") if isinstance(value, bytes) else value)
    return shown if len(shown) <= 60 else f"{shown[:60]}…"
