"""The int8 graph as handful made it until commit 1f1cef0, to be compared with: blocks of 16 numbers that share a scale.

Of the recipe nothing was changed. It was loaded as ONNX Runtime loads what it is given, with all its fusions.
"""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
import torch
from torch import Tensor, nn

PIECES_A_BATCH = 128
_BLOCK = 16
_HIDDEN = -1e4


class _Encoder(nn.Module):
    def __init__(self, frozen: nn.Module, layers: nn.ModuleList) -> None:
        super().__init__()
        self.frozen, self.layers = frozen, layers

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        frozen = states = self.frozen(input_ids=ids, attention_mask=mask).last_hidden_state
        added = torch.where(mask[:, None, None, :] > 0, 0.0, _HIDDEN)
        for layer in self.layers:
            states = layer(states, added)
        return frozen, states


def write_earlier_graph(frozen: nn.Module, layers: nn.ModuleList, file: Path) -> None:
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    logging.disable(logging.ERROR)
    ids = torch.tensor([[1, 2, 3, 4, 5], [1, 2, 3, 0, 0]])
    sizes = {0: torch.export.Dim("sentences"), 1: torch.export.Dim("pieces")}
    plain = file.with_suffix(".plain.onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            _Encoder(frozen, layers).eval(),
            (ids, (ids > 0).long()),
            str(plain),
            input_names=["ids", "mask"],
            output_names=["frozen", "states"],
            dynamic_shapes={"ids": sizes, "mask": sizes},
            dynamo=True,
            external_data=False,
            verbose=False,
        )
        # Accuracy level 4: inputs are brought to int8, too, and products are computed in int8.
        quantiser = MatMulNBitsQuantizer(
            onnx.load(plain), bits=8, block_size=_BLOCK, is_symmetric=True, accuracy_level=4
        )
        quantiser.process()
    made: Any = quantiser.model
    onnx.save(made.model, file)
    plain.unlink()
    logging.disable(logging.NOTSET)


def plain_session(file: Path, threads: int) -> onnxruntime.InferenceSession:
    """As anybody would load a graph."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
