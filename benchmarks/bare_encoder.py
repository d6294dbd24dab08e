"""The int8 encoder and nothing else: what a parse and a start cannot be quicker than.

python benchmarks/bare_encoder.py FOLDER TEXT     # loads it, encodes one text, says the shape

handful itself is not imported, so that a new process shows what tokenizer and session cost alone.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer


class BareEncoder:
    """Text to hidden states, with the tokenizer and the graph of an exported model."""

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        if threads is not None:
            options.intra_op_num_threads = threads
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._session = onnxruntime.InferenceSession(
            str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
        )

    def forward(self, text: str) -> np.ndarray:
        ids = np.array([self._tokenizer.encode(text).ids], dtype=np.int64)
        mask = np.ones_like(ids)
        feeds = dict(zip([given.name for given in self._session.get_inputs()], (ids, mask), strict=True))
        return np.asarray(self._session.run(None, feeds)[-1])


if __name__ == "__main__":
    print(BareEncoder(Path(sys.argv[1])).forward(sys.argv[2]).shape)
