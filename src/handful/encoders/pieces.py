"""From words to the pieces that a BERT-like encoder reads: windows of whole words, and batches of like lengths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from handful.errors import HandfulError
from handful.types import Words


@dataclass(frozen=True, slots=True)
class Window:
    """A run of a sentence's words that fits the encoder, with the pieces of each."""

    sentence: int
    first_word: int
    pieces: tuple[tuple[int, ...], ...]

    @property
    def length(self) -> int:
        return sum(map(len, self.pieces)) + 2  # [CLS] and [SEP]


@dataclass(frozen=True, slots=True)
class SpecialPieces:
    """The numbers of the pieces that stand for no word."""

    begin: int  # [CLS]
    end: int  # [SEP]
    padding: int
    unknown: int


class PieceReader:
    """Words as pieces. What is too long for the encoder is read in overlapping windows."""

    def __init__(self, tokenizer: Tokenizer, special: SpecialPieces, room: int) -> None:
        """`room` is how many pieces fit, [CLS] and [SEP] not counted."""
        # Some tokenizers' files cut and pad; windows and batches are our own business.
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self.tokenizer, self.special, self.room = tokenizer, special, room
        # The frozen layers and the trained ones ask for the same sentences, one after the other.
        self._last: tuple[tuple[Words, ...], list[Window]] = ((), [])

    def windows(self, sentences: Sequence[Words]) -> list[Window]:
        """All windows, sentence after sentence; nearly always one each."""
        if not all(sentences):
            raise ValueError("a sentence without words cannot be encoded")
        asked, found = self._last  # read once: another thread may ask, too
        if asked != tuple(sentences):
            pieces = self._pieces(sentences)
            found = [window for index, words in enumerate(pieces) for window in split_windows(index, words, self.room)]
            self._last = (tuple(sentences), found)
        return found

    def ids(self, batch: Sequence[Window]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Piece numbers and their mask, both [B, longest]."""
        longest = max(window.length for window in batch)
        ids = np.full((len(batch), longest), self.special.padding, dtype=np.int64)
        mask = np.zeros((len(batch), longest), dtype=np.int64)
        for row, window in enumerate(batch):
            flat = [piece for word in window.pieces for piece in word]
            ids[row, : window.length] = [self.special.begin, *flat, self.special.end]
            mask[row, : window.length] = 1
        return ids, mask

    def _pieces(self, sentences: Sequence[Words]) -> list[list[tuple[int, ...]]]:
        """The piece ids of every word. A word that the tokenizer drops (a lone joiner, say) is the unknown piece."""
        encoded = self.tokenizer.encode_batch(
            [list(words) for words in sentences], is_pretokenized=True, add_special_tokens=False
        )
        found: list[list[tuple[int, ...]]] = []
        for words, own in zip(sentences, encoded, strict=True):
            of_word: list[list[int]] = [[] for _ in words]
            for piece, word in zip(own.ids, own.word_ids, strict=True):
                if word is not None:  # None: special pieces, which were not asked for
                    of_word[word].append(piece)
            found.append([tuple(ids) or (self.special.unknown,) for ids in of_word])
        return found


def split_windows(sentence: int, words: Sequence[tuple[int, ...]], room: int) -> Iterator[Window]:
    """Windows of whole words, each at most `room` pieces; a next one starts in the middle of the one before."""
    start = 0
    while True:
        end, used = start, 0
        while end < len(words) and used + len(words[end]) <= room:
            used += len(words[end])
            end += 1
        if end == start:
            raise HandfulError(f"word {start + 1} has {len(words[start])} pieces, more than the encoder's {room}")
        yield Window(sentence, start, tuple(words[start:end]))
        if end == len(words):
            return
        start += max(1, (end - start) // 2)


def like_lengths(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Row numbers in batches of like lengths, each of at most `most` padded pieces (one row may have more)."""
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lambda row: (lengths[row], row)):
        if batch and lengths[row] * (len(batch) + 1) > most:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


@dataclass(frozen=True)
class Layout:
    """Where a sentence's pieces lie when its windows stand one after another."""

    windows: tuple[Window, ...]

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        return tuple(window.length for window in self.windows)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        return tuple(int(end) - length for end, length in zip(np.cumsum(self.lengths), self.lengths, strict=True))

    @cached_property
    def owners(self) -> NDArray[np.intp]:
        """For each word the number of its window: the one where it has most context on its poorer side. [T]."""
        total = self.windows[-1].first_word + len(self.windows[-1].pieces)
        margins, owners = np.full(total, -1), np.zeros(total, dtype=np.intp)
        for number, window in enumerate(self.windows):
            places = np.arange(len(window.pieces))
            margin = np.minimum(places, places[::-1])
            # The sentence's own start and end are no edges of a window.
            if number == 0:
                margin = places[::-1]
            elif number == len(self.windows) - 1:
                margin = places
            found = slice(window.first_word, window.first_word + len(places))
            better = margin > margins[found]
            margins[found] = np.where(better, margin, margins[found])
            owners[found] = np.where(better, number, owners[found])
        return owners

    @cached_property
    def word_rows(self) -> NDArray[np.intp]:
        """The row of each word's first piece. [T]."""
        if len(self.windows) == 1:  # nearly always
            lengths = np.array([len(word) for word in self.windows[0].pieces])
            return 1 + np.cumsum(lengths) - lengths
        rows = np.empty(len(self.owners), dtype=np.intp)
        for number, window in enumerate(self.windows):
            lengths = np.array([len(word) for word in window.pieces])
            first_pieces = self.starts[number] + 1 + np.cumsum(lengths) - lengths
            places = np.arange(len(lengths))
            mine = self.owners[window.first_word + places] == number
            rows[window.first_word + places[mine]] = first_pieces[mine]
        return rows

    @cached_property
    def counted_rows(self) -> NDArray[np.intp]:
        """Rows of the first [CLS], of every word's pieces once, and of the last [SEP]."""
        if len(self.windows) == 1:
            return np.arange(self.windows[0].length)
        rows = [np.array([0, sum(self.lengths) - 1])]
        for number, window in enumerate(self.windows):
            lengths = [len(word) for word in window.pieces]
            mine = self.owners[window.first_word : window.first_word + len(lengths)] == number
            rows.append(self.starts[number] + 1 + np.flatnonzero(np.repeat(mine, lengths)))
        return np.concatenate(rows)


def layouts(windows: Sequence[Window], count: int) -> list[Layout]:
    """The layout of each of `count` sentences."""
    of_sentence: list[list[Window]] = [[] for _ in range(count)]
    for window in windows:
        of_sentence[window.sentence].append(window)
    return [Layout(tuple(found)) for found in of_sentence]
