"""Rounding to eight bits, against what it promises."""

from __future__ import annotations

import numpy as np
import pytest

from handful.encoders.encoding import Array
from handful.runtime.quantise import EightBits, eight_bit_columns, eight_bit_rows, loud_channels


@pytest.fixture
def inputs() -> Array:
    """Whose channels go together, as those of an encoder do."""
    rng = np.random.default_rng(0)
    return (rng.normal(size=(400, 12)) @ rng.normal(size=(12, 200))).astype(np.float32)


@pytest.fixture
def weights() -> Array:
    return np.random.default_rng(1).normal(size=(200, 30)).astype(np.float32)


def back(made: EightBits) -> Array:
    return made.numbers * made.scales


def test_rows_are_off_by_half_a_step_at_most(weights: Array):
    made = eight_bit_rows(weights)
    assert (np.abs(back(made) - weights) <= made.scales / 2 + 1e-6).all()
    assert (np.abs(made.numbers).max(1) == 127).all(), "a row's own largest number has all of the range"


def test_products_of_columns_are_nearer_than_those_of_plain_rounding(inputs: Array, weights: Array):
    made = eight_bit_columns(weights, inputs)
    plain = EightBits(np.rint(weights / made.scales).astype(np.int8), made.scales)
    mine, its = (np.linalg.norm(inputs @ (back(own) - weights)) for own in (made, plain))
    assert mine < its / 2
    assert made.numbers.dtype == np.int8
    assert np.abs(made.numbers.astype(int)).max() <= 127


def test_columns_are_rounded_as_row_by_row(inputs: Array, weights: Array):
    """Rows are passed on in blocks; here the same without blocks, for inputs in the plainest order."""
    moments = inputs.astype(np.float64).T @ inputs / len(inputs)
    moments += np.eye(200) * (0.2 * moments.trace() / 200 + 1e-12)
    factor = np.linalg.cholesky(np.linalg.inv(moments)).T
    made = eight_bit_columns(weights, inputs)
    left, expected = weights.astype(np.float64), np.empty(weights.shape)
    for row in range(200):
        expected[row] = np.clip(np.rint(left[row] / made.scales), -127, 127)
        error = (left[row] - expected[row] * made.scales) / factor[row, row]
        left[row:] -= np.outer(factor[row, row:], error)
    assert (made.numbers == expected).mean() > 0.999  # sums in another order, next to a half


def test_nothing_is_divided_by_nought(inputs: Array):
    made = eight_bit_columns(np.zeros((200, 3), dtype=np.float32), np.zeros_like(inputs))
    assert not made.numbers.any()
    assert np.isfinite(made.scales).all()
    assert not eight_bit_rows(np.zeros((2, 3), dtype=np.float32)).numbers.any()


def test_loud_are_channels_of_large_inputs_or_of_large_weights(inputs: Array, weights: Array):
    inputs[3, 17] = 1000
    weights[40] *= 50
    loud = loud_channels(inputs, weights)
    assert loud[[17, 40]].all()
    assert loud.sum() == 200 // 48


def test_a_few_channels_have_a_loud_one_too():
    weights = np.array([[1.0], [5.0], [1.0]], dtype=np.float32)
    assert loud_channels(np.ones((2, 3), dtype=np.float32), weights).tolist() == [False, True, False]
