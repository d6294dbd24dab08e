"""How words are looked at, as numbers: a type, five views as part of a span or beside one, four border scores.

Written in what numpy arrays and torch tensors have in common, and without torch: an exported bot has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from handful.model.spans import IMPOSSIBLE, Measure, converted, library, range_sums, span_ends, span_vectors, unit_rows

VIEWS = 6  # its type; first, last, middle of a span; before and after one
BORDERS = 4  # outside, begin, go on, end


@dataclass(frozen=True, slots=True, eq=False)
class Measures:
    intents: Measure
    types: Measure
    spans: Measure


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """Vectors of length one for labels, made of their texts."""

    intents: Any  # [N, d]
    types: Any  # [K + 1, k]; the last is that of no slot at all
    spans: Any  # [K, k]


@dataclass(frozen=True, slots=True, eq=False)
class Views:
    """What is seen of padded sentences, as tensors in training and as numpy arrays in prediction."""

    lengths: tuple[int, ...]
    sentences: Any  # [B, d], of length one
    types: Any  # [B, T, k], of length one
    spans: Any  # [B, T, L, k], of length one
    outside: Any  # [B, T]: border scores of a word outside
    borders: Any  # [B, T, L]: border scores of a span; IMPOSSIBLE where it leaves the sentence

    @classmethod
    def of(cls, rows: Any, sentences: Any, lengths: Sequence[int], longest: int) -> Views:
        """Words one after another, [W, 6k + 4], and their sentences, [B, d]."""
        xp = library(rows)
        own, steps = np.asarray(lengths), max(lengths)
        longest = min(longest, steps)
        if len(own) == 1:  # as a service is asked: nothing to pad
            padded = rows[None]
        else:
            place = (np.cumsum(own) - own)[:, None] + np.minimum(np.arange(steps), own[:, None] - 1)
            padded = rows[place.reshape(-1)].reshape(len(own), steps, rows.shape[1])
        width = (rows.shape[1] - BORDERS) // VIEWS
        types, *of_spans = (padded[..., number * width : (number + 1) * width] for number in range(VIEWS))
        scores = padded[..., VIEWS * width :]
        ends = span_ends(steps, longest)
        going_on = range_sums(scores[..., 2:3], longest)[..., 0] - scores[..., 2][:, :, None]
        borders = scores[..., 1][:, :, None] + going_on + scores[..., 3][:, ends]
        inside = (np.arange(steps)[:, None] + np.arange(longest))[None] < own[:, None, None]
        return cls(
            tuple(lengths),
            unit_rows(sentences),
            unit_rows(types),
            span_vectors(of_spans, lengths, longest),
            scores[..., 0],
            xp.where(converted(inside, rows), borders, xp.full_like(borders, IMPOSSIBLE)),
        )
