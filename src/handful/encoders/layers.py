"""A BERT-like encoder cut in two: embeddings and the first layers are frozen, the layers above are trained.

The frozen part always runs in eval mode, so its output for a sentence is the same every time and can be kept.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from handful.encoders.digests import sha256_once
from handful.encoders.encoding import Array
from handful.encoders.features import WordMaker, row_means
from handful.encoders.pieces import Layout, PieceReader, layouts, like_lengths
from handful.encoders.transformer import NEEDED_FILES, LoadedTransformer, last_hidden, load_transformer
from handful.errors import CheckpointError, ConfigError
from handful.types import Words

# Where sentences of an episode are split into batches: less padding against fewer, larger products.
_TRAINED_PIECES_A_BATCH = 512
_KEPT_LAYOUTS = 100_000
_OTHER_FILES = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")
_READING = 1  # to be raised when the same files come to give other features
_PROBE: Words = ("a", "few", "words", "to", "try")


class FrozenLayers:
    """Embeddings and the first k layers: a sentence -> the hidden states of its pieces, window after window, [P, d]."""

    def __init__(self, loaded: LoadedTransformer, name: str) -> None:
        self._loaded = loaded
        self.name = name

    @property
    def model(self) -> nn.Module:
        return self._loaded.model

    def compute(self, sentences: Sequence[Words]) -> list[Array]:
        windows = self._loaded.reader.windows(sentences)
        hidden = iter(last_hidden(self._loaded, windows))
        found = layouts(windows, len(sentences))
        return [np.concatenate([next(hidden) for _ in layout.windows]) for layout in found]


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    states: Tensor  # [B, T, d]
    mask: Tensor | None  # [B, 1, 1, T], nought or -inf


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    batches: tuple[Batch, ...]
    words: Tensor  # of each word, the row of its first piece among the rows of all batches, padding among them, [W]
    pieces: Tensor  # the rows of all sentences' pieces, [CLS] and [SEP] among them, each once, sentence after sentence
    counts: tuple[int, ...]  # how many pieces each sentence has


class TrainedLayers(WordMaker):
    """The layers above the frozen ones; a word is its first piece, as in the authors' code."""

    def __init__(self, layers: nn.ModuleList, reader: PieceReader, width: int, dropout: float) -> None:
        super().__init__(width)
        self.layers = layers
        for part in layers.modules():
            if isinstance(part, nn.Dropout):
                part.p = dropout
        self.reader = reader
        self._layouts: OrderedDict[Words, Layout] = OrderedDict()

    @property
    def learns_context(self) -> bool:
        return len(self.layers) > 0

    @property
    def shared(self) -> tuple[object, ...]:
        return self.reader, self._layouts

    def forward(self, sentences: Sequence[Words], features: Sequence[Array]) -> Tensor:
        """[P, d] a sentence -> [W, d]."""
        plan = self.planned(sentences, features)
        # index_select, here and in the BiLSTM: the gradient of [] adds row by row, many times as slow.
        return self.raised(plan).index_select(0, plan.words)

    def with_sentences(self, sentences: Sequence[Words], features: Sequence[Array]) -> tuple[Tensor, Tensor]:
        """A sentence is the mean of its pieces, as MiniLM and its like were trained."""
        plan = self.planned(sentences, features)
        rows = self.raised(plan)
        return rows.index_select(0, plan.words), row_means(rows.index_select(0, plan.pieces), plan.counts)

    def planned(self, sentences: Sequence[Words], features: Sequence[Array]) -> Plan:
        """The windows of all sentences in batches of like lengths."""
        found = self._layout(sentences)
        if len(found) == 1 and len(found[0].lengths) == 1:  # as a service is asked: nothing to put in order
            (layout,), (states,) = found, features
            words, pieces = torch.as_tensor(layout.word_rows), torch.as_tensor(layout.counted_rows)
            return Plan((Batch(torch.tensor(states[None]), None),), words, pieces, (len(pieces),))
        lengths = [length for layout in found for length in layout.lengths]
        starts = np.cumsum(lengths) - lengths
        # One row of zeros at the end is what padding reads.
        hidden = torch.as_tensor(np.concatenate([*features, np.zeros((1, self.width), dtype=np.float32)]))
        batches, made = [], 0
        places = torch.empty(len(hidden), dtype=torch.long)  # where a row of hidden states comes to stand
        for batch in like_lengths(lengths, _TRAINED_PIECES_A_BATCH):
            own = torch.tensor([lengths[row] for row in batch])
            steps = torch.arange(int(own.max()))
            present = steps < own[:, None]
            rows = torch.where(present, torch.as_tensor(starts[batch])[:, None] + steps, len(hidden) - 1)
            # Added to the attention's scores; without padding there is nothing to add, and a faster way.
            mask = None if bool(present.all()) else torch.where(present, 0.0, -torch.inf)[:, None, None, :]
            batches.append(Batch(hidden[rows], mask))
            places[rows[present]] = made + torch.arange(rows.numel()).view_as(rows)[present]
            made += rows.numel()
        totals = [sum(layout.lengths) for layout in found]
        firsts = np.cumsum(totals) - totals
        words = [layout.word_rows + first for layout, first in zip(found, firsts, strict=True)]
        pieces = [layout.counted_rows + first for layout, first in zip(found, firsts, strict=True)]
        return Plan(
            tuple(batches),
            places[torch.as_tensor(np.concatenate(words))],
            places[torch.as_tensor(np.concatenate(pieces))],
            tuple(len(own) for own in pieces),
        )

    def raised(self, plan: Plan) -> Tensor:
        """The layers over all batches: their rows, padding among them. [R, d]."""
        outputs = []
        for batch in plan.batches:
            states = batch.states
            for layer in self.layers:
                states = layer(states, batch.mask)
            outputs.append(states.flatten(0, 1))
        return torch.cat(outputs)

    def _layout(self, sentences: Sequence[Words]) -> list[Layout]:
        """Pieces of a sentence are the same every time, too."""
        new = [words for words in dict.fromkeys(sentences) if words not in self._layouts]
        if new:
            self._layouts |= zip(new, layouts(self.reader.windows(new), len(new)), strict=True)
        found = [self._layouts[words] for words in sentences]
        while len(self._layouts) > _KEPT_LAYOUTS:
            self._layouts.popitem(last=False)
        return found


