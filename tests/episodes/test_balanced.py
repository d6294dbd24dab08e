from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.episodes.balanced import BalancedSampler
from handful.errors import ConfigError
from handful.types import Episode, Utterance


def corpus(*sizes: int, name: str = "c") -> list[Utterance]:
    return [
        Utterance.from_words([f"{name}{number}", str(i)], f"{name}{number}")
        for number, size in enumerate(sizes)
        for i in range(size)
    ]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.lists(st.integers(2, 40), min_size=3, max_size=9), min_size=1, max_size=3),
    st.integers(3, 12),
    st.integers(1, 9),
    st.integers(0, 2**32),
    st.integers(0, 10**6),
)
def test_invariants(sizes: list[list[int]], most_classes: int, most_shots: int, seed: int, index: int):
    corpora = [corpus(*own, name="abc"[number]) for number, own in enumerate(sizes)]
    sampler = BalancedSampler(corpora, seed=seed, most_classes=most_classes, most_shots=most_shots)
    episode = sampler.episode(index)
    support, query = (Counter(u.intent for u in part) for part in (episode.support, episode.query))
    (own,) = {"abc".index(intent[0]) for intent in support}  # one corpus at a time
    assert 3 <= len(support) <= min(most_classes, len(sizes[own]))
    assert set(support) == set(query), "every class is asked about"
    assert 1 <= min(support.values()) <= max(support.values()) <= most_shots
    for intent, asked in query.items():
        assert asked == min(12 // len(query), sizes[own][int(intent[1:])] // 2), "every class gives what it has"
    assert max(Counter(episode.support + episode.query).values()) == 1, "no utterance twice, none in both"
    assert (episode.seed, episode.index) == (seed, index)


def test_many_classes_are_asked_about_too():
    sampler = BalancedSampler([corpus(*[4] * 30)], seed=0, most_classes=30, most_shots=2)
    for index in range(20):
        episode = sampler.episode(index)
        assert {u.intent for u in episode.query} == {u.intent for u in episode.support}


def sampled(*corpora: list[Utterance], count: int = 400, **settings: int) -> list[Episode]:
    sampler = BalancedSampler(corpora, **{"seed": 1, "most_classes": 3, "most_shots": 8, **settings})
    return [sampler.episode(index) for index in range(count)]


def test_an_episode_is_named_by_seed_and_index_alone():
    in_order = sampled(corpus(30, 20, 10, 5), count=5, seed=7)
    assert sampled(corpus(30, 20, 10, 5), count=4, seed=7)[3] == in_order[3]
    assert in_order[3].support != in_order[4].support
    assert sampled(corpus(30, 20, 10, 5), count=4, seed=8)[3].support != in_order[3].support


def test_corpora_take_equal_turns_however_large_they_are():
    found = sampled(corpus(3, 3, 3, name="a"), corpus(*[90] * 20, name="b"), corpus(5, 500, 50, name="c"), count=900)
    turns = Counter(episode.intents[0][0] for episode in found)
    assert [turns[name] for name in "abc"] == pytest.approx([300, 300, 300], abs=60)


def test_large_classes_come_up_more_often_but_not_in_proportion():
    """By the root of their size, and beyond 200 utterances no more often."""
    found = Counter(u for e in sampled(corpus(2, *[8] * 8, 72, 200, 2000), count=1500) for u in e.intents)
    tiny, small, large = found["c0"], sum(found[f"c{number}"] for number in range(1, 9)) / 8, found["c9"]
    assert 0 < tiny < small < large
    assert 1.8 < large / small < 3.2, "nine times as large, three times as often, less for those drawn together"
    assert found["c11"] == pytest.approx(found["c10"], rel=0.12)


def test_support_sizes_are_anything_up_to_the_most_and_at_least_one_is_left_to_ask():
    shots = Counter()
    for episode in sampled(corpus(40, 40, 40)):
        shots.update(Counter(u.intent for u in episode.support).values())
    assert set(shots) == set(range(1, 9))
    assert max(shots.values()) < 2 * min(shots.values()), "each about as often"
    for episode in sampled(corpus(2, 2, 3), count=20):
        assert Counter(u.intent for u in episode.query) == {"c0": 1, "c1": 1, "c2": 1}


def test_episodes_have_three_classes_or_more_up_to_the_most():
    ways = Counter(len(episode.intents) for episode in sampled(corpus(*[9] * 12), most_classes=6))
    assert set(ways) == {3, 4, 5, 6}
    assert min(ways.values()) > 70
    few = sampled(corpus(9, 9, 9, 9), most_classes=6, count=50)
    assert {len(episode.intents) for episode in few} == {3, 4}


def test_classes_with_one_utterance_are_left_out():
    assert {intent for e in sampled(corpus(5, 1, 5, 1, 5), count=20) for intent in e.intents} == {"c0", "c2", "c4"}


@pytest.mark.parametrize(
    ("corpora", "settings", "message"),
    [
        ([(5, 5, 5), (5, 5, 1)], {}, "episodes need 3 intents with two utterances or more, found 2"),
        ([()], {}, "episodes need 3 intents with two utterances or more, found 0"),
        ([(5, 5, 5)], {"seed": -1}, "the seed is -1, expected 0 or more"),
        ([(5, 5, 5)], {"most_classes": 2}, "found at most 2 classes with 8 shots, expected 3 or more"),
        ([(5, 5, 5)], {"most_shots": 0}, "found at most 3 classes with 0 shots, expected 3 or more with one or more"),
    ],
)
def test_what_cannot_be_sampled_is_refused(corpora: list[tuple[int, ...]], settings: dict[str, int], message: str):
    with pytest.raises(ConfigError, match=message):
        sampled(*(corpus(*sizes) for sizes in corpora), **settings)
