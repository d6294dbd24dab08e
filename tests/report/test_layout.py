from __future__ import annotations

import numpy as np
import pytest

from handful.report.layout import plane, spread
from report.parses import utterance


def test_the_plane_holds_the_two_directions_of_most_variance():
    rng = np.random.default_rng(0)
    spread_out = rng.normal(size=(50, 5)) * [0.1, 9.0, 0.1, 3.0, 0.1]
    places, share = plane(spread_out, 50)
    assert abs(np.corrcoef(places[:, 0], spread_out[:, 1])[0, 1]) > 0.99
    assert abs(np.corrcoef(places[:, 1], spread_out[:, 3])[0, 1]) > 0.95
    assert share > 0.99
    centred = spread_out - spread_out.mean(axis=0)
    assert (places**2).sum() / (centred**2).sum() == pytest.approx(share)


def test_an_axis_never_flips():
    vectors = np.random.default_rng(1).normal(size=(20, 4))
    # Rows in another order may turn the raw axes round; the map must not turn with them.
    first, _ = plane(vectors, 20)
    again, _ = plane(vectors[::-1].copy(), 20)
    np.testing.assert_allclose(first, again[::-1], atol=1e-9)


def test_others_are_put_on_the_plane_of_the_examples():
    vectors = np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 50.0]])
    alone, _ = plane(vectors[:3], 3)
    together, _ = plane(vectors, 3)
    np.testing.assert_allclose(alone, together[:3])
    assert np.abs(together[3]).max() < 5, "what the examples do not differ in is not seen"


@pytest.mark.parametrize("vectors", [np.ones((1, 4)), np.ones((3, 4)), np.arange(3.0)[:, None]])
def test_examples_that_do_not_differ_or_hardly(vectors: np.ndarray):
    places, share = plane(vectors, len(vectors))
    assert places.shape == (len(vectors), 2)
    assert np.isfinite(places).all()
    assert share == pytest.approx(1.0)


def test_a_large_bot_is_shown_in_part_and_every_intent_keeps_its_share():
    examples = [utterance(f"hello {n}", f"intent{n // 10}") for n in range(100)]
    shown = spread(examples, 20)
    assert [sum(u.intent == f"intent{n}" for u in shown) for n in range(10)] == [2] * 10
    assert spread(examples, 100) == examples
