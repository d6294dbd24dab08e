"""ELMo as the paper's baselines use it: its layers mixed by trained weights, with GloVe's vectors beside them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from handful.encoders.elmo import ElmoFeatures, ScalarMix
from handful.encoders.encoding import Array
from handful.encoders.features import WordMaker
from handful.encoders.glove import GloveFeatures
from handful.types import Words


class ElmoWithGlove:
    """All layers of ELMo, one after another, and GloVe: [T, layers · width + glove width] a sentence."""

    def __init__(self, elmo: ElmoFeatures, glove: GloveFeatures | None) -> None:
        self._elmo, self._glove = elmo, glove
        self.glove_width = 0 if glove is None else glove.width

    @property
    def name(self) -> str:
        return self._elmo.name if self._glove is None else f"{self._elmo.name} {self._glove.name}"

    def compute(self, sentences: Sequence[Words]) -> list[Array]:
        layers = [array.reshape(len(array), -1) for array in self._elmo.compute(sentences)]
        if self._glove is None:
            return layers
        return [np.concatenate(pair, axis=1) for pair in zip(layers, self._glove.compute(sentences), strict=True)]


class MixedWords(WordMaker):
    """ELMo's layers mixed, GloVe's vectors as they are."""

    def __init__(self, layers: int, elmo_width: int, glove_width: int) -> None:
        super().__init__(elmo_width + glove_width)
        self.mix = ScalarMix(layers)
        self._layers, self._elmo_width = layers, elmo_width

    def forward(self, sentences: Sequence[Words], features: Sequence[Array]) -> Tensor:
        rows = torch.as_tensor(np.concatenate(features))
        layers, glove = rows.split([self._layers * self._elmo_width, self.width - self._elmo_width], dim=-1)
        return torch.cat([self.mix(layers.view(-1, self._layers, self._elmo_width)), glove], dim=-1)
