"""How well slots are predicted from other examples, and the gradient of that for the maps that predict them, in numpy.

    L = 1/B Σ_b (log Z_b - score of b's own segmentation)

over the B utterances of a batch, which is -log P(slots | intent) of the semi-Markov CRF of model/segments.py, each
utterance with the others for its examples. Scores are those of prediction (model/spans.py, model/views.py):

    rows   = states Vᵀ + bias                               types t_w, views of words, border scores
    span   = unit(first_i + before_{i-1} + last_j + after_{j+1} + mean of middle_i…j)
    s(i, j, y) = like(span, spans of y) + Σ_w like(t_w, words of y) + begin_i + Σ_{w>i} go on_w + end_j
    o(w)   = like(t_w, words outside) + outside_w

The gradient of log Z is the share that each segment has of all segmentations, and a span's share is dealt out to its
slots by softmax. From there it runs back through the lines above, one function for each; things and members of a
comparison both depend on the maps. tests/model/test_span_gradients.py compares with torch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from handful.model.likeness_gradient import ClassMembers, Comparison, LikenessGradient, UnitRows
from handful.model.segments import log_sum
from handful.model.slot_batches import BatchPart, SlotBatch
from handful.model.span_layout import span_words
from handful.model.span_maps import Array, NameActivations, SlotMeasures, SpanMaps
from handful.model.spans import IMPOSSIBLE, Numbers
from handful.model.views import BORDERS, VIEWS


def slot_loss(maps: SpanMaps, batch: SlotBatch, states: Array, names: Array, gradient: SpanMaps) -> float:
    """The loss; its gradient is written into `gradient`.

    `states` [W, d] are those of the batch's words, in its order; `names` [K, f] the means of its slots' names.
    """
    if not batch.parts:
        for array in gradient.arrays().values():
            array[...] = 0
        return 0.0
    words = WordRows.of(maps.views(states), batch.inner)
    texts = maps.name_activations(names)
    type_names, span_names = (UnitRows.of(vectors) for vectors in maps.name_vectors(texts))
    fillers = SlotFillers.of(words, batch.span_starts, batch.span_sizes)
    measures = maps.measures
    types = ClassMembers.of(type_names.rows, words.types.rows[batch.example_words], batch.word_examples, measures.types)
    spans = ClassMembers.of(span_names.rows, fillers.vectors.rows, batch.span_examples, measures.spans)
    back = WordGradients.zeros(words)
    of_types, of_spans = np.zeros_like(types.vectors), np.zeros_like(spans.vectors)
    gradient.log_measures[...] = 0
    loss = 0.0
    for part in batch.parts:
        scores = PartScores(part, words, types, spans, measures)
        loss += scores.loss
        from_types, from_spans = scores.gradient(1 / len(batch.rows), back)
        of_types += from_types.members
        of_spans += from_spans.members
        gradient.log_measures[0] += from_types.log_measure
        gradient.log_measures[1] += from_spans.log_measure

    slots = len(batch.slots)
    back.types[batch.example_words] += of_types[slots + 1 :]
    fillers.gradient(of_spans[slots:], back)
    of_type_names = type_names.gradient(of_types[: slots + 1])
    of_span_names = span_names.gradient(of_spans[:slots])
    gradient.no_slot[...] = of_type_names[-1]
    _name_gradients(maps, texts, np.concatenate([of_type_names[:-1], of_span_names], axis=1), gradient)
    back.finish(words, batch.inner)
    np.matmul(back.rows.T, states, out=gradient.views_weight)
    back.rows.sum(0, out=gradient.views_bias)
    return loss / len(batch.rows)


@dataclass(frozen=True, slots=True, eq=False)
class WordRows:
    """What the rows [W, 6k + 4] of a batch's words say: their types, what they are to a span, and border scores."""

    types: UnitRows  # [W, k]
    openings: Array  # [W, k]: first of it, and of the word before, the view of what stands before a span
    closings: Array  # [W, k]: last of it, and of the word behind, the view of what stands behind one
    middles: Array  # [W, k]
    borders: Array  # [W, 4]: outside, begin, go on, end

    @classmethod
    def of(cls, rows: Array, inner: Numbers) -> WordRows:
        """`inner` are the words that have one before them in their sentence."""
        k = rows.shape[1] // VIEWS
        types, first, last, middle, before, after = (rows[:, n * k : (n + 1) * k] for n in range(VIEWS))
        openings, closings = first.copy(), last.copy()
        openings[inner] += before[inner - 1]
        closings[inner - 1] += after[inner]
        return cls(UnitRows.of(types), openings, closings, middle, rows[:, VIEWS * k :])


@dataclass(frozen=True, slots=True, eq=False)
class WordGradients:
    """Of the rows, and parts of it that share its memory, one for each array of WordRows: what runs back is added."""

    rows: Array  # [W, 6k + 4]
    types: Array
    openings: Array
    closings: Array
    middles: Array
    borders: Array

    @classmethod
    def zeros(cls, words: WordRows) -> WordGradients:
        count, k = words.middles.shape
        rows = np.zeros((count, VIEWS * k + BORDERS), dtype=words.middles.dtype)
        types, openings, closings, middles = (rows[:, n * k : (n + 1) * k] for n in range(4))
        return cls(rows, types, openings, closings, middles, rows[:, VIEWS * k :])

    def finish(self, words: WordRows, inner: Numbers) -> None:
        """From types of length one and from openings and closings to the rows, once all is added up."""
        k = self.types.shape[1]
        words.types.gradient(self.types)
        self.rows[inner - 1, 4 * k : 5 * k] = self.openings[inner]
        self.rows[inner, 5 * k : 6 * k] = self.closings[inner - 1]


