"""What deciding about spans needs of a trained model, whoever computes it: torch, or an exported graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import numpy as np

from handful.encoders.encoding import Array
from handful.model.views import Measures, Names
from handful.types import Words

Seen = tuple[Array, Array]  # of a sentence: its words' views, [T, 6k + 4], and its own vector, [d]


class DecodingSettings(Protocol):
    """Read, never written: settings are frozen."""

    @property
    def evidence(self) -> float: ...
    @property
    def slot_repeats(self) -> str: ...
    @property
    def descriptions(self) -> Mapping[str, str]: ...


class SpanModel(Protocol):
    @property
    def config(self) -> DecodingSettings: ...

    @property
    def width(self) -> int:
        """k, of the vectors of words and spans."""
        ...

    def plain_measures(self) -> Measures:
        """Of numbers, not of tensors."""
        ...

    def label_vectors(self, intents: Sequence[Words], slots: Sequence[Words]) -> Names:
        """Of labels' texts, as numpy arrays."""
        ...

    def see(self, sentences: Sequence[Words]) -> list[Seen]: ...

    def undisturbed(self) -> AbstractContextManager[object]:
        """While this is entered, numpy's threads do not get into the way of the model's."""
        ...


class Encodings:
    """What a model sees of a bot's examples and labels, kept: a bot that grows is not encoded anew."""

    def __init__(self, sentences: Mapping[Words, Seen] | None = None) -> None:
        self._sentences = dict(sentences or {})

    @property
    def sentences(self) -> Mapping[Words, Seen]:
        return self._sentences

    def of(self, model: SpanModel, sentences: Sequence[Words]) -> list[Seen]:
        new = [words for words in dict.fromkeys(sentences) if words not in self._sentences]
        if new:
            self._sentences |= zip(new, model.see(new), strict=True)
        return [self._sentences[words] for words in sentences]

    def keep_only(self, sentences: Iterable[Words]) -> None:
        """Forgets what no example says any more."""
        kept = set(sentences)
        self._sentences = {words: seen for words, seen in self._sentences.items() if words in kept}


def unit(vectors: Array) -> Array:
    """Rows of length one, for those who compare sentences themselves. [n, d]."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)
