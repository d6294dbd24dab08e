"""A BERT-like encoder written as an ONNX graph, in float32 or with its products in eight bits.

In eight bits each piece's states are scaled by their own largest number, as they come, and multiplied by int8 weights
with a scale for each column; the few loud channels are multiplied in float32. Attention and GELU are single nodes of
ONNX Runtime's own. Written node by node, since what exporters make of a model has to be recognised again before it can
be made quick.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from handful.encoders.encoding import Array
from handful.runtime.bert import BertWeights, Layer, Linear, Norm
from handful.runtime.graph import INPUTS, OUTPUTS
from handful.runtime.quantise import eight_bit_columns, eight_bit_rows, loud_channels

_MICROSOFT = "com.microsoft"
_SETS = {"": 21, _MICROSOFT: 1}  # of operators
_IR_VERSION = 10
_MIDDLE = 128  # the unsigned number that stands for nought
# GELU gives nothing below -0.17: most of 255 numbers are for what is above nought.
_GELU_LEAST, _GELU_NOUGHT = 0.17, 24


class Graph:
    """Nodes and constants, named by number."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def constant(self, array: NDArray[np.generic]) -> str:
        name = f"c{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, kind: str, *inputs: str, into: str = "", **attributes: Any) -> str:
        """The name of its output, given or made."""
        output = into or f"v{len(self._nodes)}"
        domain = "" if onnx.defs.has(kind) else _MICROSOFT
        self._nodes.append(helper.make_node(kind, inputs, [output], domain=domain, **attributes))
        return output

    def split(self, states: str, parts: int) -> list[str]:
        """Along the last axis."""
        outputs = [f"v{len(self._nodes)}_{part}" for part in range(parts)]
        self._nodes.append(helper.make_node("Split", [states], outputs, axis=-1, num_outputs=parts))
        return outputs

    def numbers(self, *values: int) -> str:
        return self.constant(np.array(values, dtype=np.int64))

    def model(self, outputs: Mapping[str, int]) -> onnx.ModelProto:
        """Of the nodes so far. `outputs` with their widths."""
        sizes = ["sentences", "pieces"]
        graph = helper.make_graph(
            self._nodes,
            "encoder",
            [helper.make_tensor_value_info(name, TensorProto.INT64, sizes) for name in INPUTS],
            [
                helper.make_tensor_value_info(name, TensorProto.FLOAT, [*sizes, width])
                for name, width in outputs.items()
            ],
            self._constants,
        )
        sets = [helper.make_opsetid(domain, version) for domain, version in _SETS.items()]
        return helper.make_model(graph, opset_imports=sets, ir_version=_IR_VERSION)


class Products(Protocol):
    """How embeddings are stored and states multiplied by weights. `place` names the states: see `watched_places`."""

    def embeddings(self, graph: Graph, table: Array) -> str: ...

    def of(self, graph: Graph, place: str, states: str, linear: Linear) -> str:
        """Without the bias."""
        ...


class FloatProducts:
    def embeddings(self, graph: Graph, table: Array) -> str:
        return graph.node("Gather", graph.constant(table), "ids")

    def of(self, graph: Graph, place: str, states: str, linear: Linear) -> str:
        watched = graph.node("Identity", states, into=place)
        return graph.node("MatMul", watched, graph.constant(linear.weights))


