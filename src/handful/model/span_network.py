"""What is trained of joint_spans: the encoder's upper layers, and small maps from a word to how it is looked at.

A word has a type, which says what slot it could be part of; it is seen as a span's first word, its last one and one of
its middle, and as the neighbour before a span and after one. It has four border scores: for being outside all spans,
beginning one, going on and ending one.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import torch
from torch import Tensor, nn

from handful.encoders.encoding import Array
from handful.encoders.features import FrozenFeatures, WordMaker
from handful.encoders.network import Kept, prepared
from handful.model.span_maps import SpanMaps
from handful.model.spans import Measure, unit_rows
from handful.model.views import BORDERS, VIEWS, Measures
from handful.types import Words

# Where training starts, and near where it ends: intents, types, spans.
_SCALES, _TEMPERATURES, _NAME_WEIGHTS = (20.0, 4.0, 8.0), (1.1, 1.0, 1.2), (0.4, 1.3, 1.3)
_NAME_HIDDEN = 256
# What a part is where it is left out: the mean of all members instead of the nearest ones, a name beside examples.
_MEAN, _NOTHING = 1e3, 1e-6


Part = Literal["names", "nearest", "spans", "neighbours", "types", "borders"]


class SpanNetwork(nn.Module):
    """Sentences -> their words' views, [W, 6k + 4], and their own vectors, [B, d]."""

    def __init__(
        self,
        frozen: FrozenFeatures,
        words: WordMaker,
        kept: Kept,
        *,
        width: int,
        dropout: float,
        without: Sequence[Part] = (),
        bfloat16: bool = False,
    ) -> None:
        """`without` leaves parts out, to measure what they are worth; with `bfloat16` the encoder's layers compute in
        half precision while they are trained."""
        super().__init__()
        self.words = words
        self.views = nn.Linear(words.width, VIEWS * width + BORDERS)
        with torch.no_grad():
            self.views.weight[-BORDERS:] = 0
            self.views.bias[-BORDERS:] = 0
        self.dropout = nn.Dropout(dropout)
        self.name_width = int(frozen.compute([("name",)])[0].shape[-1])  # f
        self.slot_names = _name_map(self.name_width, 2 * width)
        self.no_slot = nn.Parameter(torch.randn(width) / width**0.5)
        # Logarithms: what is trained stays positive.
        self.scales = nn.Parameter(torch.tensor(_SCALES).log())
        self.temperatures = nn.Parameter(torch.tensor(_TEMPERATURES).log())
        self.name_weights = nn.Parameter(torch.tensor(_NAME_WEIGHTS).log())
        self.width = width
        self.frozen, self._kept, self.without = frozen, kept, frozenset(without)
        self._bfloat16 = bfloat16

    def forward(self, sentences: Sequence[Words]) -> tuple[Tensor, Tensor]:
        words, means = self.states(sentences)
        rows = self.views(self.dropout(words))
        return (rows * self.kept_views() if self.without else rows), means

    def states(self, sentences: Sequence[Words]) -> tuple[Tensor, Tensor]:
        """Hidden states of words, [W, d], and the sentences' own vectors, [B, d]."""
        features = self.features(sentences)
        with torch.autocast("cpu", torch.bfloat16, enabled=self._bfloat16 and self.training):
            words, means = self.words.with_sentences(sentences, features)
        return words.float(), means.float()

    def kept_views(self) -> Tensor:
        """Nought for the numbers of a word that `without` leaves out. [6k + 4]."""
        kept = torch.ones(VIEWS * self.width + BORDERS)
        if "borders" in self.without:
            kept[-BORDERS:] = 0
        if "neighbours" in self.without:
            kept[4 * self.width : VIEWS * self.width] = 0
        return kept

    def slot_name_means(self, slots: Sequence[Words]) -> Array:
        """What the map of slot names reads: frozen features alone, which cost next to nothing. [K, f]."""
        features = self.features(slots)
        means = [own.reshape(-1, own.shape[-1]).mean(0) for own in features]
        return np.stack(means) if means else np.zeros((0, self.name_width), dtype=np.float32)

    def slot_name_vectors(self, slots: Sequence[Words]) -> tuple[Tensor, Tensor]:
        """Of length one: [K + 1, k], the last of which is that of no slot at all, and [K, k]."""
        types, spans = self.slot_names(torch.as_tensor(self.slot_name_means(slots))).split(self.width, dim=-1)
        return unit_rows(torch.cat([types, self.no_slot[None]])), unit_rows(spans)

    def measures(self) -> Measures:
        scales, temperatures, weights = (logs.exp() for logs in (self.scales, self.temperatures, self.name_weights))
        if "nearest" in self.without:
            temperatures = torch.full_like(temperatures, _MEAN)
        if "names" in self.without:
            weights = torch.full_like(weights, _NOTHING)
        compared = torch.tensor([1.0, "types" not in self.without, "spans" not in self.without])
        return Measures(*(Measure(*row) for row in torch.stack([scales * compared, temperatures, weights], dim=1)))

    def features(self, sentences: Sequence[Words]) -> list[Array]:
        return self._kept.get(sentences, self.frozen.compute)

    def prepare(self, sentences: Sequence[Words]) -> Iterator[int]:
        """Computes and keeps the frozen features of all sentences; yields how many are done."""
        yield from prepared(sentences, self.frozen, self._kept)

    def twin(self) -> SpanNetwork:
        """A copy of what is trained; what is frozen, and what is kept of it, is the same."""
        shared = (self.frozen, self._kept, *self.words.shared)
        return copy.deepcopy(self, {id(part): part for part in shared})


def slot_maps(network: SpanNetwork) -> SpanMaps:
    """What scores slots, in numpy; parts that were left out in training are left out for good."""
    arrays = {name: weight.detach().float().cpu().numpy() for name, weight in network.named_parameters()}
    kept = network.kept_views().numpy()
    arrays["views.weight"], arrays["views.bias"] = arrays["views.weight"] * kept[:, None], arrays["views.bias"] * kept
    with torch.inference_mode():
        measures = network.measures()
    rows = [[float(part) for part in (m.scale, m.temperature, m.name_weight)] for m in (measures.types, measures.spans)]
    # What is left out has the scale nought, whose logarithm would be infinite.
    arrays["log_measures"] = np.log(np.maximum(np.array(rows, dtype=np.float32), _NOTHING))
    return SpanMaps.from_arrays(arrays)


def _name_map(width: int, out: int) -> nn.Sequential:
    return nn.Sequential(nn.LayerNorm(width), nn.Linear(width, _NAME_HIDDEN), nn.GELU(), nn.Linear(_NAME_HIDDEN, out))
