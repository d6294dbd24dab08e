from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from handful.encoders.encoding import Encoding
from handful.encoders.memory import RememberingEncoder
from handful.types import Words


class Counting:
    """Encodes a sentence as its length, and keeps count of what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Words] = []

    def encode(self, sentences: Sequence[Words]) -> list[Encoding]:
        self.asked += sentences
        return [
            Encoding(np.full(4, len(words), np.float32), np.zeros((len(words), 4), np.float32)) for words in sentences
        ]


def test_a_sentence_is_encoded_once():
    counting = Counting()
    encoder = RememberingEncoder(counting)
    first = encoder.encode([("a",), ("b", "c"), ("a",)])
    again = encoder.encode([("b", "c"), ("a",), ("d",)])
    assert counting.asked == [("a",), ("b", "c"), ("d",)]
    assert first[0] is first[2] is again[1]
    assert [int(e.sentence[0]) for e in again] == [2, 1, 1]


def test_what_was_used_longest_ago_is_forgotten_first():
    counting = Counting()
    encoder = RememberingEncoder(counting, limit_bytes=2 * 32)
    for sentence in ("a", "b", "a", "c", "a", "b"):
        encoder.encode([(sentence,)])
    assert counting.asked == [("a",), ("b",), ("c",), ("b",)]


def test_a_batch_larger_than_the_limit_still_comes_back_whole():
    encoder = RememberingEncoder(Counting(), limit_bytes=40)
    assert [int(e.sentence[0]) for e in encoder.encode([("a",), ("b", "c"), ("a",)])] == [1, 2, 1]
