"""From a trained joint_spans learner to a folder that parses without torch (runtime/folder.py).

The encoder becomes one ONNX graph. In int8 its matrix products take eight-bit weights, a scale for every 16 of them,
and inputs that are scaled as they come, in blocks of 16, too (dynamic quantisation). One scale for a whole input, as
ONNX Runtime's `quantize_dynamic` has it, is 1.5 times as fast and changes three of a hundred tags: MiniLM has a few
very large numbers, and all others would be told apart by what is left. Embeddings and the small maps behind the encoder
stay as they are. The folder is written beside its place and moved there whole.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
import warnings
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from torch import Tensor, nn

from handful.encoders.digests import sha256_of
from handful.encoders.layers import FrozenLayers, TrainedLayers
from handful.errors import CheckpointError, ConfigError
from handful.learners.joint_spans import JointSpansLearner
from handful.model.views import BORDERS, VIEWS
from handful.runtime.folder import ABOUT, FORMAT, GRAPH, HEADS, TOKENIZER, AboutModel, Precision
from handful.runtime.graph import INPUTS, OUTPUTS
from handful.runtime.spans import Heads

_BLOCK = 16  # numbers that share a scale
_HIDDEN = -1e4  # added to the attention's scores of padding: enough, and finite in every precision


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
        model = _Encoder(frozen.model, words.layers).eval()
        plain = made / ("plain.onnx" if precision == "int8" else GRAPH)
        with _silence():
            _write_graph(model, plain)
        if precision == "int8":
            yield "storing its weights in 8 bits"
            with _silence():
                _quantise(plain, made / GRAPH)
            plain.unlink()
        reader = words.reader
        reader.tokenizer.save(str(made / TOKENIZER))
        np.savez(made / HEADS, allow_pickle=False, **_heads(learner))
        about = AboutModel(
            FORMAT,
            precision,
            weights,
            learner.encoder_name,
            learner.width,
            reader.special,
            reader.room,
            learner.config.evidence,
            learner.config.slot_repeats,
            {name: sha256_of(made / name) for name in (GRAPH, TOKENIZER, HEADS)},
        )
        (made / ABOUT).write_text(about.as_json(), encoding="utf-8")
        made.chmod(0o755)
        _move(made, folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _write_graph(model: nn.Module, file: Path) -> None:
    ids = torch.tensor([[1, 2, 3, 4, 5], [1, 2, 3, 0, 0]])
    sizes = {0: torch.export.Dim("sentences"), 1: torch.export.Dim("pieces")}
    try:
        torch.onnx.export(
            model,
            (ids, (ids > 0).long()),
            str(file),
            input_names=list(INPUTS),
            output_names=list(OUTPUTS),
            dynamic_shapes=dict.fromkeys(INPUTS, sizes),
            dynamo=True,
            external_data=False,
            verbose=False,
        )
    except Exception as error:  # of many kinds: whatever the exporter cannot translate
        raise CheckpointError(f"the encoder cannot be written as an ONNX graph: {error}") from error
    onnx.save(_anonymous(onnx.load(file)), file)


def _anonymous(model: onnx.ModelProto) -> onnx.ModelProto:
    """Without the notes that the exporter leaves at every node: paths of the machine that it ran on."""
    graph = model.graph
    for part in (model, graph, *graph.node, *graph.value_info, *graph.input, *graph.output, *graph.initializer):
        del part.metadata_props[:]
    for function in model.functions:
        del function.metadata_props[:]
        for node in function.node:
            del node.metadata_props[:]
    return model


def _quantise(plain: Path, file: Path) -> None:
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    # Accuracy level 4: inputs are brought to int8, too, and products are computed in int8.
    quantiser = MatMulNBitsQuantizer(onnx.load(plain), bits=8, block_size=_BLOCK, is_symmetric=True, accuracy_level=4)
    quantiser.process()
    made: Any = quantiser.model
    onnx.save(made.model, file)


def _heads(learner: JointSpansLearner) -> dict[str, np.ndarray]:
    network = learner.network
    arrays = {name: weight.detach().float().cpu().numpy() for name, weight in network.named_parameters()}
    # Parts that were left out in training are left out for good.
    kept = np.ones(VIEWS * network.width + BORDERS, dtype=np.float32)
    if "borders" in network.without:
        kept[-BORDERS:] = 0
    if "neighbours" in network.without:
        kept[4 * network.width : VIEWS * network.width] = 0
    arrays["views.weight"], arrays["views.bias"] = arrays["views.weight"] * kept[:, None], arrays["views.bias"] * kept
    measures = learner.plain_measures()
    arrays["measures"] = np.array(
        [[m.scale, m.temperature, m.name_weight] for m in (measures.intents, measures.types, measures.spans)]
    )
    return {name: arrays[name] for name in Heads.NAMES}


def _move(made: Path, folder: Path) -> None:
    """Whole or not at all. Another process may have been faster: what it made is as good."""
    try:
        made.rename(folder)
    except OSError:
        if not (folder / ABOUT).is_file():
            raise


@contextmanager
def _silence() -> Iterator[None]:
    """The exporters tell of their own inner life, and one of them sets up everybody's log when it is imported."""
    root = logging.getLogger()
    before, handlers, level = logging.root.manager.disable, list(root.handlers), root.level
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
        root.handlers[:] = handlers
        root.setLevel(level)
