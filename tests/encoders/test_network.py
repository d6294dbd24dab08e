"""Every kind of encoder under the BiLSTM: words come out, gradients go in, and features are computed once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from handful.encoders.choose import ElmoConfig, EncoderConfig, GloveConfig, TransformerConfig, build_encoder
from handful.encoders.encoding import Array
from handful.encoders.network import Unkept, WordNetwork
from handful.encoders.store import ArrayStore
from handful.types import Words
from oracles.elmo_files import write_elmo

SENTENCES: list[Words] = [("fly", "to", "Boston"), ("rome",), ("a", "b", "now", "!", "zzyzx")]


@pytest.fixture
def glove_file(tmp_path: Path) -> Path:
    words = ("fly", "to", "boston", "rome", "a", "now")
    lines = [f"{word} {number} {number * 0.5} -1" for number, word in enumerate(words, 1)]
    (tmp_path / "glove.txt").write_text("\n".join(lines) + "\n")
    return tmp_path / "glove.txt"


@pytest.fixture(params=["transformer", "glove", "elmo", "elmo alone"])
def config(request: pytest.FixtureRequest, tiny_bert: Path, glove_file: Path, tmp_path: Path) -> EncoderConfig:
    match request.param:
        case "transformer":
            return TransformerConfig(name=str(tiny_bert), frozen_layers=1)
        case "glove":
            return GloveConfig(file=glove_file)
        case _:
            pytest.importorskip("h5py")
            options, weights = write_elmo(tmp_path)
            glove = GloveConfig(file=glove_file) if request.param == "elmo" else None
            return ElmoConfig(options=options, weights=weights, glove=glove)


def network_of(config: EncoderConfig, folder: Path | None = None) -> WordNetwork:
    frozen, words = build_encoder(config, dropout=0.0)
    torch.manual_seed(0)
    return WordNetwork(frozen, words, ArrayStore(frozen.name, folder=folder), dropout=0.0)


def test_words_come_out_and_gradients_reach_what_is_trained(config: EncoderConfig):
    network = network_of(config)
    found = network(SENTENCES)
    assert found.shape == (9, network.width)
    assert network.width == 2 * network.words.width
    found.square().sum().backward()
    trained = [name for name, weight in network.named_parameters() if weight.grad is not None]
    assert any(name.startswith("bilstm.") for name in trained)
    assert any(name.startswith("words.") for name in trained) == (config.kind != "glove")


def test_a_sentence_alone_or_in_a_batch_gives_the_same_words(config: EncoderConfig):
    network = network_of(config).eval()
    with torch.no_grad():
        for words, rows in zip(SENTENCES, network(SENTENCES).split([3, 1, 5]), strict=True):
            assert rows.numpy() == pytest.approx(network([words]).numpy(), abs=1e-5)


class Counting:
    """Frozen features that count what is asked of them."""

    def __init__(self, network: WordNetwork) -> None:
        self.name, self._inner = network.frozen.name, network.frozen
        self.asked: list[Words] = []
        network.frozen = self

    def compute(self, sentences: Sequence[Words]) -> list[Array]:
        self.asked += sentences
        return self._inner.compute(sentences)


def test_features_are_computed_once_and_the_file_outlives_the_process(config: EncoderConfig, tmp_path: Path):
    network = network_of(config, tmp_path / "features").eval()
    counting = Counting(network)
    assert list(network.prepare([*SENTENCES, SENTENCES[0]])) == [3]
    with torch.no_grad():
        first = network(SENTENCES).numpy()
    assert sorted(counting.asked) == sorted(SENTENCES)

    later = network_of(config, tmp_path / "features").eval()
    counting = Counting(later)
    with torch.no_grad():
        assert np.array_equal(later(SENTENCES).numpy(), first)
    assert counting.asked == []


def test_a_prepared_sentence_has_the_same_bits_whatever_was_prepared_before(tiny_bert: Path):
    """A batch is computed whole if any of it is missing: float sums depend on a batch's shape."""
    config = TransformerConfig(name=str(tiny_bert), frozen_layers=1)
    fresh, partly = network_of(config), network_of(config)
    list(fresh.prepare(SENTENCES))
    partly.features(SENTENCES[2:])
    list(partly.prepare(SENTENCES))
    for words in SENTENCES[:2]:
        mine, its = (network.features([words])[0] for network in (fresh, partly))
        assert np.array_equal(mine, its)


def test_unkept_features_are_computed_every_time(tiny_bert: Path):
    frozen, words = build_encoder(TransformerConfig(name=str(tiny_bert)), dropout=0.0)
    network = WordNetwork(frozen, words, Unkept(), dropout=0.0)
    counting = Counting(network)
    for _ in range(2):
        network([SENTENCES[0], SENTENCES[0]])
    assert counting.asked == [SENTENCES[0]] * 2
