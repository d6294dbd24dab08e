"""ELMo (Peters et al. 2018): what a language model of characters, read forwards and backwards, makes of each word."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import conv1d

from handful.encoders.digests import sha256_of
from handful.encoders.elmo_files import Cell, Highway, Linear, Lstm, read_options, read_weights
from handful.encoders.encoding import Array
from handful.types import Words

# A word is its UTF-8 bytes between two marks; a sentence begins and ends with a word of one special character.
_SENTENCE_BEGINS, _SENTENCE_ENDS, _WORD_BEGINS, _WORD_ENDS, _PADDING = range(256, 261)
Spelling = tuple[int, ...]

# At the official size a place holds 64 KB of gates, and a spelling 180 KB of the widest convolution.
_PLACES_A_BATCH = 1024
_SPELLINGS_A_BATCH = 256


class ElmoFeatures:
    """The layers of a frozen ELMo. Stateless: bilm-tf carries its LSTMs' states from batch to batch, so that there a
    sentence's numbers depend on what was read before; here every sentence begins from zero."""

    def __init__(self, options: Path, weights: Path) -> None:
        self._options = read_options(options)
        self._weights = read_weights(weights, self._options)
        settings = hashlib.sha256(self._options.model_dump_json().encode()).hexdigest()
        self._name = f"elmo-{sha256_of(weights)[:12]}-{settings[:8]}"

    @property
    def name(self) -> str:
        return self._name

    @property
    def width(self) -> int:
        return 2 * self._options.lstm.projection_dim

    @property
    def layers(self) -> int:
        return self._options.lstm.n_layers + 1

    def compute(self, sentences: Sequence[Words]) -> list[Array]:
        """[T words] -> [T, layers, width] a sentence: the words by themselves (twice, to fill the width), then the
        LSTMs' layers, forwards beside backwards."""
        if not all(sentences):
            raise ValueError("a sentence without words cannot be encoded")
        found: dict[int, Array] = {}
        # Always on the CPU, where the weights are: it is done once, and kept.
        with torch.inference_mode(), torch.device("cpu"):
            for batch in _batches(sentences):
                found.update(zip(batch, self._forward([sentences[index] for index in batch]), strict=True))
        return [found[index] for index in range(len(sentences))]

    def _forward(self, batch: Sequence[Words]) -> list[Array]:
        """Sentences, the longest first."""
        most = self._options.char_cnn.max_characters_per_token
        spelled = [[spell(word, most) for word in _characters(words)] for words in batch]
        numbers = {spelling: number for number, spelling in enumerate({word: None for row in spelled for word in row})}
        lengths = torch.tensor([len(row) for row in spelled])
        # Places past a sentence's end hold some word or other: they are never read.
        places = torch.zeros(len(batch), len(spelled[0]), dtype=torch.long)
        for row, spellings in enumerate(spelled):
            places[row, : len(spellings)] = torch.tensor([numbers[spelling] for spelling in spellings])
        tokens = self._tokens(list(numbers))[places]

        lstm = self._options.lstm
        forward = run_layers(self._weights.forward, lstm, tokens, lengths)
        turned = run_layers(self._weights.backward, lstm, reverse(tokens, lengths), lengths)
        backward = [reverse(layer, lengths) for layer in turned]
        pairs = [(tokens, tokens), *zip(forward, backward, strict=True)]
        stacked = torch.stack([torch.cat(pair, dim=-1) for pair in pairs], dim=2)  # [B, T, layers, width]
        # A copy each: a kept sentence must not keep its batch. The first and last words are the sentence's marks.
        return [stacked[row, 1 : len(words) + 1].clone().numpy() for row, words in enumerate(batch)]

    def _tokens(self, spellings: Sequence[Spelling]) -> Tensor:
        """Words by themselves: [N] -> [N, projection_dim]."""
        parts = range(0, len(spellings), _SPELLINGS_A_BATCH)
        return torch.cat(
            [self._convolve(torch.tensor(spellings[start : start + _SPELLINGS_A_BATCH])) for start in parts]
        )

    def _convolve(self, spellings: Tensor) -> Tensor:
        """[N, characters] -> [N, projection_dim]."""
        characters = self._weights.characters[spellings].transpose(1, 2)  # [N, c, characters]
        # Padding takes part in the maxima, as it did in training.
        maxima = [conv1d(characters, part.weight, part.bias).amax(dim=-1) for part in self._weights.convolutions]
        joined = torch.cat(maxima, dim=-1)
        hidden = joined.relu() if self._options.char_cnn.activation == "relu" else joined.tanh()
        for part in self._weights.highways:
            hidden = highway(hidden, part)
        return hidden if self._weights.projection is None else _linear(hidden, self._weights.projection)


