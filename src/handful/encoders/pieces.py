"""From words to the pieces that a BERT-like encoder reads: windows of whole words, and batches of like lengths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

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


class PieceReader:
    """Words as pieces. What is too long for the encoder is read in overlapping windows."""

    def __init__(self, tokenizer: Any, room: int) -> None:
        """A fast tokenizer of transformers (whose own types know nothing of pieces), and how many pieces fit."""
        self._tokenizer, self._room = tokenizer, room
        # The frozen layers and the trained ones ask for the same sentences, one after the other.
        self._last: tuple[tuple[Words, ...], list[Window]] = ((), [])

    def windows(self, sentences: Sequence[Words]) -> list[Window]:
        """All windows, sentence after sentence; nearly always one each."""
        if not all(sentences):
            raise ValueError("a sentence without words cannot be encoded")
        asked, found = self._last  # read once: another thread may ask, too
        if asked != tuple(sentences):
            pieces = self._pieces(sentences)
            found = [window for index, words in enumerate(pieces) for window in split_windows(index, words, self._room)]
            self._last = (tuple(sentences), found)
        return found

    def ids(self, batch: Sequence[Window]) -> tuple[Tensor, Tensor]:
        """Piece numbers and their mask, both [B, longest]."""
        longest = max(window.length for window in batch)
        ids = torch.full((len(batch), longest), self._tokenizer.pad_token_id)
        mask = torch.zeros((len(batch), longest), dtype=torch.long)
        for row, window in enumerate(batch):
            flat = [piece for word in window.pieces for piece in word]
            line = [self._tokenizer.cls_token_id, *flat, self._tokenizer.sep_token_id]
            ids[row, : len(line)] = torch.tensor(line)
            mask[row, : len(line)] = 1
        return ids, mask

    def _pieces(self, sentences: Sequence[Words]) -> list[list[tuple[int, ...]]]:
        """The piece ids of every word. A word that the tokenizer drops (a lone joiner, say) is the unknown piece."""
        if not sentences:
            return []
        encoded = self._tokenizer(
            [list(words) for words in sentences],
            is_split_into_words=True,
            add_special_tokens=False,
            verbose=False,
        )
        found: list[list[tuple[int, ...]]] = []
        for index, words in enumerate(sentences):
            of_word: list[list[int]] = [[] for _ in words]
            for piece, word in zip(encoded["input_ids"][index], encoded.word_ids(index), strict=True):
                of_word[word].append(piece)
            found.append([tuple(ids) or (self._tokenizer.unk_token_id,) for ids in of_word])
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
