"""The weights of a BERT-like encoder as plain arrays: what a graph of it is written from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import nn

from handful.encoders.encoding import Array
from handful.errors import CheckpointError


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    weights: Array  # [inputs, outputs]
    bias: Array


@dataclass(frozen=True, slots=True, eq=False)
class Norm:
    weights: Array
    bias: Array
    epsilon: float


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    heads: int
    asking: Linear  # queries, keys and values, side by side
    attended: Linear  # from the heads' sums to what is added to the states
    attended_norm: Norm
    inner: Linear
    outer: Linear
    outer_norm: Norm


@dataclass(frozen=True, slots=True, eq=False)
class BertWeights:
    pieces: Array  # [V, d]
    positions: Array  # [P, d], the first piece's first; the one token type that we use is in it
    norm: Norm
    layers: tuple[Layer, ...]
    frozen_layers: int

    @property
    def width(self) -> int:
        return self.pieces.shape[1]


def bert_weights(frozen: nn.Module, layers: Iterable[nn.Module]) -> BertWeights:
    """Of embeddings with the frozen layers, and of the layers above them."""
    try:
        return _weights(frozen, list(layers))
    except AttributeError as error:
        kind = type(frozen).__name__
        raise CheckpointError(f"a {kind} is not built as BERT is ({error}): use `--runtime torch`") from error


def _weights(frozen: Any, above: list[nn.Module]) -> BertWeights:
    embeddings, below = frozen.embeddings, list(frozen.encoder.layer)
    positions = embeddings.position_embeddings
    # RoBERTa counts positions from behind the one of padding.
    first = 0 if positions.padding_idx is None else positions.padding_idx + 1
    return BertWeights(
        _array(embeddings.word_embeddings.weight),
        _array(positions.weight)[first:] + _array(embeddings.token_type_embeddings.weight)[0],
        _norm(embeddings.LayerNorm),
        tuple(_layer(layer) for layer in (*below, *above)),
        len(below),
    )


def _layer(layer: Any) -> Layer:
    attention = layer.attention
    return Layer(
        attention.self.num_attention_heads,
        _side_by_side([_linear(getattr(attention.self, part)) for part in ("query", "key", "value")]),
        _linear(attention.output.dense),
        _norm(attention.output.LayerNorm),
        _linear(layer.intermediate.dense),
        _linear(layer.output.dense),
        _norm(layer.output.LayerNorm),
    )


def _linear(linear: nn.Linear) -> Linear:
    return Linear(_array(linear.weight).T, _array(linear.bias))


def _side_by_side(linears: list[Linear]) -> Linear:
    return Linear(
        np.concatenate([linear.weights for linear in linears], axis=1),
        np.concatenate([linear.bias for linear in linears]),
    )


def _norm(norm: nn.LayerNorm) -> Norm:
    return Norm(_array(norm.weight), _array(norm.bias), norm.eps)


def _array(weight: Any) -> Array:
    return weight.detach().float().cpu().numpy().astype(np.float32)
