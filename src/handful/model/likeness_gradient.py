"""Likeness to the examples of classes (model/spans.py) with its gradient, where the examples' vectors are fitted too.

    L(x, c) = τ log Σ_m h_mc e_xm exp(s·cos(x, m) / τ) - τ log Σ_m h_mc e_xm

h_mc is the weight of member m in class c: one for an example, w for the class's name, nought in other classes. e_xm is
nought where m is an example of x's own utterance, which is no example of itself, and one elsewhere. With
Q_xm = g_xc(m) times m's share of the first sum, where g is the gradient of L,

    ∂/∂x = s Σ_m Q_xm m        ∂/∂log s = Σ_x x · ∂/∂x        ∂/∂log w = τ Σ_x (Σ_names Q_xm - Σ_c g_xc w / Σ_m h_mc e_xm)
    ∂/∂m = s Σ_x Q_xm x        ∂/∂log τ = Σ_xc g_xc L(x, c) - ∂/∂log s
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from handful.model.span_maps import Array
from handful.model.spans import Measure, Numbers

_FLOOR = 1e-30  # of a class's sum beside the nearest member's term, as in `likeness`
_LENGTH_FLOOR = 1e-12  # of a squared length, as in `unit_rows`


@dataclass(frozen=True, slots=True, eq=False)
class UnitRows:
    """Rows of length one, and the lengths that they had. [n, k], [n, 1]."""

    rows: Array
    lengths: Array

    @classmethod
    def of(cls, vectors: Array) -> UnitRows:
        lengths = np.sqrt(np.einsum("nk,nk->n", vectors, vectors) + _LENGTH_FLOOR)[:, None]
        return cls(vectors / lengths, lengths)

    def gradient(self, gradient: Array) -> Array:
        """Of the vectors: what is along a row has no part in it. What comes in is overwritten. [n, k] -> [n, k]."""
        along = np.einsum("nk,nk->n", gradient, self.rows)[:, None]
        gradient -= along * self.rows
        gradient /= self.lengths
        return gradient


@dataclass(frozen=True, slots=True, eq=False)
class ClassMembers:
    """The names of C classes, and after them examples, M members in all; rows have length one."""

    vectors: Array  # [M, k]
    weights: Array  # h, [M, C]
    owners: Numbers  # [M - C]: the utterances of the examples
    totals: Array  # [B, C]: Σ_m h_mc e_bm, what the members that count for an utterance weigh together

    @classmethod
    def of(
        cls, names: Array, examples: Array, classes: Numbers, owners: Numbers, measure: Measure, utterances: int
    ) -> ClassMembers:
        count = len(names)
        weights = np.zeros((count + len(classes), count), dtype=names.dtype)
        np.fill_diagonal(weights, measure.name_weight)
        weights[np.arange(count, len(weights)), classes] = 1
        own = np.bincount(owners * count + classes, minlength=utterances * count).reshape(utterances, count)
        totals = (measure.name_weight + own.sum(0) - own).astype(names.dtype)
        return cls(np.concatenate([names, examples]), weights, owners, totals)


@dataclass(frozen=True, slots=True, eq=False)
class LikenessGradient:
    things: Array
    members: Array
    log_measure: Array  # [3]: of the logarithms of scale, temperature and name weight


class Comparison:
    """n things, each of one utterance, compared with the members of C classes."""

    def __init__(self, things: Array, utterances: Numbers, members: ClassMembers, measure: Measure) -> None:
        """[n, k], [n]."""
        self._things, self._utterances, self._members, self._measure = things, utterances, members, measure
        shares = things @ members.vectors.T
        shares *= measure.scale / measure.temperature
        highest = shares.max(-1, keepdims=True)
        shares -= highest
        np.exp(shares, out=shares)
        count = members.weights.shape[1]
        shares[:, count:] *= utterances[:, None] != members.owners
        self._shares = shares
        self._sums = np.maximum(shares @ members.weights, _FLOOR)
        self.scores = measure.temperature * (highest + np.log(self._sums) - np.log(members.totals)[utterances])

    def gradient(self, gradient: Array) -> LikenessGradient:
        """Given that of the scores. [n, C]."""
        scale, temperature, weight = self._measure.scale, self._measure.temperature, self._measure.name_weight
        members, count = self._members, self._members.weights.shape[1]
        parts = (gradient / self._sums) @ members.weights.T
        parts *= self._shares
        of_things = parts @ members.vectors
        of_things *= scale
        of_members = parts.T @ self._things
        of_members *= scale
        of_scale = np.vdot(of_things, self._things)
        of_temperature = np.vdot(gradient, self.scores) - of_scale
        beside = np.vdot(gradient, 1 / members.totals[self._utterances])
        of_weight = temperature * (parts[:, :count].sum() - weight * beside)
        return LikenessGradient(of_things, of_members, np.array([of_scale, of_temperature, of_weight]))