class ScalarMix(nn.Module):
    """Peters et al. 2018, eq. 1: γ Σ softmax(s)_k h_k, with s and γ learned. [.., layers, width] -> [.., width]."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.scores = nn.Parameter(torch.zeros(layers))
        self.gamma = nn.Parameter(torch.ones(()))

    def forward(self, hidden: Tensor) -> Tensor:
        return self.gamma * (self.scores.softmax(dim=0) @ hidden)


def spell(word: Sequence[int], most: int) -> Spelling:
    """`most` characters: what is too long loses its end, but not the mark of it."""
    marked = (_WORD_BEGINS, *word[: most - 2], _WORD_ENDS)
    return marked + (_PADDING,) * (most - len(marked))


def highway(inputs: Tensor, part: Highway) -> Tensor:
    """The gate that the files call carry lets the new through and not the old, whatever its name. [N, d] -> [N, d]."""
    gate = _linear(inputs, part.carry).sigmoid()
    return gate * _linear(inputs, part.transform).relu() + (1 - gate) * inputs


def run_layers(cells: Sequence[Cell], lstm: Lstm, inputs: Tensor, lengths: Tensor) -> list[Tensor]:
    """What each layer gives: [B, T, p], [B] descending -> [B, T, p] each."""
    found: list[Tensor] = []
    for cell in cells:
        outputs = run_cell(cell, lstm, inputs, lengths)
        # The first layer has no skip connection: its input is of another kind.
        inputs = outputs + inputs if lstm.use_skip_connections and found else outputs
        found.append(inputs)
    return found


def run_cell(cell: Cell, lstm: Lstm, inputs: Tensor, lengths: Tensor) -> Tensor:
    """TensorFlow's LSTMCell, with its clips: [B, T, p], [B] descending -> [B, T, p], zeros past the ends."""
    outputs = torch.zeros_like(inputs)
    from_inputs = inputs @ cell.of_input + cell.bias  # all places at once: [B, T, 4h]
    state = inputs.new_zeros(len(inputs), lstm.projection_dim)
    memory = inputs.new_zeros(len(inputs), lstm.dim)
    for place, running in enumerate((lengths[:, None] > torch.arange(inputs.shape[1])).sum(dim=0).tolist()):
        # Sentences that have ended are left out, so that a sentence's numbers do not depend on its company.
        gates = from_inputs[:running, place] + state[:running] @ cell.of_state
        write, new, keep, show = gates.chunk(4, dim=-1)
        memory = keep.sigmoid() * memory[:running] + write.sigmoid() * new.tanh()
        if lstm.cell_clip is not None:
            memory = memory.clamp(-lstm.cell_clip, lstm.cell_clip)
        state = show.sigmoid() * memory.tanh()
        if cell.projection is not None:
            state = state @ cell.projection
            # TensorFlow clips what it projects, and nothing where it does not.
            if lstm.proj_clip is not None:
                state = state.clamp(-lstm.proj_clip, lstm.proj_clip)
        outputs[:running, place] = state
    return outputs


def reverse(hidden: Tensor, lengths: Tensor) -> Tensor:
    """Each sentence from its own end to its start: [B, T, d], [B] -> [B, T, d]. What is past the end stays there."""
    places = torch.arange(hidden.shape[1])
    mirrored = lengths[:, None] - 1 - places
    index = torch.where(mirrored >= 0, mirrored, places)
    return hidden.gather(1, index[:, :, None].expand_as(hidden))


def _linear(inputs: Tensor, part: Linear) -> Tensor:
    return torch.addmm(part.bias, inputs, part.weight)


def _characters(words: Words) -> Iterator[Sequence[int]]:
    yield (_SENTENCE_BEGINS,)
    for word in words:
        yield word.encode("utf-8", "ignore")  # half a character (a lone surrogate) has no bytes
    yield (_SENTENCE_ENDS,)


def _batches(sentences: Sequence[Words]) -> Iterator[list[int]]:
    """The numbers of sentences of like length, the longest first: a batch's first sentence is its widest."""
    batch: list[int] = []
    for index in sorted(range(len(sentences)), key=lambda index: -len(sentences[index])):
        longest = len(sentences[batch[0] if batch else index]) + 2
        if batch and longest * (len(batch) + 1) > _PLACES_A_BATCH:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
