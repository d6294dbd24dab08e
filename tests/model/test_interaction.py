from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.model.interaction import Bounds, attend, sentence_means, window_means
from oracles import explicit_joint as oracle

LENGTHS = st.lists(st.integers(1, 5), min_size=1, max_size=4)


def words_of(lengths: list[int], width: int = 3, seed: int = 0) -> torch.Tensor:
    return torch.as_tensor(np.random.default_rng(seed).normal(size=(sum(lengths), width)))


@settings(deadline=None)
@given(LENGTHS, st.integers(0, 4))
def test_attention_is_that_of_equations_2_and_3(lengths: list[int], labels: int):
    words, texts = words_of(lengths), words_of([labels], seed=1) if labels else torch.zeros(0, 3, dtype=torch.float64)
    expected = [oracle.attended(word, texts.tolist()) for word in words.tolist()]
    assert attend(words, texts).numpy() == pytest.approx(np.array(expected), abs=1e-9)


def test_far_scores_do_not_overflow():
    assert torch.isfinite(attend(torch.full((1, 2), 1e4), torch.full((2, 2), 1e4))).all()


@settings(deadline=None)
@given(LENGTHS)
def test_a_sentence_is_the_mean_of_its_own_words(lengths: list[int]):
    words = words_of(lengths)
    found = sentence_means(words, Bounds.of(lengths))
    for row, part in enumerate(words.split(lengths)):
        assert found[row].tolist() == pytest.approx(oracle.mean(part.tolist()), abs=1e-9)


@pytest.mark.parametrize("sentences", [256, 257, 600])
def test_the_means_of_many_sentences_are_those_of_few(sentences: int):
    lengths = [1 + number % 3 for number in range(sentences)]
    words = words_of(lengths)
    expected = torch.cat([sentence_means(part, Bounds.of([len(part)])) for part in words.split(lengths)])
    assert sentence_means(words, Bounds.of(lengths)).numpy() == pytest.approx(expected.numpy(), abs=1e-9)


@settings(deadline=None)
@given(LENGTHS, st.integers(0, 3))
def test_a_window_ends_where_its_sentence_ends(lengths: list[int], reach: int):
    words = words_of(lengths)
    found = window_means(words, Bounds.of(lengths), reach).split(lengths)
    for part, rows in zip(words.split(lengths), found, strict=True):
        expected = [oracle.windowed(part.tolist(), position, reach) for position in range(len(part))]
        assert rows.numpy() == pytest.approx(np.array(expected), abs=1e-9)
