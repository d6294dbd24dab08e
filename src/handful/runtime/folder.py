"""A model's folder for parsing without torch: model.json, model.onnx, tokenizer.json and heads.npz.

Nothing in it can run: JSON is data, ONNX is a graph of known operators, and arrays are read with pickles refused.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from tokenizers import Tokenizer

from handful.encoders.digests import sha256_once
from handful.encoders.encoding import Array
from handful.encoders.pieces import PieceReader, SpecialPieces
from handful.errors import CheckpointError
from handful.learners.bot_heads import HeadFitting
from handful.learners.slot_fitting import SlotFitting
from handful.model.span_maps import SpanMaps
from handful.runtime.graph import GraphEncoder
from handful.runtime.spans import ExportedSpans, SpanSettings

FORMAT = 2
ABOUT, GRAPH, TOKENIZER, HEADS = "model.json", "model.onnx", "tokenizer.json", "heads.npz"
Precision = Literal["int8", "float32"]


@dataclass(frozen=True, slots=True)
class AboutModel:
    """model.json."""

    format: int
    precision: Precision
    weights: str  # the sha256 of the trained weights that were exported
    encoder: str  # the frozen part, by its sums
    width: int
    special: SpecialPieces
    room: int  # pieces that the encoder reads at once, [CLS] and [SEP] not counted
    evidence: float
    slot_repeats: str
    fitting: HeadFitting
    sums: dict[str, str]  # of the other files

    def __post_init__(self) -> None:
        if self.precision not in get_args(Precision) or self.slot_repeats not in ("shown", "free"):
            raise ValueError(f"found the settings {self.precision!r} and {self.slot_repeats!r}")
        if not all(isinstance(text, str) for text in (self.weights, self.encoder)) or not isinstance(self.sums, dict):
            raise ValueError("a name or a sum is no text")
        if not isinstance(self.evidence, int | float) or not all(
            isinstance(number, int) for number in (self.width, self.room, *asdict(self.special).values())
        ):
            raise ValueError("a number is none")

    @property
    def identity(self) -> str:
        """The same identity, the same numbers: encodings that are kept are named by it."""
        return f"{FORMAT} {self.precision} {self.weights} {self.encoder}"

    def as_json(self) -> str:
        return json.dumps(asdict(self), indent=1) + "\n"


def read_about_model(folder: Path) -> AboutModel:
    file = folder / ABOUT
    try:
        content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if content["format"] > FORMAT:
            raise CheckpointError(f"{file}: format {content['format']} is newer than {FORMAT}: upgrade handful")
        fitting = content["fitting"]
        fitting = HeadFitting(**{**fitting, "slots": SlotFitting(**fitting["slots"])})
        return AboutModel(**{**content, "special": SpecialPieces(**content["special"]), "fitting": fitting})
    except FileNotFoundError:
        raise CheckpointError(f"{folder}: found no {ABOUT}, expected the folder of an exported model") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{file}: cannot be read: {error}; the file is damaged or not ours") from None


def load_exported(folder: Path, *, threads: int | None = None) -> tuple[ExportedSpans, AboutModel]:
    about = read_about_model(folder)
    for name in (GRAPH, TOKENIZER, HEADS):
        if sha256_once(folder / name) != about.sums.get(name):
            raise CheckpointError(
                f"{folder / name}: the sha256 is not the one that {ABOUT} notes: the file is damaged or was replaced; "
                "export the model again"
            )
    try:
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    except Exception as error:  # nothing narrower: it raises plain ones
        raise CheckpointError(f"{folder / TOKENIZER}: cannot be read: {error}") from error
    reader = PieceReader(tokenizer, about.special, about.room)
    settings = SpanSettings(about.evidence, about.slot_repeats, about.fitting)
    return ExportedSpans(
        GraphEncoder(folder / GRAPH, reader, threads), SpanMaps.from_arrays(read_arrays(folder / HEADS)), settings
    ), about


def read_arrays(file: Path) -> dict[str, Array]:
    try:
        with np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise CheckpointError(f"{file}: cannot be read: {error}") from error
