"""From a trained joint_spans learner to a folder that parses without torch (runtime/folder.py).

The encoder becomes one ONNX graph (encoder_graph.py). It is written in float32 first and compared with torch on some
sentences of our own; what its products are given there says how to round their weights (quantise.py). The small maps
behind the encoder stay as they are. The folder is written beside its place and moved there whole.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from handful.encoders.digests import sha256_of
from handful.encoders.encoding import Array
from handful.encoders.layers import FrozenLayers, TrainedLayers
from handful.encoders.pieces import PieceReader, like_lengths
from handful.errors import CheckpointError, ConfigError
from handful.learners.joint_spans import JointSpansLearner
from handful.runtime.bert import bert_weights
from handful.runtime.encoder_graph import EightBitProducts, FloatProducts, encoder_graph
from handful.runtime.folder import ABOUT, FORMAT, GRAPH, HEADS, TOKENIZER, AboutModel, Precision
from handful.runtime.graph import INPUTS, OUTPUTS, new_session
from handful.runtime.samples import sample_sentences

_HIDDEN = -1e4  # added to the attention's scores of padding, as ONNX Runtime does
_PIECES_A_BATCH = 512
_NEAR = 1e-3  # what the graph's states in float32 may be off

Batch = tuple[NDArray[np.int64], NDArray[np.int64]]  # piece numbers and their mask


class _Encoder(nn.Module):
    """Frozen and trained layers as one: piece numbers and their mask, [B, T] -> two times hidden states, [B, T, d]."""

    def __init__(self, frozen: nn.Module, layers: nn.ModuleList) -> None:
        super().__init__()
        self.frozen, self.layers = frozen, layers

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        frozen = states = self.frozen(input_ids=ids, attention_mask=mask).last_hidden_state
        added = torch.where(mask[:, None, None, :] > 0, 0.0, _HIDDEN)
        for layer in self.layers:
            states = layer(states, added)
        return frozen, states


def export_model(
    learner: JointSpansLearner, folder: Path, *, weights: str, precision: Precision
) -> Generator[str, None, None]:
    """Makes the folder; yields what it is about to do. `weights` is the sum of the learner's trained weights."""
    frozen, words = learner.network.frozen, learner.network.words
    if not isinstance(frozen, FrozenLayers) or not isinstance(words, TrainedLayers):
        raise ConfigError("only models on a BERT-like encoder can be exported: use `--runtime torch`")
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        yield "writing the graph"
        encoder = bert_weights(frozen.model, words.layers)
        plain = encoder_graph(encoder, FloatProducts(), watched=precision == "int8")
        seen = _seen(plain, _Encoder(frozen.model, words.layers).eval(), words.reader)
        if precision == "int8":
            yield "storing its weights in 8 bits"
            plain = encoder_graph(encoder, EightBitProducts(seen))
        onnx.save(plain, made / GRAPH)
        reader = words.reader
        reader.tokenizer.save(str(made / TOKENIZER))
        np.savez(made / HEADS, allow_pickle=False, **learner.maps.arrays())
        about = AboutModel(
            FORMAT,
            precision,
            weights,
            learner.encoder_name,
            learner.maps.width,
            reader.special,
            reader.room,
            learner.config.evidence,
            learner.config.slot_repeats,
            learner.config.fitting,
            {name: sha256_of(made / name) for name in (GRAPH, TOKENIZER, HEADS)},
        )
        (made / ABOUT).write_text(about.as_json(), encoding="utf-8")
        made.chmod(0o755)
        _move(made, folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _seen(graph: onnx.ModelProto, encoder: _Encoder, reader: PieceReader) -> dict[str, Array]:
    """All states that the graph shows of our sentences, [n, K] a place, without padding. Its outputs must be those of
    torch."""
    try:
        session = new_session(graph.SerializeToString())
        names = [output.name for output in session.get_outputs()]
        rows: dict[str, list[Array]] = {name: [] for name in names}
        for ids, mask in _batches(reader):
            outputs = session.run(names, dict(zip(INPUTS, (ids, mask), strict=True)))
            found = {name: np.asarray(output) for name, output in zip(names, outputs, strict=True)}
            with torch.inference_mode():
                expected = encoder(torch.as_tensor(ids), torch.as_tensor(mask))
            for name, states in zip(OUTPUTS, expected, strict=True):
                if not np.allclose(found[name][mask > 0], states.numpy()[mask > 0], atol=_NEAR, rtol=_NEAR):
                    raise ValueError("its states are others than torch's")
            for name in names:
                rows[name].append(found[name][mask > 0])
    except Exception as error:  # of many kinds, for all that BERT-like encoders have of their own
        raise CheckpointError(
            f"the encoder cannot be written as an ONNX graph: {error}; use `--runtime torch`"
        ) from error
    return {name: np.concatenate(own) for name, own in rows.items()}


def _batches(reader: PieceReader) -> list[Batch]:
    windows = reader.windows(sample_sentences())
    return [
        reader.ids([windows[row] for row in batch])
        for batch in like_lengths([window.length for window in windows], _PIECES_A_BATCH)
    ]


def _move(made: Path, folder: Path) -> None:
    """Whole or not at all. Another process may have been faster: what it made is as good."""
    try:
        made.rename(folder)
    except OSError:
        if not (folder / ABOUT).is_file():
            raise
