"""What deciding about spans needs of a trained model, whoever computes it: torch, or an exported graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from handful.encoders.encoding import Array
from handful.model.span_maps import SpanMaps
from handful.types import Words

if TYPE_CHECKING:
    from handful.learners.bot_heads import HeadFitting

HalfArray = NDArray[np.float16]
Floats = Array | HalfArray
Seen = tuple[Floats, Floats]  # of a sentence: the hidden states of its words, [T, d], and its own vector, [d]


class DecodingSettings(Protocol):
    """Read, never written: settings are frozen."""

    @property
    def evidence(self) -> float: ...
    @property
    def slot_repeats(self) -> str: ...
    @property
    def descriptions(self) -> Mapping[str, str]: ...
    @property
    def fitting(self) -> HeadFitting: ...


@runtime_checkable
class SpanModel(Protocol):
    @property
    def config(self) -> DecodingSettings: ...

    @property
    def maps(self) -> SpanMaps:
        """As they come with the model, fitted to no bot."""
        ...

    def slot_name_means(self, slots: Sequence[Words]) -> Array:
        """What the map of slot names reads of labels' texts. [K, f]."""
        ...

    def see(self, sentences: Sequence[Words]) -> list[Seen]: ...

    def undisturbed(self) -> AbstractContextManager[object]:
        """While this is entered, numpy's threads do not get into the way of the model's."""
        ...


class Encodings:
    """What a model sees of a bot's examples and of its labels, kept: a bot that grows is not encoded anew.

    In half precision, which is what files of it have: a bot that is loaded answers as the one that was saved.
    """

    def __init__(
        self,
        sentences: Mapping[Words, Seen] | None = None,
        intents: Mapping[Words, HalfArray] | None = None,
        slots: Mapping[Words, HalfArray] | None = None,
    ) -> None:
        self.sentences = dict(sentences or {})
        self.intents = dict(intents or {})  # of labels' texts, the vectors of sentences, [d]
        self.slots = dict(slots or {})  # of labels' texts, the means of their frozen states, [f]

    def of(self, model: SpanModel, sentences: Sequence[Words]) -> list[Seen]:
        new = [words for words in dict.fromkeys(sentences) if words not in self.sentences]
        if new:
            self.sentences |= zip(new, ((_half(a), _half(b)) for a, b in model.see(new)), strict=True)
        return [self.sentences[words] for words in sentences]

    def intent_names(self, model: SpanModel, texts: Sequence[Words]) -> Array:
        """[N, d]."""
        new = [text for text in dict.fromkeys(texts) if text not in self.intents]
        if new:
            self.intents |= zip(new, (_half(vector) for _, vector in model.see(new)), strict=True)
        return np.stack([self.intents[text] for text in texts]).astype(np.float32)

    def slot_names(self, model: SpanModel, texts: Sequence[Words]) -> Array:
        """[K, f]."""
        new = [text for text in dict.fromkeys(texts) if text not in self.slots]
        if new:
            self.slots |= zip(new, _half(model.slot_name_means(new)), strict=True)
        if not texts:
            return np.zeros((0, len(model.maps.norm_weight)), dtype=np.float32)
        return np.stack([self.slots[text] for text in texts]).astype(np.float32)

    def forget_labels(self, intents: Iterable[Words], slots: Iterable[Words]) -> None:
        """All but these: a bot whose labels are described anew again and again must not grow by it."""
        named, filled = set(intents), set(slots)
        self.intents = {text: vector for text, vector in self.intents.items() if text in named}
        self.slots = {text: vectors for text, vectors in self.slots.items() if text in filled}

    def only(self, sentences: Iterable[Words]) -> Encodings:
        """Without what no example says any more."""
        kept = {words: self.sentences[words] for words in sentences if words in self.sentences}
        return Encodings(kept, self.intents, self.slots)


def _half(array: Floats) -> HalfArray:
    return np.asarray(array, dtype=np.float16)
