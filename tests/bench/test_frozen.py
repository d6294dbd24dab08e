from __future__ import annotations

import json
from pathlib import Path

import pytest

from handful.bench.frozen import freeze, name_of, read_frozen, refuse_other_episodes, sum_of
from handful.data.corpora import load_corpus
from handful.episodes.sampler import EpisodeSampler
from handful.errors import DataError
from handful.training.measure import Scoring

SCORING = Scoring("atis", 20, 5)


def sampler(data: Path, seed: int = 0) -> EpisodeSampler:
    return EpisodeSampler(load_corpus("atis", data).split("test"), u_max=20, seed=seed)


def test_the_list_grows_and_never_changes(bench_data: Path, tmp_path: Path):
    path = tmp_path / "bench" / "episodes.json"
    first = freeze(path, [(SCORING, sampler(bench_data))])
    assert read_frozen(path) == first
    assert [len(sums) for sums in first.values()] == [5]
    more = freeze(path, [(Scoring("atis", 20, 8), sampler(bench_data))])
    assert more[name_of(SCORING)][:5] == first[name_of(SCORING)]
    assert len(more[name_of(SCORING)]) == 8
    assert freeze(path, [(SCORING, sampler(bench_data))]) == more, "what others need stays"


def test_other_episodes_are_refused_before_anything_is_written(bench_data: Path, tmp_path: Path):
    path = tmp_path / "episodes.json"
    frozen = freeze(path, [(SCORING, sampler(bench_data))])
    before = path.read_bytes()
    with pytest.raises(DataError, match=r"episode 0 is .*, expected .*: other data or another sampler"):
        freeze(path, [(SCORING, sampler(bench_data, seed=1))])
    assert path.read_bytes() == before
    with pytest.raises(DataError):
        refuse_other_episodes(frozen, SCORING, sampler(bench_data, seed=1))
    refuse_other_episodes(frozen, Scoring("atis", 100, 5), sampler(bench_data, seed=1))


def test_a_sum_tells_support_from_query_and_the_order_of_both(bench_data: Path):
    from dataclasses import replace

    episode = sampler(bench_data).episode(0)
    moved = replace(episode, support=(*episode.support, episode.query[0]), query=episode.query[1:])
    turned = replace(episode, support=episode.support[::-1])
    assert len({sum_of(episode), sum_of(moved), sum_of(turned)}) == 3


@pytest.mark.parametrize("content", ["[1]", "{", json.dumps({"a": 3})])
def test_a_damaged_list_is_told(content: str, tmp_path: Path):
    path = tmp_path / "episodes.json"
    path.write_text(content)
    with pytest.raises(DataError, match=r"episodes\.json"):
        read_frozen(path)
