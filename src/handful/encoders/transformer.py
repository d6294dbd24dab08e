"""BERT-like encoders: a word is its first piece; a sentence is the mean of all its pieces, [CLS] and [SEP] among them.

That mean is the one that MiniLM was trained with; the paper's model takes its own, over the words (layers.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from tokenizers.pre_tokenizers import ByteLevel

from handful.encoders.encoding import Array, Encoding
from handful.encoders.pieces import Layout, PieceReader, SpecialPieces, Window, layouts, like_lengths
from handful.errors import CheckpointError, listed
from handful.types import Words

# Sentences of like length together, and no more padded pieces a batch than stay in the processor's caches.
PIECES_A_BATCH = 2048
NEEDED_FILES = ("config.json", "model.safetensors", "tokenizer.json")


@dataclass(frozen=True, slots=True)
class LoadedTransformer:
    model: transformers.PreTrainedModel
    reader: PieceReader


def load_transformer(folder: Path) -> LoadedTransformer:
    """A BERT-like model in eval mode, and the reader of its pieces."""
    # Without a tokenizer's file transformers makes one up that knows no word.
    if absent := [name for name in NEEDED_FILES if not (folder / name).is_file()]:
        raise CheckpointError(f"{folder}: found no {listed(absent)}, expected the folder of a BERT-like model")
    try:
        with _silence():
            tokenizer, model, report = _loaded(folder)
    # What a foreign folder makes transformers raise is of many kinds; all of them mean that it is no such model.
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise CheckpointError(f"{folder}: the encoder cannot be loaded: {reason}") from error
    # Weights that the file lacks would be random ones. The pooler is not used, so it may be missing.
    missing = sorted(name for name in report["missing_keys"] if not name.startswith("pooler."))
    if missing:
        raise CheckpointError(f"{folder}: model.safetensors lacks weights of its own model: {listed(missing, 3)}")
    if not tokenizer.is_fast:
        raise CheckpointError(f"{folder}: the tokenizer has no word positions, expected a tokenizer.json")
    needed = {name: getattr(tokenizer, f"{name}_token_id") for name in ("cls", "sep", "pad", "unk")}
    if None in needed.values():
        raise CheckpointError(f"{folder}: the tokenizer lacks a cls, sep, pad or unk token: not a BERT-like model")
    if not _reads_words(tokenizer):
        raise CheckpointError(f"{folder}: the tokenizer reads words that come one by one otherwise than in a text")
    model.eval().to(torch.get_default_device())
    # The tokenizer knows of positions that the model keeps for itself, as RoBERTa does.
    positions = getattr(model.config, "max_position_embeddings", None)
    if not isinstance(positions, int):
        kind = type(model).__name__
        raise CheckpointError(f"{folder}: found a {kind} without numbered positions, expected a BERT-like model")
    positions = min(positions, tokenizer.model_max_length)
    special = SpecialPieces(needed["cls"], needed["sep"], needed["pad"], needed["unk"])
    # Room for all but [CLS] and [SEP].
    return LoadedTransformer(model, PieceReader(tokenizer.backend_tokenizer, special, positions - 2))


def _loaded(folder: Path) -> tuple[Any, Any, dict[str, Any]]:
    """Tokenizer, model, and which of the model's weights the file lacks."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    model, report = transformers.AutoModel.from_pretrained(
        folder,
        local_files_only=True,
        trust_remote_code=False,
        use_safetensors=True,
        dtype=torch.float32,
        output_loading_info=True,
    )
    return tokenizer, model, report


@contextmanager
def _silence() -> Iterator[None]:
    """What transformers reports of missing weights is checked here, and told in our words."""
    logging = transformers.utils.logging
    logging.disable_progress_bar()
    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(before)


def _reads_words(tokenizer: Any) -> bool:
    """Byte-level tokenizers, as RoBERTa's, keep the space before a word in its pieces; words one by one have none, and
    would be read as the insides of others."""
    borders = tokenizer.backend_tokenizer.pre_tokenizer
    if isinstance(borders, ByteLevel) and not borders.add_prefix_space:
        tokenizer.backend_tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=True, use_regex=borders.use_regex)

    def second_word(encoded: Any) -> list[int]:
        return [piece for piece, word in zip(encoded["input_ids"], encoded.word_ids(), strict=True) if word == 1]

    one_by_one = tokenizer(["we", "fly"], is_split_into_words=True, add_special_tokens=False)
    return second_word(one_by_one) == second_word(tokenizer("we fly", add_special_tokens=False))


def last_hidden(loaded: LoadedTransformer, windows: Sequence[Window]) -> list[Array]:
    """Hidden states of the model's last layer, [pieces, d] a window, without padding."""
    found: dict[int, Array] = {}
    for batch in like_lengths([window.length for window in windows], PIECES_A_BATCH):
        numbers = loaded.reader.ids([windows[row] for row in batch])
        ids, mask = (torch.as_tensor(part, device=loaded.model.device) for part in numbers)
        with torch.inference_mode():
            hidden = loaded.model(input_ids=ids, attention_mask=mask).last_hidden_state.float().cpu().numpy()
        found |= {row: hidden[place, : windows[row].length] for place, row in enumerate(batch)}
    return [found[row] for row in range(len(windows))]


class TransformerEncoder:
    def __init__(self, folder: Path) -> None:
        self._loaded = load_transformer(folder)

    def encode(self, sentences: Sequence[Words]) -> list[Encoding]:
        """[T words] -> sentence [d], words [T, d]."""
        windows = self._loaded.reader.windows(sentences)
        hidden = iter(last_hidden(self._loaded, windows))
        return [
            _encoding(layout, [next(hidden) for _ in layout.windows]) for layout in layouts(windows, len(sentences))
        ]


def _encoding(layout: Layout, hidden: Sequence[Array]) -> Encoding:
    """One encoding from the windows of a sentence, in which every piece counts once."""
    rows = np.concatenate(hidden)
    return Encoding(rows[layout.counted_rows].mean(axis=0), rows[layout.word_rows])
