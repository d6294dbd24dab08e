"""BERT-like encoders: a word is its first piece; a sentence is the mean of all its pieces, [CLS] and [SEP] among them.

That mean is the one that MiniLM was trained with; the paper's model will take its own, over the words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from safetensors import SafetensorError

from handful.encoders.encoding import Array, Encoding
from handful.errors import CheckpointError, HandfulError, listed
from handful.types import Words

# Sentences of like length together, and no more padded pieces a batch than stay in the processor's caches.
_PIECES_A_BATCH = 2048


@dataclass(frozen=True, slots=True)
class _Window:
    """A run of a sentence's words that fits the encoder, with the pieces of each."""

    sentence: int
    first_word: int
    pieces: tuple[tuple[int, ...], ...]

    @property
    def length(self) -> int:
        return sum(map(len, self.pieces)) + 2  # [CLS] and [SEP]


class TransformerEncoder:
    def __init__(self, folder: Path) -> None:
        if not (folder / "config.json").is_file():
            raise CheckpointError(f"{folder}: found no config.json, expected the folder of a BERT-like model")
        transformers.utils.logging.disable_progress_bar()
        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
            self._model, report = transformers.AutoModel.from_pretrained(
                folder, local_files_only=True, use_safetensors=True, dtype=torch.float32, output_loading_info=True
            )
        except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
            raise CheckpointError(f"{folder}: the encoder cannot be loaded: {error}") from error
        # Weights that the file lacks would be random ones. The pooler is not used, so it may be missing.
        missing = sorted(name for name in report["missing_keys"] if not name.startswith("pooler."))
        if missing:
            raise CheckpointError(f"{folder}: model.safetensors lacks weights of its own model: {listed(missing, 3)}")
        if not self._tokenizer.is_fast:
            raise CheckpointError(f"{folder}: the tokenizer has no word positions, expected a tokenizer.json")
        needed = {name: getattr(self._tokenizer, f"{name}_token_id") for name in ("cls", "sep", "pad", "unk")}
        if None in needed.values():
            raise CheckpointError(f"{folder}: the tokenizer lacks a cls, sep, pad or unk token: not a BERT-like model")
        self._model.eval()
        # The tokenizer knows of positions that the model keeps for itself, as RoBERTa does.
        positions = min(int(self._model.config.max_position_embeddings), self._tokenizer.model_max_length)
        self._room = positions - 2  # [CLS] and [SEP]

    def encode(self, sentences: Sequence[Words]) -> list[Encoding]:
        """[T words] -> sentence [d], words [T, d]. What is too long for the encoder is read in overlapping windows."""
        if not all(sentences):
            raise ValueError("a sentence without words cannot be encoded")
        pieces = self._pieces(sentences)
        windows = [w for index, words in enumerate(pieces) for w in split_windows(index, words, self._room)]
        parts: dict[int, list[tuple[_Window, Array]]] = {}
        for batch in _batches(windows):
            for window, hidden in zip(batch, self._forward(batch), strict=True):
                parts.setdefault(window.sentence, []).append((window, hidden))
        return [_assemble(sorted(parts[i], key=lambda part: part[0].first_word)) for i in range(len(sentences))]

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

    def _forward(self, batch: Sequence[_Window]) -> list[Array]:
        """Hidden states of the last layer, [pieces, d] a window, without padding."""
        longest = max(window.length for window in batch)
        ids = torch.full((len(batch), longest), self._tokenizer.pad_token_id)
        mask = torch.zeros((len(batch), longest), dtype=torch.long)
        for row, window in enumerate(batch):
            flat = [piece for word in window.pieces for piece in word]
            line = [self._tokenizer.cls_token_id, *flat, self._tokenizer.sep_token_id]
            ids[row, : len(line)] = torch.tensor(line)
            mask[row, : len(line)] = 1
        with torch.inference_mode():
            hidden = self._model(input_ids=ids, attention_mask=mask).last_hidden_state.numpy()
        return [hidden[row, : window.length] for row, window in enumerate(batch)]


def split_windows(sentence: int, words: Sequence[tuple[int, ...]], room: int) -> Iterator[_Window]:
    """Windows of whole words, each at most `room` pieces; a next one starts in the middle of the one before."""
    start = 0
    while True:
        end, used = start, 0
        while end < len(words) and used + len(words[end]) <= room:
            used += len(words[end])
            end += 1
        if end == start:
            raise HandfulError(f"word {start + 1} has {len(words[start])} pieces, more than the encoder's {room}")
        yield _Window(sentence, start, tuple(words[start:end]))
        if end == len(words):
            return
        start += max(1, (end - start) // 2)


def _batches(windows: Sequence[_Window]) -> Iterator[list[_Window]]:
    batch: list[_Window] = []
    for window in sorted(windows, key=lambda window: (window.length, window.sentence, window.first_word)):
        if batch and window.length * (len(batch) + 1) > _PIECES_A_BATCH:
            yield batch
            batch = []
        batch.append(window)
    if batch:
        yield batch


def _assemble(parts: Sequence[tuple[_Window, Array]]) -> Encoding:
    """One encoding from the windows of a sentence (nearly always one), in which every piece counts once."""
    owners = _owners([window for window, _ in parts])
    words = np.empty((len(owners), parts[0][1].shape[1]), dtype=np.float32)
    pieces = [parts[0][1][:1], parts[-1][1][-1:]]  # the first [CLS] and the last [SEP]
    for number, (window, hidden) in enumerate(parts):
        places = np.arange(len(window.pieces))
        mine = owners[window.first_word + places] == number
        lengths = np.array([len(word) for word in window.pieces])
        first_pieces = 1 + np.cumsum(lengths) - lengths
        words[window.first_word + places[mine]] = hidden[first_pieces[mine]]
        pieces.append(hidden[1:-1][np.repeat(mine, lengths)])
    return Encoding(np.concatenate(pieces).mean(axis=0), words)


def _owners(windows: Sequence[_Window]) -> NDArray[np.intp]:
    """For each word the number of its window: the one where it has most context on its poorer side."""
    total = windows[-1].first_word + len(windows[-1].pieces)
    margins, owners = np.full(total, -1), np.zeros(total, dtype=np.intp)
    for number, window in enumerate(windows):
        places = np.arange(len(window.pieces))
        margin = np.minimum(places, places[::-1])
        # The sentence's own start and end are no edges of a window.
        if number == 0:
            margin = places[::-1]
        elif number == len(windows) - 1:
            margin = places
        found = slice(window.first_word, window.first_word + len(places))
        better = margin > margins[found]
        margins[found] = np.where(better, margin, margins[found])
        owners[found] = np.where(better, number, owners[found])
    return owners
