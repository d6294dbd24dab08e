"""An encoder in two parts: frozen features, which never change and so are computed once, and words made of them.

Words of many sentences stand one after another in one matrix [W, d], with the sentences' lengths beside it: there is
no padding to take care of, and none to compute.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from handful.encoders.encoding import Array
from handful.types import Words


class FrozenFeatures(Protocol):
    @property
    def name(self) -> str:
        """Kind, weights and whatever else changes the numbers: the same name, the same numbers."""
        ...

    def compute(self, sentences: Sequence[Words]) -> list[Array]:
        """One array a sentence; its shape is the business of the words that are made of it."""
        ...


class WordMaker(nn.Module, ABC):
    """Frozen features of sentences -> a vector for each of their words; what is trained of an encoder lives here."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    @abstractmethod
    def forward(self, sentences: Sequence[Words], features: Sequence[Array]) -> Tensor:
        """Words of all sentences, one after another: [W, width]."""


class FixedWords(WordMaker):
    """Features that are the words already, as GloVe's: nothing is trained."""

    def forward(self, sentences: Sequence[Words], features: Sequence[Array]) -> Tensor:
        return torch.as_tensor(np.concatenate(features))
