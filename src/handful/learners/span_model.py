"""What deciding about spans needs of a trained model, whoever computes it: torch, or an exported graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

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


@runtime_checkable
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
    """What a model sees of a bot's examples and of its labels, kept: a bot that grows is not encoded anew."""

    def __init__(
        self,
        sentences: Mapping[Words, Seen] | None = None,
        intents: Mapping[Words, Array] | None = None,
        slots: Mapping[Words, tuple[Array, Array]] | None = None,
        no_slot: Array | None = None,
    ) -> None:
        self.sentences = dict(sentences or {})
        # Vectors of labels' texts, of length one: of an intent [d]; of a slot as words' type and as a span, [k] each.
        self.intents = dict(intents or {})
        self.slots = dict(slots or {})
        self.no_slot = no_slot  # [k]

    def of(self, model: SpanModel, sentences: Sequence[Words]) -> list[Seen]:
        new = [words for words in dict.fromkeys(sentences) if words not in self.sentences]
        if new:
            self.sentences |= zip(new, model.see(new), strict=True)
        return [self.sentences[words] for words in sentences]

    def names(self, model: SpanModel, intents: Sequence[Words], slots: Sequence[Words]) -> Names:
        new_intents = [text for text in dict.fromkeys(intents) if text not in self.intents]
        new_slots = [text for text in dict.fromkeys(slots) if text not in self.slots]
        if new_intents or new_slots or self.no_slot is None:
            found = model.label_vectors(new_intents, new_slots)
            self.intents |= zip(new_intents, found.intents, strict=True)
            self.slots |= zip(new_slots, zip(found.types[:-1], found.spans, strict=True), strict=True)
            self.no_slot = found.types[-1]
        types = [*(self.slots[text][0] for text in slots), self.no_slot]
        spans = [self.slots[text][1] for text in slots]
        empty = np.zeros((0, len(types[-1])), dtype=np.float32)
        return Names(
            np.stack([self.intents[text] for text in intents]), np.stack(types), np.stack(spans) if spans else empty
        )

    def forget_labels(self, intents: Iterable[Words], slots: Iterable[Words]) -> None:
        """All but these: a bot whose labels are described anew again and again must not grow by it."""
        named, filled = set(intents), set(slots)
        self.intents = {text: vector for text, vector in self.intents.items() if text in named}
        self.slots = {text: vectors for text, vectors in self.slots.items() if text in filled}

    def only(self, sentences: Iterable[Words]) -> Encodings:
        """Without what no example says any more."""
        kept = {words: self.sentences[words] for words in sentences if words in self.sentences}
        return Encodings(kept, self.intents, self.slots, self.no_slot)
