from __future__ import annotations

import numpy as np
import pytest

from handful.bench.compare import RESAMPLES, paired_bootstrap


def test_the_same_gain_in_every_episode_has_no_interval_and_the_smallest_p():
    found = paired_bootstrap([62.0, 51.0, 80.0], [60.0, 49.0, 78.0])
    assert (found.mean, found.low, found.high) == pytest.approx((2.0, 2.0, 2.0))
    assert found.p == pytest.approx(2 / (RESAMPLES + 1))


def test_no_difference_at_all_is_as_likely_as_can_be():
    found = paired_bootstrap([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    assert (found.mean, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)


def test_the_sides_can_be_exchanged():
    rng = np.random.default_rng(0)
    one, other = rng.normal(60, 10, 40), rng.normal(57, 10, 40)
    there, back = paired_bootstrap(one.tolist(), other.tolist()), paired_bootstrap(other.tolist(), one.tolist())
    assert (there.mean, there.low, there.high) == pytest.approx((-back.mean, -back.high, -back.low))
    assert there.p == pytest.approx(back.p)


@pytest.mark.parametrize("shift", [0.0, 1.0, 2.5])
def test_interval_and_p_are_near_those_of_a_normal_law_where_there_are_many_episodes(shift: float):
    rng = np.random.default_rng(1)
    base = rng.normal(60, 10, 400)
    ours = base + rng.normal(shift, 10, 400)
    found = paired_bootstrap(ours.tolist(), base.tolist())
    differences = ours - base
    error = differences.std(ddof=1) / 20
    assert found.low == pytest.approx(differences.mean() - 1.96 * error, abs=0.15 * error)
    assert found.high == pytest.approx(differences.mean() + 1.96 * error, abs=0.15 * error)
    z = abs(differences.mean()) / error
    expected = 2 * (1 - 0.5 * (1 + np.tanh(0.7978845608 * (z + 0.044715 * z**3))))  # 2 (1 - Φ(z))
    assert found.p == pytest.approx(expected, abs=0.02)


def test_pairing_finds_what_the_spread_of_episodes_would_hide():
    rng = np.random.default_rng(2)
    base = rng.normal(60, 20, 50)
    found = paired_bootstrap((base + rng.normal(1, 0.5, 50)).tolist(), base.tolist())
    assert found.p < 0.001
    assert 0.5 < found.low < found.high < 1.5


def test_a_seed_gives_one_answer():
    ours, base = [1.0, 5.0, 2.0, 4.0], [2.0, 1.0, 3.0, 3.0]
    assert paired_bootstrap(ours, base, seed=3) == paired_bootstrap(ours, base, seed=3)
    assert paired_bootstrap(ours, base, seed=3) != paired_bootstrap(ours, base, seed=4)


@pytest.mark.parametrize(("ours", "base"), [([1.0], [1.0, 2.0]), ([], [])])
def test_other_episodes_are_refused(ours: list[float], base: list[float]):
    with pytest.raises(ValueError, match="expected the same ones"):
        paired_bootstrap(ours, base)
