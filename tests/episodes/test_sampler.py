from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.episodes import shape
from handful.episodes.sampler import EpisodeSampler
from handful.errors import ConfigError
from handful.types import Utterance


def split(*sizes: int) -> list[Utterance]:
    return [
        Utterance.from_words([f"c{number}", str(i)], f"c{number}")
        for number, size in enumerate(sizes)
        for i in range(size)
    ]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(2, 60), min_size=3, max_size=8),
    st.integers(8, 120),
    st.integers(0, 2**32),
    st.integers(0, 10**6),
)
def test_invariants(sizes: list[int], u_max: int, seed: int, index: int):
    episode = EpisodeSampler(split(*sizes), u_max=u_max, seed=seed).episode(index)
    support = Counter(u.intent for u in episode.support)
    query = Counter(u.intent for u in episode.query)
    assert 3 <= len(support) <= len(sizes)
    assert set(support) == set(query)
    assert len(set(query.values())) == 1, "the query set is balanced"
    assert len(episode.support) <= u_max
    assert max(query.values()) <= 10
    drawn = Counter(episode.support + episode.query)
    assert max(drawn.values()) == 1, "no utterance twice, none in both"


def test_an_episode_is_named_by_seed_and_index_alone():
    sampler = EpisodeSampler(split(30, 20, 10, 5), u_max=20, seed=7)
    in_order = list(sampler.episodes(5))
    assert EpisodeSampler(split(30, 20, 10, 5), u_max=20, seed=7).episode(3) == in_order[3]
    assert list(sampler.episodes(2, start=3)) == in_order[3:]
    assert sampler.episode(3) != sampler.episode(4)
    assert EpisodeSampler(split(30, 20, 10, 5), u_max=20, seed=8).episode(3) != in_order[3]


def test_support_sizes_are_those_of_the_formulas():
    """Σ k_c over many episodes, against the formulas alone, for one small and one large class beside a middling one."""
    sizes, count = [300, 40, 6], 800
    sampler = EpisodeSampler(split(*sizes), u_max=40, seed=1)
    shots = [Counter(u.intent for u in episode.support) for episode in sampler.episodes(count)]
    found = [[counted[f"c{number}"] for number in range(3)] for counted in shots]
    rng = np.random.default_rng(2)
    expected = []
    for _ in range(count):
        k_q = shape.query_shots(sizes, 10)
        size = shape.support_size(sizes, k_q, shape.draw_beta(rng), 40)
        expected.append(shape.support_shots(sizes, shape.shares(sizes, shape.draw_alphas(3, rng)), size, k_q))
    assert np.mean(found, axis=0) == pytest.approx(np.mean(expected, axis=0), abs=1.2)
    assert all(len(episode.query) == 3 * 3 for episode in sampler.episodes(5))


PROGRAM = """
import json
from handful.episodes.sampler import EpisodeSampler
from handful.types import Utterance
pool = [Utterance.from_words([f"c{c}", str(i)], f"c{c}") for c in range(5) for i in range(9)]
episode = EpisodeSampler(pool, u_max=20, seed=3).episode(11)
print(json.dumps([[u.text for u in episode.support], [u.text for u in episode.query]]))
"""


def test_another_process_draws_the_same_episode():
    outputs = {
        subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True,
                       env={"PYTHONHASHSEED": str(seed)}).stdout
        for seed in (1, 2)
    }  # fmt: skip
    (output,) = outputs
    episode = EpisodeSampler(split(9, 9, 9, 9, 9), u_max=20, seed=3).episode(11)
    assert json.loads(output) == [[u.text for u in episode.support], [u.text for u in episode.query]]


def test_classes_with_one_utterance_are_left_out():
    sampler = EpisodeSampler(split(5, 5, 5, 1), u_max=20, seed=0)
    assert sampler.left_out == ("c3",)
    assert all(episode.intents == ("c0", "c1", "c2") for episode in sampler.episodes(5))


def test_atis_dev_samples_five_of_its_six_classes(data_dir: Path):
    from handful.data.corpora import load_corpus

    sampler = EpisodeSampler(load_corpus("atis", data_dir).split("dev"), u_max=20, seed=0)
    assert len(sampler.classes) == 5
    assert sampler.left_out == ("cheapest",)


@pytest.mark.parametrize(
    ("sizes", "settings", "message"),
    [
        ((5, 5), {"u_max": 20, "seed": 0}, "need 3 intents with two utterances or more, found 2"),
        ((5, 5, 5, 5), {"u_max": 3, "seed": 0}, "U_max is 3, but an episode can have 4 intents"),
        ((5, 5, 5), {"u_max": 20, "seed": 0, "query_cap": 0}, "cap on queries"),
        ((5, 5, 5), {"u_max": 20, "seed": -1}, "the seed is -1"),
    ],
)
def test_what_cannot_be_sampled_is_refused(sizes: tuple[int, ...], settings: dict, message: str):
    with pytest.raises(ConfigError, match=message):
        EpisodeSampler(split(*sizes), **settings)
