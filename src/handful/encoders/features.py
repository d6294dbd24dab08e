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

    @property
    def learns_context(self) -> bool:
        """Whether what is trained here lets a word see its neighbours; where it does not, a BiLSTM has to."""
        return False

    @property
    def shared(self) -> tuple[object, ...]:
        """What a copy need not have for itself: nothing of it is trained."""
        return ()

    @abstractmethod
    def forward(self, sentences: Sequence[Words], features: Sequence[Array]) -> Tensor:
        """Words of all sentences, one after another: [W, width]."""

    def with_sentences(self, sentences: Sequence[Words], features: Sequence[Array]) -> tuple[Tensor, Tensor]:
        """The words, and a vector for each sentence: [W, width], [B, width]. Here it is the mean of its words."""
        words = self(sentences, features)
        return words, row_means(words, [len(own) for own in sentences])


def row_means(rows: Tensor, lengths: Sequence[int]) -> Tensor:
    """Means of runs of rows. [R, d] and B lengths -> [B, d]."""
    own = torch.as_tensor(lengths)
    owners = torch.repeat_interleave(torch.arange(len(own)), own)
    sums = rows.new_zeros(len(own), rows.shape[1]).index_add(0, owners, rows)
    return sums / own[:, None]


class FixedWords(WordMaker):
    """Features that are the words already, as GloVe's: nothing is trained."""

    def forward(self, sentences: Sequence[Words], features: Sequence[Array]) -> Tensor:
        return torch.as_tensor(np.concatenate(features))
