"""A network below the baselines with no encoder: what it reads of a sentence is drawn by chance or spelt out, and its
body is one linear map, so that every equation can be worked out by hand."""

from __future__ import annotations

import copy
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from handful.data.bio import utterance_tags
from handful.encoders.network import SentenceNetwork
from handful.types import Episode, Slot, Utterance, Words
from oracles import baselines as oracle

Floats = NDArray[np.float64]
Inputs = Callable[[Words], tuple[Floats, Floats]]  # of words, [T, n], and of the sentence, [n]


class Nameless:
    name = "linear"


class LinearNetwork(nn.Module):
    """f = A x + c for words and sentences alike."""

    def __init__(self, inputs: Inputs, size: int, width: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.inputs, self.width, self.frozen = inputs, width, Nameless()
        self.words = nn.Linear(size, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, sentences: Sequence[Words]) -> tuple[Tensor, Tensor]:
        words, means = zip(*(self.inputs(sentence) for sentence in sentences), strict=True)
        kind = self.words.weight.dtype
        rows = (torch.as_tensor(part, dtype=kind) for part in (np.concatenate(words), np.stack(means)))
        of_words, of_sentences = (self.dropout(self.words(part)) for part in rows)
        return of_words, of_sentences

    def prepare(self, sentences: Sequence[Words]) -> Iterator[int]:
        yield len(sentences)

    def twin(self) -> Self:
        return copy.deepcopy(self)


def drawn(seed: int, size: int = 3) -> Inputs:
    """By the sentence's words alone."""

    def inputs(words: Words) -> tuple[Floats, Floats]:
        rng = np.random.default_rng([seed, zlib.crc32("\0".join(words).encode())])
        return rng.normal(size=(len(words), size)), rng.normal(size=size)

    return inputs


def spelt(table: Mapping[str, Sequence[float]]) -> Inputs:
    """A word is what the table says, a sentence the mean of its words."""

    def inputs(words: Words) -> tuple[Floats, Floats]:
        rows = np.array([table[word] for word in words], dtype=np.float64)
        return rows, rows.mean(0)

    return inputs


def linear_network(seed: int = 0, *, size: int = 3, width: int = 4, dropout: float = 0.0) -> SentenceNetwork:
    torch.manual_seed(seed)
    return cast(SentenceNetwork, LinearNetwork(drawn(seed, size), size, width, dropout))


def spelt_network(table: Mapping[str, Sequence[float]]) -> SentenceNetwork:
    """Vectors are the table's own."""
    size = len(next(iter(table.values())))
    network = LinearNetwork(spelt(table), size, size)
    with torch.no_grad():
        network.words.weight.copy_(torch.eye(size))
        network.words.bias.zero_()
    return cast(SentenceNetwork, network)


def weights_of(module: nn.Module) -> dict[str, Tensor]:
    return {name: weight.detach().clone() for name, weight in module.named_parameters()}


def same(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(weight, other[name]) for name, weight in one.items())


def body_weights(network: SentenceNetwork) -> oracle.Weights:
    """A and c, as the oracle names them."""
    weights = weights_of(network)
    return {"A": weights["words.weight"].double().numpy(), "c": weights["words.bias"].double().numpy()}


def told(
    network: SentenceNetwork, utterances: Sequence[Utterance], intents: Sequence[str], tags: Sequence[str]
) -> list[oracle.Told]:
    """What the network reads of utterances, their classes numbered as the labels stand in the lists."""
    inputs = cast(LinearNetwork, network).inputs
    return [
        oracle.Told(
            *inputs(u.sentence),
            intents.index(u.intent),
            [tags.index(tag) if tag in tags else oracle.ABSENT for tag in utterance_tags(u)],
        )
        for u in utterances
    ]


WORDS = ("fly", "to", "boston", "rome", "now", "a", "b", "!")
SLOTS = ("city", "time", "pair")


def random_episode(seed: int) -> Episode:
    """Three intents, slots here and there; every query has a slot that no support has."""
    rng = np.random.default_rng(seed)

    def utterance(intent: str, labels: Sequence[str]) -> Utterance:
        words = [WORDS[number] for number in rng.integers(len(WORDS), size=rng.integers(3, 7))]
        slots, start = [], int(rng.integers(2))
        while start < len(words):
            end = min(len(words), start + int(rng.integers(1, 3)))
            slots.append(Slot(str(rng.choice(labels)), start, end))
            start = end + int(rng.integers(1, 3))
        return Utterance.from_words(words, intent, slots)

    support = tuple(utterance(intent, SLOTS) for intent in ("x", "y", "z") for _ in range(rng.integers(1, 4)))
    query = tuple(utterance(intent, (*SLOTS, "unseen")) for intent in ("z", "x", "y", "x"))
    asked = Utterance.from_words(["now", "now", "to"], "y", [Slot("unseen", 0, 2)])
    return Episode(support, (*query, asked), seed, 0)
