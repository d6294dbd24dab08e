"""Encodings that are kept: an utterance that many episodes share is encoded once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from handful.encoders.encoding import Encoder, Encoding
from handful.types import Words


class RememberingEncoder:
    """An encoder that keeps what it has encoded, up to `limit_bytes`; what was used longest ago goes first."""

    def __init__(self, encoder: Encoder, *, limit_bytes: int = 1 << 30) -> None:
        self._encoder = encoder
        self._limit = limit_bytes
        self._kept: OrderedDict[Words, Encoding] = OrderedDict()
        self._size = 0

    def encode(self, sentences: Sequence[Words]) -> list[Encoding]:
        new = [words for words in dict.fromkeys(sentences) if words not in self._kept]
        fresh = dict(zip(new, self._encoder.encode(new), strict=True)) if new else {}
        found = [fresh[words] if words in fresh else self._kept[words] for words in sentences]
        for words, encoding in zip(sentences, found, strict=True):
            if words not in self._kept:
                self._size += encoding.size
            self._kept[words] = encoding
            self._kept.move_to_end(words)
        while self._size > self._limit and self._kept:
            _, dropped = self._kept.popitem(last=False)
            self._size -= dropped.size
        return found