@dataclass(frozen=True, slots=True, eq=False)
class SlotFillers:
    """The n spans that fill slots, as members. Those of an utterance share no word."""

    vectors: UnitRows  # [n, k]
    starts: Numbers
    sizes: Numbers

    @classmethod
    def of(cls, words: WordRows, starts: Numbers, sizes: Numbers) -> SlotFillers:
        means = np.add.reduceat(words.middles[span_words(starts, sizes)], np.cumsum(sizes) - sizes, axis=0)
        means /= sizes[:, None].astype(means.dtype)
        return cls(UnitRows.of(words.openings[starts] + words.closings[starts + sizes - 1] + means), starts, sizes)

    def gradient(self, gradient: Array, back: WordGradients) -> None:
        """Given that of the vectors, [n, k]."""
        of_sums = self.vectors.gradient(gradient)
        back.openings[self.starts] += of_sums
        back.closings[self.starts + self.sizes - 1] += of_sums
        of_sums /= self.sizes[:, None].astype(of_sums.dtype)
        back.middles[span_words(self.starts, self.sizes)] += np.repeat(of_sums, self.sizes, axis=0)


class PartScores:
    """The scores of a part of a batch, and what its sentences lose together."""

    def __init__(
        self, part: BatchPart, words: WordRows, types: ClassMembers, spans: ClassMembers, measures: SlotMeasures
    ) -> None:
        self._part, layout, own = part, part.spans, part.words
        self._sizes = layout.sizes[:, None].astype(words.middles.dtype)
        vectors = layout.sums(words.middles[own])
        vectors /= self._sizes
        vectors += words.openings[own][layout.starts]
        vectors += words.closings[own][layout.ends]
        self._vectors = UnitRows.of(vectors)
        self._types = Comparison(words.types.rows[own], types, part.type_pairs, measures.types)
        self._spans = Comparison(self._vectors.rows, spans, part.span_pairs, measures.spans)

        outside_border, begin, go_on, end = words.borders[own].T
        outside = self._types.scores[:, -1] + outside_border
        sums = layout.sums(np.concatenate([self._types.scores[:, :-1], go_on[:, None]], axis=1))
        borders = sums[:, -1] + (begin - go_on)[layout.starts] + end[layout.ends]
        scores = self._spans.scores + sums[:, :-1] + borders[:, None]
        scores[part.closed] = IMPOSSIBLE
        whole = log_sum(scores)
        total, self._outside_shares, span_shares = part.marginals(outside, whole)
        scores_of_gold = scores[part.gold_spans, part.gold_slots]
        self.loss = total - float(outside[part.gold_outside].sum()) - float(scores_of_gold.sum())
        scores -= whole[:, None]
        self._slot_shares = np.exp(scores, out=scores)  # of a span's score those of its slots
        self._slot_shares *= span_shares[:, None]

    def gradient(self, weight: float, back: WordGradients) -> tuple[LikenessGradient, LikenessGradient]:
        """Of `weight` times the loss, once: adds what runs back to words, and gives what runs to types and spans."""
        part, layout, own = self._part, self._part.spans, self._part.words
        of_outside, of_scores = self._outside_shares, self._slot_shares
        of_outside[part.gold_outside] -= 1
        of_scores[part.gold_spans, part.gold_slots] -= 1
        of_outside *= weight
        of_scores *= weight

        of_borders = of_scores.sum(1, keepdims=True)
        of_words = layout.sums_gradient(np.concatenate([of_scores, of_borders], axis=1))
        begins = layout.picked_gradient(of_borders, layout.starts)[:, 0]
        back.borders[own, 0] = of_outside
        back.borders[own, 1] = begins
        back.borders[own, 2] = of_words[:, -1] - begins
        back.borders[own, 3] = layout.picked_gradient(of_borders, layout.ends)[:, 0]
        of_words[:, -1] = of_outside  # no slot is the last class, and `go on` has been read
        types, spans = self._types.gradient(of_words), self._spans.gradient(of_scores)

        back.types[own] = types.things
        of_vectors = self._vectors.gradient(spans.things)
        back.openings[own] = layout.picked_gradient(of_vectors, layout.starts)
        back.closings[own] = layout.picked_gradient(of_vectors, layout.ends)
        of_vectors /= self._sizes
        back.middles[own] = layout.sums_gradient(of_vectors)
        return types, spans


def _name_gradients(maps: SpanMaps, names: NameActivations, of_out: Array, gradient: SpanMaps) -> None:
    """The map of names, from its output to its layer norm, whose input stays as it is. [K, 2k]."""
    density = np.exp(-0.5 * names.inner**2) / math.sqrt(2 * math.pi)
    of_inner = of_out @ maps.out_weight * (names.shares + names.inner * density)
    of_scaled = of_inner @ maps.hidden_weight
    np.matmul(of_out.T, names.hidden, out=gradient.out_weight)
    np.matmul(of_inner.T, names.scaled, out=gradient.hidden_weight)
    of_out.sum(0, out=gradient.out_bias)
    of_inner.sum(0, out=gradient.hidden_bias)
    (of_scaled * names.normed).sum(0, out=gradient.norm_weight)
    of_scaled.sum(0, out=gradient.norm_bias)