class EightBitProducts:
    """Of one graph."""

    def __init__(self, seen: Mapping[str, Array]) -> None:
        """`seen`: of every place the states of some sentences, [n, K]."""
        self._seen = seen
        self._noughts: dict[int, str] = {}

    def embeddings(self, graph: Graph, table: Array) -> str:
        made = eight_bit_rows(table)
        numbers, scales = (graph.node("Gather", graph.constant(part), "ids") for part in (made.numbers, made.scales))
        return graph.node("Mul", graph.node("Cast", numbers, to=TensorProto.FLOAT), scales)

    def of(self, graph: Graph, place: str, states: str, linear: Linear) -> str:
        seen, weights = self._seen[place], linear.weights
        if place.startswith(_ATTENDED):  # means of many: none of their channels is loud
            return self._rounded(graph, place, states, weights, np.ones(len(weights), dtype=np.bool_))
        loud = loud_channels(seen, weights)
        few = graph.node("Gather", states, graph.constant(np.flatnonzero(loud)), axis=-1)
        return graph.node(
            "Add",
            self._rounded(graph, place, states, weights, ~loud),
            graph.node("MatMul", few, graph.constant(weights[loud])),
        )

    def _rounded(self, graph: Graph, place: str, states: str, weights: Array, kept: NDArray[np.bool_]) -> str:
        """The product of the channels that are kept. The others may leave the range of eight bits: their weights are
        nought."""
        nought = _GELU_NOUGHT if place.startswith(_CURVED) else _MIDDLE
        shares = graph.node("Mul", states, graph.constant((kept / (255 - nought)).astype(np.float32)))
        if place.startswith(_CURVED):
            least = graph.constant(np.array(_GELU_LEAST / _GELU_NOUGHT, dtype=np.float32))
            scales = graph.node("Max", graph.node("ReduceMax", shares, graph.numbers(-1)), least)
        else:
            scales = graph.node("ReduceMax", graph.node("Abs", shares), graph.numbers(-1))
        numbers = graph.node(
            "QuantizeLinear", states, scales, self._nought(graph, nought), axis=-1, block_size=len(weights)
        )
        made = eight_bit_columns(weights * kept[:, None], self._seen[place] * kept)
        product = graph.node(
            "MatMulIntegerToFloat",
            numbers,
            graph.constant(made.numbers),
            graph.constant(np.array(1, dtype=np.float32)),
            graph.constant(made.scales),
            graph.constant(np.array(nought, dtype=np.uint8)),
        )
        return graph.node("Mul", product, scales)

    def _nought(self, graph: Graph, number: int) -> str:
        """As large as the scales, which the operator asks for: [B, T, 1]."""
        if number not in self._noughts:
            sizes = graph.node("Concat", graph.node("Shape", "ids"), graph.numbers(1), axis=0)
            self._noughts[number] = graph.node("Expand", graph.constant(np.array(number, dtype=np.uint8)), sizes)
        return self._noughts[number]


# Where states are multiplied; with the number of their layer these are places.
_STATES, _ATTENDED, _MIDDLE_STATES, _CURVED = "states_", "attended_", "middle_", "curved_"


def watched_places(encoder: BertWeights) -> dict[str, int]:
    """All places with their widths: the more outputs of a graph that is written to watch them."""
    return {
        f"{part}{number}": width
        for number, layer in enumerate(encoder.layers)
        for part, width in (
            (_STATES, encoder.width),
            (_ATTENDED, len(layer.attended.weights)),
            (_MIDDLE_STATES, encoder.width),
            (_CURVED, len(layer.outer.weights)),
        )
    }


def encoder_graph(encoder: BertWeights, products: Products, *, watched: bool = False) -> onnx.ModelProto:
    """Piece numbers and their mask, [B, T] -> hidden states of the frozen layers and of the last one, [B, T, d].

    `watched`: and of all places. Only `FloatProducts` names them.
    """
    graph = Graph()
    count = graph.node("Shape", "ids", start=1, end=2)
    positions = graph.node("Slice", graph.constant(encoder.positions), graph.numbers(0), count, graph.numbers(0))
    states = _normed(graph, encoder.norm, products.embeddings(graph, encoder.pieces), positions)
    mask = graph.node("Cast", "mask", to=TensorProto.INT32)
    for number, layer in enumerate(encoder.layers):
        if number == encoder.frozen_layers:
            graph.node("Identity", states, into=OUTPUTS[0])
        states = _layer(graph, layer, number, products, states, mask)
    if encoder.frozen_layers == len(encoder.layers):
        graph.node("Identity", states, into=OUTPUTS[0])
    graph.node("Identity", states, into=OUTPUTS[1])
    places = watched_places(encoder) if watched else {}
    return graph.model({**dict.fromkeys(OUTPUTS, encoder.width), **places})


def _layer(graph: Graph, layer: Layer, number: int, products: Products, states: str, mask: str) -> str:
    def product(place: str, states: str, linear: Linear) -> str:
        return products.of(graph, f"{place}{number}", states, linear)

    asking = graph.split(product(_STATES, states, layer.asking), 3)
    attended = graph.node("MultiHeadAttention", *asking, graph.constant(layer.asking.bias), mask, num_heads=layer.heads)
    attended = _biased(graph, product(_ATTENDED, attended, layer.attended), layer.attended)
    middle = _normed(graph, layer.attended_norm, attended, states)
    inner = product(_MIDDLE_STATES, middle, layer.inner)
    curved = graph.node("BiasGelu", inner, graph.constant(layer.inner.bias))
    outer = _biased(graph, product(_CURVED, curved, layer.outer), layer.outer)
    return _normed(graph, layer.outer_norm, outer, middle)


def _biased(graph: Graph, product: str, linear: Linear) -> str:
    return graph.node("Add", product, graph.constant(linear.bias))


def _normed(graph: Graph, norm: Norm, states: str, others: str) -> str:
    """The layer norm of a sum."""
    return graph.node(
        "LayerNormalization",
        graph.node("Add", states, others),
        graph.constant(norm.weights),
        graph.constant(norm.bias),
        axis=-1,
        epsilon=norm.epsilon,
    )
