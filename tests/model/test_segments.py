from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.model.segments import best_segmentations, log_partition, log_sum, span_probabilities
from handful.model.spans import IMPOSSIBLE
from oracles import joint_spans as oracle

# Sentences of several lengths, the longest span, and a seed of the scores.
BATCHES = (st.lists(st.integers(1, 6), min_size=1, max_size=3), st.integers(1, 4), st.integers(0, 10_000))


def padded(lengths: list[int], longest: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores of words and spans; what is beyond a sentence's end must not matter, so it is odd."""
    rng = np.random.default_rng(seed)
    outside = rng.normal(scale=2, size=(len(lengths), max(lengths)))
    spans = rng.normal(scale=2, size=(*outside.shape, longest))
    for row, length in enumerate(lengths):
        outside[row, length:] = 7.0
        for start in range(max(lengths)):
            spans[row, start, max(0, length - start) :] = 7.0
    return outside, spans


def scores_of(outside: np.ndarray, spans: np.ndarray, length: int) -> dict[oracle.Segment, float]:
    """One sentence's scores as the oracle reads them."""
    found: dict[oracle.Segment, float] = {(t, t + 1, None): float(outside[t]) for t in range(length)}
    for start in range(length):
        for size in range(1, min(spans.shape[1], length - start) + 1):
            found[start, start + size, "x"] = float(spans[start, size - 1])
    return found


@pytest.mark.parametrize("library", [np.asarray, torch.as_tensor])
@settings(deadline=None)
@given(*BATCHES)
def test_the_partition_is_that_of_all_segmentations(
    library: Callable[[Any], Any], lengths: list[int], longest: int, seed: int
):
    outside, spans = padded(lengths, longest, seed)
    expected = [
        oracle.log_partition(scores_of(outside[row], spans[row], length), length) for row, length in enumerate(lengths)
    ]
    found = log_partition(library(outside)[:, None], library(spans)[:, None], lengths)
    assert np.asarray(found)[:, 0] == pytest.approx(np.array(expected), abs=1e-9)


def test_variants_of_a_sentence_are_summed_each_by_itself():
    """[B, N, T]: several scores for the same sentences at once."""
    made = [padded([3, 5], 2, seed) for seed in (0, 1, 2)]
    together = log_partition(np.stack([o for o, _ in made], 1), np.stack([s for _, s in made], 1), [3, 5])
    for number, (outside, spans) in enumerate(made):
        alone = log_partition(outside[:, None], spans[:, None], [3, 5])
        assert together[:, number] == pytest.approx(alone[:, 0], abs=1e-12)


@settings(deadline=None)
@given(*BATCHES)
def test_viterbi_finds_the_best_segmentation(lengths: list[int], longest: int, seed: int):
    outside, spans = padded(lengths, longest, seed)
    paths, scores = best_segmentations(outside, spans, lengths)
    for row, length in enumerate(lengths):
        own = scores_of(outside[row], spans[row], length)
        best = oracle.best_segmentation(own, length)
        assert paths[row] == [(start, end) for start, end, label in best if label is not None]
        assert scores[row] == pytest.approx(oracle.score(own, best), abs=1e-9)


@settings(deadline=None)
@given(*BATCHES)
def test_a_spans_probability_is_its_share_of_all_segmentations(lengths: list[int], longest: int, seed: int):
    outside, spans = padded(lengths, longest, seed)
    asked = [
        [(start, end) for start in range(length) for end in range(start + 1, min(length, start + longest) + 1)]
        for length in lengths
    ]
    found = span_probabilities(outside, spans, lengths, asked)
    for row, length in enumerate(lengths):
        own = scores_of(outside[row], spans[row], length)
        expected = [oracle.share(own, length, (start, end, "x")) for start, end in asked[row]]
        assert found[row] == pytest.approx(expected, abs=1e-9)


@settings(deadline=None, max_examples=30)
@given(*BATCHES)
def test_the_partitions_gradient_is_the_spans_probability(lengths: list[int], longest: int, seed: int):
    outside, spans = padded(lengths, longest, seed)
    trained = torch.as_tensor(spans).requires_grad_()
    log_partition(torch.as_tensor(outside)[:, None], trained[:, None], lengths).sum().backward()
    assert trained.grad is not None
    for row, length in enumerate(lengths):
        own = scores_of(outside[row], spans[row], length)
        for start in range(max(lengths)):
            for size in range(1, longest + 1):
                inside = start + size <= length
                expected = oracle.share(own, length, (start, start + size, "x")) if inside else 0.0
                assert float(trained.grad[row, start, size - 1]) == pytest.approx(expected, abs=1e-9)


def test_of_equals_no_span_wins():
    paths, scores = best_segmentations(np.zeros((2, 3)), np.zeros((2, 3, 2)), [3, 2])
    assert (paths, scores.tolist()) == ([[], []], [0.0, 0.0])


def test_impossible_spans_are_never_taken_and_have_no_share():
    outside, spans = np.full((1, 4), -50.0), np.full((1, 4, 3), IMPOSSIBLE)
    spans[0, 1, 1] = 0.0
    assert best_segmentations(outside, spans, [4]) == ([[(1, 3)]], pytest.approx([-100.0]))
    asked = [[(1, 3), (0, 1), (1, 4), (3, 4)]]
    assert span_probabilities(outside, spans, [4], asked)[0] == pytest.approx([1.0, 0.0, 0.0, 0.0], abs=1e-12)
    assert log_partition(outside[:, None], spans[:, None], [4]).tolist() == [[pytest.approx(-100.0)]]


def test_scores_too_far_apart_for_any_exponential_give_certain_shares():
    outside, spans = np.zeros((1, 2)), np.array([[[3000.0, -3000.0], [-3000.0, 0.0]]])
    assert span_probabilities(outside, spans, [2], [[(0, 1), (1, 2), (0, 2)]]) == [[1.0, 0.0, 0.0]]
    assert log_sum(np.array([3000.0, -3000.0])) == pytest.approx(3000.0)
    assert float(log_sum(torch.tensor([1e4, 1e4]))) == pytest.approx(1e4 + np.log(2))
