"""The encoder as an ONNX graph: pieces in, hidden states out, of the frozen layers and of the last one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime

from handful.encoders.encoding import Array
from handful.encoders.pieces import Layout, PieceReader, layouts, like_lengths
from handful.errors import CheckpointError
from handful.types import Words

INPUTS, OUTPUTS = ("ids", "mask"), ("frozen", "states")
PIECES_A_BATCH = 256  # padded: larger ones are slower, for all the padding
# ONNX Runtime makes one node of a sum and its layer norm, which takes seven times as long as the two.
_NOT_TO_FUSE = ["SkipLayerNormFusion"]


def new_session(model: Path | bytes, threads: int | None = None) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if threads is not None:
        options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(
        model, options, providers=["CPUExecutionProvider"], disabled_optimizers=_NOT_TO_FUSE
    )


@dataclass(frozen=True, slots=True, eq=False)
class Hidden:
    """Hidden states of a sentence's pieces, window after window, and where its words lie in them."""

    frozen: Array  # [P, d]
    states: Array  # [P, d]
    layout: Layout


class GraphEncoder:
    def __init__(self, file: Path, reader: PieceReader, threads: int | None = None) -> None:
        try:
            self._session = new_session(file, threads)
        except Exception as error:  # of many kinds, all of them its own
            raise CheckpointError(f"{file}: ONNX Runtime cannot load it: {error}") from error
        self._reader = reader

    def hidden(self, sentences: Sequence[Words]) -> list[Hidden]:
        windows = self._reader.windows(sentences)
        found: dict[int, tuple[Array, Array]] = {}
        lengths = [window.length for window in windows]
        for batch in like_lengths(lengths, PIECES_A_BATCH):
            ids, mask = self._reader.ids([windows[row] for row in batch])
            outputs = self._session.run(OUTPUTS, {"ids": ids, "mask": mask})
            frozen, states = (np.asarray(output) for output in outputs)
            for place, row in enumerate(batch):
                found[row] = frozen[place, : lengths[row]], states[place, : lengths[row]]
        parts = iter(range(len(windows)))
        return [
            self._joined([found[next(parts)] for _ in own.windows], own) for own in layouts(windows, len(sentences))
        ]

    @staticmethod
    def _joined(parts: Sequence[tuple[Array, Array]], layout: Layout) -> Hidden:
        if len(parts) == 1:
            return Hidden(*parts[0], layout)
        frozen, states = (np.concatenate(column) for column in zip(*parts, strict=True))
        return Hidden(frozen, states, layout)
