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

    def __init__(self, folder: Path, session: onnxruntime.InferenceSession) -> None:
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._session = session

    def forward(self, text: str) -> np.ndarray:
        ids = np.array([self._tokenizer.encode(text).ids], dtype=np.int64)
        mask = np.ones_like(ids)
        feeds = dict(zip([given.name for given in self._session.get_inputs()], (ids, mask), strict=True))
        return np.asarray(self._session.run(None, feeds)[-1])


def new_session(folder: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # no word about what it cannot know of a container's processors
    return onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])


if __name__ == "__main__":
    model = Path(sys.argv[1])
    print(BareEncoder(model, new_session(model)).forward(sys.argv[2]).shape)