def cut_transformer(folder: Path, frozen_layers: int | None, dropout: float) -> tuple[FrozenLayers, TrainedLayers]:
    """The two parts of the model in `folder`; half of its layers are frozen where no number is given."""
    loaded = load_transformer(folder)
    stack = getattr(loaded.model, "encoder", None)
    layers = getattr(stack, "layer", None)
    if stack is None or not isinstance(layers, nn.ModuleList):
        kind = type(loaded.model).__name__
        raise CheckpointError(
            f"{folder}: found a {kind}, expected a model with encoder.layer, as BERT and RoBERTa have"
        )
    frozen = len(layers) // 2 if frozen_layers is None else frozen_layers
    if not 0 <= frozen <= len(layers):
        raise ConfigError(f"frozen_layers is {frozen}, but {folder.name} has {len(layers)} layers")
    windows = loaded.reader.windows([_PROBE])
    whole = last_hidden(loaded, windows)
    above = nn.ModuleList(layers[frozen:])
    stack.layer = nn.ModuleList(layers[:frozen])
    for weight in loaded.model.parameters():
        weight.requires_grad_(False)
    name = f"transformer {_identity(folder)} layers {frozen}"
    width = int(loaded.model.config.hidden_size)
    parts = FrozenLayers(loaded, name), TrainedLayers(above, loaded.reader, width, dropout)
    if not _same_as_whole(*parts, layouts(windows, 1)[0], whole):
        kind = type(loaded.model).__name__
        raise CheckpointError(f"{folder}: a {kind} cannot be cut into layers: its layers need more than hidden states")
    return parts


def _identity(folder: Path) -> str:
    """All files that change what the model makes of a sentence, and how they are read, as one sum."""
    names = (*NEEDED_FILES, *(name for name in _OTHER_FILES if (folder / name).exists()))
    sums = [f"{name} {sha256_once(folder / name)}" for name in names]
    return hashlib.sha256("\n".join([f"reading {_READING}", *sums]).encode()).hexdigest()


def _same_as_whole(frozen: FrozenLayers, trained: TrainedLayers, layout: Layout, whole: Sequence[Array]) -> bool:
    """Some models' layers share more than their input (relative positions, say); a sentence shows it."""
    try:
        with torch.inference_mode():
            found = trained.eval()([_PROBE], frozen.compute([_PROBE])).cpu().numpy()
    except (TypeError, ValueError, RuntimeError, AttributeError):
        return False
    return bool(np.allclose(found, np.concatenate(whole)[layout.word_rows], atol=1e-3))
