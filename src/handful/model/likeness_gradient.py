"""Likeness to the examples of classes (model/spans.py) with its gradient, where the examples' vectors are fitted too.

    L(x, c) = τ log Σ_m h_mc e_xm exp(s·cos(x, m) / τ) - τ log Σ_m h_mc e_xm

h_mc is the weight of member m in class c: one for an example, w for the class's name, nought in other classes. e_xm is
nought where m is an example of x's own utterance, which is no example of itself, and one elsewhere. Let g_xc be the
gradient of L, and Q_xm that of the class of m times the share of m in the first sum:

    ∂/∂x = s Σ_m Q_xm m        ∂/∂log s = Σ_x x · ∂/∂x
    ∂/∂m = s Σ_x Q_xm x        ∂/∂log τ = Σ_xc g_xc L(x, c) - ∂/∂log s
    ∂/∂log w = τ Σ_x (Σ_m Q_xm over names - Σ_c g_xc w / Σ_m h_mc e_xm)
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from handful.model.span_maps import Array
from handful.model.spans import Measure, Numbers

_FLOOR = 1e-30  # of a class's sum, as in `likeness`
_LARGEST_EXPONENT = 60.0  # single precision has room for e to this power, and to its negative
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
class ClassExamples:
    """Examples of C classes in B utterances. A class's members are its name and its examples; names come first."""

    classes: Numbers  # [m]
    owners: Numbers  # [m]: the utterances that the examples are of
    others: Numbers  # [B, C]: how many examples of a class are of other utterances

    @classmethod
    def of(cls, classes: Numbers, owners: Numbers, count: int, utterances: int) -> ClassExamples:
        own = np.bincount(owners * count + classes, minlength=utterances * count).reshape(utterances, count)
        return cls(classes, owners, own.sum(0) - own)


@dataclass(frozen=True, slots=True, eq=False)
class ClassMembers:
    """The vectors of M members, of length one, and what they weigh."""

    vectors: Array  # [M, k]
    weights: Array  # h, [M, C]
    totals: Array  # [B, C]: Σ_m h_mc e_bm, what the members that count for an utterance weigh together

    @classmethod
    def of(cls, names: Array, vectors: Array, examples: ClassExamples, measure: Measure) -> ClassMembers:
        """[C, k], [m, k]."""
        count = len(names)
        weights = np.zeros((count + len(vectors), count), dtype=names.dtype)
        np.fill_diagonal(weights, measure.name_weight)
        weights[np.arange(count, len(weights)), examples.classes] = 1
        totals = (measure.name_weight + examples.others).astype(names.dtype)
        return cls(np.concatenate([names, vectors]), weights, totals)


@dataclass(frozen=True, slots=True, eq=False)
class PairGroup:
    """Things that are compared with the same members."""

    things: slice  # in the order of the pairing
    members: Numbers
    pairs: slice

    def of(self, pairs: Array) -> Array:
        """Its own of all pairs, one row a thing."""
        return pairs[self.pairs].reshape(-1, len(self.members))


@dataclass(frozen=True, slots=True, eq=False)
class Pairing:
    """Which things are compared with which members: a closed class is not looked at. P pairs in all."""

    order: Numbers  # [n]: things, group after group
    utterances: Numbers  # [n]: of each thing in that order
    groups: tuple[PairGroup, ...]
    own: Numbers  # pairs of a thing and an example of its own utterance

    @classmethod
    def of(cls, utterances: Numbers, examples: ClassExamples, is_open: NDArray[np.bool_]) -> Pairing:
        """`utterances` [n] of things; `is_open` [B, C] classes, the same for utterances that are neighbours."""
        order = np.argsort(utterances, kind="stable")
        utterances = utterances[order]
        changes = np.flatnonzero((is_open[1:] != is_open[:-1]).any(1)) + 1
        edges = [0, *np.searchsorted(utterances, changes).tolist(), len(utterances)]
        classes = np.concatenate([np.arange(is_open.shape[1]), examples.classes])
        owners = np.concatenate([np.full(is_open.shape[1], -1), examples.owners]).astype(np.int32)
        of_things = utterances.astype(np.int32)
        groups, own, total = [], [np.arange(0)], 0
        for start, end in pairwise(edges):
            if start == end:
                continue
            members = np.flatnonzero(is_open[utterances[start], classes])
            own.append(np.flatnonzero(of_things[start:end, None] == owners[members]) + total)
            groups.append(PairGroup(slice(start, end), members, slice(total, total + (end - start) * len(members))))
            total = groups[-1].pairs.stop
        return cls(order, utterances, tuple(groups), np.concatenate(own))


@dataclass(frozen=True, slots=True, eq=False)
class LikenessGradient:
    things: Array  # [n, k]
    members: Array  # [M, k]
    log_measure: Array  # [3]: of the logarithms of scale, temperature and name weight


class Comparison:
    """Likeness of n things to C classes; what a class scores that is closed to a thing means nothing."""

    def __init__(self, things: Array, members: ClassMembers, pairing: Pairing, measure: Measure) -> None:
        """[n, k]."""
        self._members, self._pairing, self._measure = members, pairing, measure
        self._things = things[pairing.order]
        exponent = measure.scale / measure.temperature  # the largest, since cosines are at most one
        self._vectors = members.vectors * exponent
        # Shares and sums are those of the formula, times e to the power of minus this.
        shift = max(exponent - _LARGEST_EXPONENT, 0.0)
        self._shares = np.empty(pairing.groups[-1].pairs.stop, dtype=things.dtype)
        self._sums = np.zeros((len(things), members.weights.shape[1]), dtype=things.dtype)
        for group in pairing.groups:
            np.matmul(self._things[group.things], self._vectors[group.members].T, out=group.of(self._shares))
        if shift:
            self._shares -= shift
        np.exp(self._shares, out=self._shares)
        self._shares[pairing.own] = 0
        for group in pairing.groups:
            np.matmul(group.of(self._shares), members.weights[group.members], out=self._sums[group.things])
        np.maximum(self._sums, _FLOOR, out=self._sums)
        scores = np.log(self._sums) - np.log(members.totals)[pairing.utterances]
        self.scores = np.empty_like(scores)  # [n, C]
        self.scores[pairing.order] = measure.temperature * (scores + shift)

    def gradient(self, gradient: Array) -> LikenessGradient:
        """Given that of the scores, which is nought for closed classes. [n, C]."""
        members, pairing, measure = self._members, self._pairing, self._measure
        beside = gradient[pairing.order]
        of_sums = measure.temperature * beside / self._sums
        of_things, of_members = np.empty_like(self._things), np.zeros_like(members.vectors)
        of_names = 0.0
        for group in pairing.groups:
            parts = of_sums[group.things] @ members.weights[group.members].T
            parts *= group.of(self._shares)  # τ Q
            np.matmul(parts, self._vectors[group.members], out=of_things[group.things])
            of_members[group.members] += parts.T @ self._things[group.things]
            of_names += float(parts[:, group.members < members.weights.shape[1]].sum())
        of_members *= measure.scale / measure.temperature
        of_scale = np.vdot(of_things, self._things).item()
        of_temperature = np.vdot(gradient, self.scores).item() - of_scale
        of_totals = np.vdot(beside, 1 / members.totals[pairing.utterances]).item()
        of_weight = of_names - measure.temperature * measure.name_weight * of_totals
        in_place = np.empty_like(of_things)
        in_place[pairing.order] = of_things
        return LikenessGradient(in_place, of_members, np.array([of_scale, of_temperature, of_weight]))
