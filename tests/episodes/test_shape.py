from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handful.episodes import shape

SIZES = st.lists(st.integers(2, 5000), min_size=3, max_size=12)
BETAS = st.floats(0, 1, exclude_min=True)


def test_a_worked_case():
    """Three classes of 40, 10 and 4 utterances, β = 0.5, α = 0, U_max = 20, by hand."""
    sizes = [40, 10, 4]
    k_q = shape.query_shots(sizes, 10)
    assert k_q == 2
    assert shape.support_size(sizes, k_q, 0.5, 20) == 10 + 4 + 1
    shares = shape.shares(sizes, [0.0, 0.0, 0.0])
    assert shares == pytest.approx([40 / 54, 10 / 54, 4 / 54])
    assert shape.support_shots(sizes, shares, 15, k_q) == [9, 3, 1]


def test_shares_follow_alpha():
    assert shape.shares([10, 10], [math.log(2), math.log(0.5)]) == pytest.approx([0.8, 0.2])


@given(SIZES, BETAS, st.integers(0, 1000), st.integers(12, 200))
def test_every_class_has_support_and_query_and_no_more_than_it_holds(sizes, beta, seed, u_max):
    rng = np.random.default_rng(seed)
    k_q = shape.query_shots(sizes, 10)
    size = shape.support_size(sizes, k_q, beta, u_max)
    shots = shape.support_shots(sizes, shape.shares(sizes, shape.draw_alphas(len(sizes), rng)), size, k_q)
    assert 1 <= k_q <= 10
    assert len(sizes) <= size <= u_max
    assert all(1 <= k_c <= held - k_q for k_c, held in zip(shots, sizes, strict=True))
    assert sum(shots) <= size


@given(st.integers(0, 10_000))
def test_draws_stay_in_their_intervals(seed: int):
    rng = np.random.default_rng(seed)
    assert 0 < shape.draw_beta(rng) <= 1
    assert all(math.log(0.5) <= alpha < math.log(2) for alpha in shape.draw_alphas(20, rng))
    assert 3 <= shape.way(7, rng) <= 7


def test_the_way_is_uniform_over_its_whole_range():
    rng = np.random.default_rng(0)
    counts = np.bincount([shape.way(6, rng) for _ in range(4000)], minlength=7)
    assert counts[:3].sum() == 0
    assert counts[3:] == pytest.approx([1000] * 4, abs=120)


def test_twenty_caps_what_a_class_adds_not_its_shots():
    sizes = [1000, 4, 4]
    assert shape.support_size(sizes, 2, 1.0, 100) == 20 + 2 + 2
    assert shape.support_shots(sizes, [0.98, 0.01, 0.01], 24, 2)[0] == 21


def test_too_few_classes_or_too_small_a_support_are_refused():
    with pytest.raises(ValueError, match="needs 3 classes, found 2"):
        shape.way(2, np.random.default_rng(0))
    with pytest.raises(ValueError, match="U_max is 2"):
        shape.support_size([5, 5, 5], 2, 0.5, 2)
