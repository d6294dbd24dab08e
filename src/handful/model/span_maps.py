"""The small maps behind the encoder that slots are scored with: what is fitted to a bot's own examples.

A word's hidden state becomes a row of 6k + 4 numbers (model/views.py), a slot's name two vectors beside the words and
spans of its examples, and two measures turn cosines with those into scores (model/spans.py). The same class holds a
gradient: an array for each of these arrays.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handful.errors import CheckpointError, listed
from handful.model.spans import Measure, unit_rows
from handful.model.views import BORDERS, VIEWS

Array = NDArray[Any]

_NORM_FLOOR = 1e-5  # of a variance, as in torch's LayerNorm
# Fields of SpanMaps, and what the trained network calls them.
_NAMES = {
    "views_weight": "views.weight",
    "views_bias": "views.bias",
    "norm_weight": "slot_names.0.weight",
    "norm_bias": "slot_names.0.bias",
    "hidden_weight": "slot_names.1.weight",
    "hidden_bias": "slot_names.1.bias",
    "out_weight": "slot_names.3.weight",
    "out_bias": "slot_names.3.bias",
    "no_slot": "no_slot",
    "log_measures": "log_measures",
}


@dataclass(frozen=True, slots=True, eq=False)
class SlotMeasures:
    types: Measure
    spans: Measure


@dataclass(frozen=True, slots=True, eq=False)
class SpanMaps:
    """Encoder states of width d, frozen states of label names of width f, vectors of width k, h hidden units."""

    views_weight: Array  # [6k + 4, d]
    views_bias: Array  # [6k + 4]
    norm_weight: Array  # [f]
    norm_bias: Array  # [f]
    hidden_weight: Array  # [h, f]
    hidden_bias: Array  # [h]
    out_weight: Array  # [2k, h]
    out_bias: Array  # [2k]
    no_slot: Array  # [k]: the name of no slot at all, as a type
    log_measures: Array  # [2, 3]: of types and of spans the logarithms of scale, temperature and name weight

    def __post_init__(self) -> None:
        found = {_NAMES[field.name]: getattr(self, field.name) for field in fields(self)}
        for name, expected in self._expected_shapes().items():
            if found[name].shape != expected:
                raise CheckpointError(
                    f"the array {name} has the shape {list(found[name].shape)}, expected {list(expected)}: export the "
                    "model again"
                )

    def _expected_shapes(self) -> dict[str, tuple[int, ...]]:
        k, d, f, h = (array.shape[-1] for array in (self.no_slot, self.views_weight, self.norm_weight, self.out_weight))
        rows = VIEWS * k + BORDERS
        shapes = [(rows, d), (rows,), (f,), (f,), (h, f), (h,), (2 * k, h), (2 * k,), (k,), (2, 3)]
        return dict(zip(_NAMES.values(), shapes, strict=True))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> SpanMaps:
        """Of arrays by the names that they have in the trained network; others are ignored."""
        missing = sorted(set(_NAMES.values()) - arrays.keys())
        if missing:
            raise CheckpointError(f"the arrays of the slot maps lack {listed(missing)}: export the model again")
        for name in _NAMES.values():
            if not np.isfinite(arrays[name]).all():
                raise CheckpointError(f"the array {name} has numbers that are not finite: export the model again")
            if not arrays[name].ndim:
                raise CheckpointError(f"the array {name} is a single number, expected an array: export the model again")
        return cls(**{field: arrays[name] for field, name in _NAMES.items()})

    def arrays(self) -> dict[str, Array]:
        return {name: getattr(self, field) for field, name in _NAMES.items()}

    def as_half(self) -> dict[str, NDArray[np.float16]]:
        """For keeping: half the bytes, three digits."""
        return {name: array.astype(np.float16) for name, array in self.arrays().items()}

    @classmethod
    def from_half(cls, arrays: Mapping[str, Array]) -> SpanMaps:
        return cls.from_arrays({name: array.astype(np.float32) for name, array in arrays.items()})

    def vector(self) -> Array:
        """All numbers in one row, in the order of the fields. [P]."""
        return np.concatenate([array.ravel() for array in self.arrays().values()])

    def of_vector(self, vector: Array) -> SpanMaps:
        """Maps of the same shapes that share the memory of a vector. [P]."""
        shapes = [array.shape for array in self.arrays().values()]
        ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
        return SpanMaps(*(part.reshape(shape) for part, shape in zip(np.split(vector, ends), shapes, strict=True)))

    @property
    def width(self) -> int:
        return len(self.no_slot)

    @property
    def measures(self) -> SlotMeasures:
        types, spans = (Measure(*map(float, np.exp(row))) for row in self.log_measures)
        return SlotMeasures(types, spans)

    def views(self, states: Array) -> Array:
        """[W, d] -> [W, 6k + 4]."""
        rows = states @ self.views_weight.T
        rows += self.views_bias
        return rows

    def slot_names(self, means: Array) -> tuple[Array, Array]:
        """Of the means of names' frozen states, [K, f], vectors of length one: [K + 1, k], the last of which is that
        of no slot at all, and [K, k]."""
        of_words, of_spans = self.name_vectors(self.name_activations(means))
        return unit_rows(of_words), unit_rows(of_spans)

    def name_vectors(self, names: NameActivations) -> tuple[Array, Array]:
        """The same before they have length one."""
        k = self.width
        return np.concatenate([names.out[:, :k], self.no_slot[None]]), names.out[:, k:]

    def name_activations(self, means: Array) -> NameActivations:
        """Layer norm, linear, GELU, linear."""
        centred = means - means.mean(-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(-1, keepdims=True) + _NORM_FLOOR)
        normed = centred / deviation
        scaled = normed * self.norm_weight + self.norm_bias
        inner = scaled @ self.hidden_weight.T + self.hidden_bias
        shares = 0.5 * (1 + erf(inner * math.sqrt(0.5)))
        hidden = inner * shares
        return NameActivations(normed, scaled, inner, shares, hidden, hidden @ self.out_weight.T + self.out_bias)


@dataclass(frozen=True, slots=True, eq=False)
class NameActivations:
    """What the map of slot names computes on its way, which its gradient needs."""

    normed: Array  # [K, f]: of mean nought and variance one
    scaled: Array  # [K, f]
    inner: Array  # [K, h]
    shares: Array  # [K, h]: Φ(inner), the share of it that GELU lets through
    hidden: Array  # [K, h]
    out: Array  # [K, 2k]


def erf(values: Array) -> Array:
    """The error function; numpy has none."""
    found = np.fromiter(map(math.erf, values.ravel().tolist()), dtype=values.dtype, count=values.size)
    return found.reshape(values.shape)
