from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.encoders.bilstm import BiLSTM
from oracles import explicit_joint as oracle

WIDTH = 3


@pytest.fixture(scope="module")
def bilstm() -> BiLSTM:
    torch.manual_seed(0)
    return BiLSTM(WIDTH, dropout=0.5).double().eval()


def of_oracle(bilstm: BiLSTM, words: torch.Tensor) -> np.ndarray:
    weights = {name: value.tolist() for name, value in bilstm.lstm.named_parameters()}
    directions = []
    for suffix, step in (("", 1), ("_reverse", -1)):
        named = [weights[f"{name}_l0{suffix}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        directions.append(np.array(oracle.lstm(words.tolist()[::step], *named))[::step])
    return np.concatenate(directions, axis=1)


@settings(deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_every_sentence_is_read_as_if_alone(bilstm: BiLSTM, lengths: list[int]):
    words = torch.as_tensor(np.random.default_rng(sum(lengths)).normal(size=(sum(lengths), WIDTH)))
    found = bilstm(words, lengths).detach().split(lengths)
    for part, rows in zip(words.split(lengths), found, strict=True):
        assert rows.numpy() == pytest.approx(of_oracle(bilstm, part), abs=1e-9)


def test_dropout_is_on_in_training_only(bilstm: BiLSTM):
    words = torch.ones(4, WIDTH, dtype=torch.float64)
    torch.manual_seed(0)
    trained = bilstm.train()(words, [4])
    assert not torch.allclose(trained, bilstm.eval()(words, [4]))
