"""The network below every trained learner: frozen features, words made of them, and the BiLSTM of Eq. 1."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, Self

from torch import Tensor, nn

from handful.encoders.bilstm import BiLSTM
from handful.encoders.encoding import Array
from handful.encoders.features import FrozenFeatures, WordMaker, row_means
from handful.types import Words

# Frozen features are prepared in batches that depend on nothing but the sentences: float sums differ with a batch's
# shape, and a run that is resumed must read the very same numbers.
_PREPARED_TOGETHER = 128


class Kept(Protocol):
    """Where features are kept: encoders/store.py, or nowhere."""

    def get(self, sentences: Sequence[Words], compute: Callable[[Sequence[Words]], list[Array]]) -> list[Array]: ...


class Unkept:
    """Features computed anew every time: what the cache is measured against."""

    def get(self, sentences: Sequence[Words], compute: Callable[[Sequence[Words]], list[Array]]) -> list[Array]:
        distinct = list(dict.fromkeys(sentences))
        found = dict(zip(distinct, compute(distinct), strict=True))
        return [found[words] for words in sentences]


class WordNetwork(nn.Module):
    """Sentences -> H of their words, one after another: [W, d]."""

    def __init__(self, frozen: FrozenFeatures, words: WordMaker, kept: Kept, dropout: float) -> None:
        super().__init__()
        self.words = words
        self.bilstm = BiLSTM(words.width, dropout)
        self.width = self.bilstm.width
        self.frozen, self._kept = frozen, kept

    def forward(self, sentences: Sequence[Words]) -> Tensor:
        made = self.words(sentences, self.features(sentences))
        return self.bilstm(made, [len(words) for words in sentences])

    def features(self, sentences: Sequence[Words]) -> list[Array]:
        """What the frozen part gives, kept or computed."""
        return self._kept.get(sentences, self.frozen.compute)

    def prepare(self, sentences: Sequence[Words]) -> Iterator[int]:
        """Computes and keeps the frozen features of all sentences; yields how many are done."""
        yield from prepared(sentences, self.frozen, self._kept)


class SentenceNetwork(nn.Module):
    """Sentences -> the vectors of their words, [W, d], and their own, [B, d]: the network below the baselines.

    Words that learn their context in the encoder's own layers are taken from there; over GloVe and ELMo, whose vectors
    are fixed, a BiLSTM reads them, and a sentence is the mean of its words.
    """

    def __init__(self, frozen: FrozenFeatures, words: WordMaker, kept: Kept, dropout: float) -> None:
        super().__init__()
        self.words = words
        self.bilstm = None if words.learns_context else BiLSTM(words.width, dropout)
        self.dropout = nn.Dropout(dropout)
        self.width = words.width if self.bilstm is None else self.bilstm.width
        self.frozen, self._kept = frozen, kept

    def forward(self, sentences: Sequence[Words]) -> tuple[Tensor, Tensor]:
        features = self._kept.get(sentences, self.frozen.compute)
        if self.bilstm is None:
            rows, means = self.words.with_sentences(sentences, features)
        else:
            lengths = [len(words) for words in sentences]
            rows = self.bilstm(self.words(sentences, features), lengths)
            means = row_means(rows, lengths)
        return self.dropout(rows), self.dropout(means)

    def prepare(self, sentences: Sequence[Words]) -> Iterator[int]:
        yield from prepared(sentences, self.frozen, self._kept)

    def twin(self) -> Self:
        """A copy of what is trained; what is frozen, and what is kept of it, is the same."""
        shared = (self.frozen, self._kept, *self.words.shared)
        return copy.deepcopy(self, {id(part): part for part in shared})


def prepared(sentences: Sequence[Words], frozen: FrozenFeatures, kept: Kept) -> Iterator[int]:
    """Features of all sentences, computed and kept, batch by batch; yields how many are done."""
    ordered = sorted(set(sentences), key=lambda words: (len(words), words))
    for start in range(0, len(ordered), _PREPARED_TOGETHER):
        batch = ordered[start : start + _PREPARED_TOGETHER]

        def compute(missing: Sequence[Words], batch: Sequence[Words] = batch) -> list[Array]:
            found = dict(zip(batch, frozen.compute(batch), strict=True))
            return [found[words] for words in missing]

        kept.get(batch, compute)
        yield min(start + _PREPARED_TOGETHER, len(ordered))
