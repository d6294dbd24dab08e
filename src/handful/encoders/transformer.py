"""BERT-like encoders: a word is its first piece, a sentence the mean of all its pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import transformers
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
        self._model.eval()
        self._room = int(self._model.config.max_position_embeddings) - 2

    def encode(self, sentences: Sequence[Words]) -> list[Encoding]:
        """[T words] -> sentence [d], words [T, d]. What is too long for the encoder is read in overlapping windows."""
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
    """One encoding from the windows of a sentence (nearly always one)."""
    total = max(window.first_word + len(window.pieces) for window, _ in parts)
    words = np.empty((total, parts[0][1].shape[1]), dtype=np.float32)
    margins = np.full(total, -1)
    for window, hidden in parts:
        lengths = [len(word) for word in window.pieces]
        first_pieces = 1 + np.cumsum([0, *lengths[:-1]])
        places = np.arange(len(lengths))
        # Of the windows that hold a word, the one where it has most context on its poorer side speaks for it.
        margin = np.minimum(places, places[::-1])
        better = margin > margins[window.first_word + places]
        words[window.first_word + places[better]] = hidden[first_pieces[better]]
        margins[window.first_word + places[better]] = margin[better]
    pieces = np.concatenate([hidden for _, hidden in parts])
    return Encoding(pieces.mean(axis=0), words)
