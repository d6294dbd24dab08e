"""Scores of whole spans: how like a span and its words are to what the support shows.

Written in what numpy arrays and torch tensors have in common: training differentiates the very lines that predict.
Sentences are padded here, [B, T, …]; a span begins at a word and has at most `longest` (L) words, [B, T, L, …].
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from handful.model.prototypes import Floats

if TYPE_CHECKING:
    from torch import Tensor

Vectors = TypeVar("Vectors", "Floats", "Tensor")
Numbers = NDArray[np.intp]

IMPOSSIBLE = -1e4  # finite: nought times it is nought, and no gradient of it is undefined


@dataclass(frozen=True, slots=True, eq=False)
class Measure:
    """How likeness becomes a score: cosines times `scale`, and how much nearer members count for more."""

    scale: Any  # a number, or a tensor that is trained
    temperature: Any
    name_weight: Any  # a label's name is one more member, which weighs this much


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """What a support shows of some classes, in the order of the classes: vectors of length one, [m, k].

    A class's first member is its name; the others are examples, each of one utterance.
    """

    vectors: Any
    classes: Numbers  # [m], rising
    named: NDArray[np.bool_]  # [m]: is it the name?
    owners: Numbers  # [m]: the number of the utterance; -1 for a name

    @property
    def starts(self) -> Numbers:
        """The first member of each class."""
        return np.flatnonzero(self.named)


def members_of(names: Vectors, examples: Vectors, classes: Sequence[int] | Numbers, owners: Numbers) -> Members:
    """The names of c classes, [c, k], and examples, [m, k], with the class and the utterance of each."""
    count = len(names)
    every = np.concatenate([np.arange(count), np.asarray(classes, dtype=np.intp)])
    order = np.argsort(every, kind="stable")  # names first
    vectors = library(names).concatenate([names, examples])[order]
    of_utterance = np.concatenate([np.full(count, -1), owners])
    return Members(vectors, every[order], order < count, of_utterance[order])


def class_subset(members: Members, classes: Sequence[int] | Numbers) -> Members:
    """The members of some classes, which are numbered anew in their order."""
    starts = np.append(members.starts, len(members.classes))
    rows = np.concatenate([np.arange(starts[number], starts[number + 1]) for number in classes] or [np.arange(0)])
    sizes = [starts[number + 1] - starts[number] for number in classes]
    numbered = np.repeat(np.arange(len(sizes)), sizes)
    return Members(members.vectors[rows], numbered, members.named[rows], members.owners[rows])


def library(array: Any) -> Any:
    """The module whose array this is: numpy or torch."""
    return sys.modules[type(array).__module__.partition(".")[0]]


def unit_rows(vectors: Vectors) -> Vectors:
    """Vectors of length one. [..., k] -> [..., k]."""
    return vectors / ((vectors**2).sum(-1)[..., None] + 1e-12) ** 0.5  # pyright: ignore[reportReturnType]


def likeness(things: Vectors, members: Members, measure: Measure, *, but: Numbers | None = None) -> Vectors:
    """How like things are to classes: τ log Σ_m w_m exp(s·cos(x, m) / τ) / Σ_m w_m over a class's members m.

    Between the mean of the members (τ → ∞) and the nearest of them (τ → 0). `but` [n] names for each thing an utterance
    that does not count: its own, when the support is asked about itself. [n, k] -> [n, c].
    """
    xp = library(things)
    scaled = things @ members.vectors.T * (measure.scale / measure.temperature)
    highest = xp.amax(scaled, axis=-1, keepdims=True)
    shares = xp.exp(scaled - highest)
    weights = xp.where(converted(members.named, things), measure.name_weight + 0 * shares[:1], 1 + 0 * shares[:1])
    if but is not None:
        weights = weights * converted(but[:, None] != members.owners, things)
    # The floor: a class whose members are all far from the nearest of all is e⁻⁶⁹ below it, not minus infinity.
    total, weight = class_sums(shares * weights, members), class_sums(weights, members)
    return measure.temperature * (highest + xp.log(xp.clip(total, 1e-30, None)) - xp.log(weight))


class Likeness:
    """`likeness` to the same members again and again, in numpy: what does not depend on the things is computed once."""

    def __init__(self, members: Members, measure: Measure) -> None:
        self.members, self._measure = members, measure
        self._vectors = np.ascontiguousarray((members.vectors * (measure.scale / measure.temperature)).T)
        self._weights = np.where(members.named, measure.name_weight, 1.0).astype(self._vectors.dtype)
        self._starts = members.starts
        self._weight = np.log(np.add.reduceat(self._weights, self._starts)) if len(self._starts) else self._weights

    def __call__(self, things: Floats, but: Numbers | None = None) -> Floats:
        """[n, k] -> [n, c]."""
        if but is not None:
            return likeness(things, self.members, self._measure, but=but)
        shares = things @ self._vectors
        highest = shares.max(axis=-1, keepdims=True)
        shares -= highest
        np.exp(shares, out=shares)
        shares *= self._weights
        total = np.add.reduceat(shares, self._starts, axis=1)
        np.maximum(total, 1e-30, out=total)
        return self._measure.temperature * (highest + np.log(total, out=total) - self._weight)


def class_sums(values: Vectors, members: Members) -> Vectors:
    """Sums over the members of each class. [n, m] -> [n, c]."""
    if isinstance(values, np.ndarray):
        return np.add.reduceat(values, members.starts, axis=1)
    one_hot = members.classes[:, None] == np.arange(len(members.starts))
    return values @ converted(one_hot, values).to(values.dtype)


def span_vectors(views: Sequence[Vectors], lengths: Sequence[int], longest: int) -> Vectors:
    """A span is the sum of five views: of its first word, its last one and the mean of all, and of its neighbours, the
    word before it and the one after it, where the sentence has them. Five times [B, T, k] -> [B, T, L, k].

    Spans that would run over the end of the padded sentence end with it; nobody asks for them.
    """
    first, last, middle, before, after = views
    xp, steps = library(first), first.shape[1]
    nothing = xp.zeros_like(first[:, :1])
    if min(lengths) < steps:  # padding is no neighbour
        there = converted((np.arange(steps) < np.asarray(lengths)[:, None])[..., None], first)
        after = xp.where(there, after, xp.zeros_like(after))
    first = first + xp.concatenate([nothing, before[:, :-1]], axis=1)
    last = last + xp.concatenate([after[:, 1:], nothing], axis=1)
    ends = span_ends(steps, longest)
    sizes = converted(np.arange(1.0, longest + 1, dtype=np.float32)[:, None], first)
    return unit_rows(first[:, :, None] + last[:, ends] + range_sums(middle, longest) / sizes)


def range_sums(values: Vectors, longest: int) -> Vectors:
    """Sums over each span's words. [B, T, k] -> [B, T, L, k]."""
    xp = library(values)
    sums = xp.cumsum(values, axis=1)
    before = xp.concatenate([xp.zeros_like(sums[:, :1]), sums[:, :-1]], axis=1)
    return sums[:, span_ends(values.shape[1], longest)] - before[:, :, None]


def span_ends(steps: int, longest: int) -> Numbers:
    """The last word of the span of each first word and size. [T, L]."""
    return np.minimum(np.arange(steps)[:, None] + np.arange(longest), steps - 1)


def converted(array: Any, other: Any) -> Any:
    """A numpy array as what `other` is."""
    return array if isinstance(other, np.ndarray) else library(other).as_tensor(array)
