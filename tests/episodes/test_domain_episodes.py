from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.data.domain_sets import TrainingDomain
from handful.data.labels import qualified, unqualified
from handful.episodes.domain_episodes import DomainSampler
from handful.errors import ConfigError
from handful.types import Episode, Slot, Utterance


def domain(name: str, *sizes: int, slots_only: int = 0, has_slots: bool = True, shared: int = 0) -> TrainingDomain:
    """Classes of these sizes; the first `shared` have bare names that other domains have, too."""
    place = name.replace("/", " ")

    def said(intent: str, count: int) -> tuple[Utterance, ...]:
        words = [[*place.split(), *intent.split(), str(number)] for number in range(count)]
        return tuple(Utterance.from_words(own, qualified(name, intent), [Slot("x", 0, 1)]) for own in words)

    named = [f"shared {n}" if n < shared else f"{place} {n}" for n in range(len(sizes))]
    utterances = tuple(u for intent, size in zip(named, sizes, strict=True) for u in said(intent, size))
    return TrainingDomain(name, utterances, said(place, slots_only), has_slots)


def sampled(*domains: TrainingDomain, count: int = 400, **settings: float) -> list[Episode]:
    values = {"seed": 1, "most_classes": 6, "most_shots": 8, "single": 0.4, "mixed": 0.2, **settings}
    sampler = DomainSampler(domains, **values)  # pyright: ignore[reportArgumentType]
    return [sampler.episode(index) for index in range(count)]


domains = st.lists(
    st.tuples(
        st.lists(st.integers(1, 30), max_size=6),
        st.sampled_from([0, 1, 2, 20]),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=3,
)


@settings(deadline=None, max_examples=80)
@given(
    st.lists(st.tuples(domains, st.booleans()), min_size=1, max_size=3),
    st.integers(3, 12),
    st.integers(1, 9),
    st.sampled_from([(0.4, 0.2), (1.0, 0.0), (0.0, 1.0), (0.0, 0.0)]),
    st.integers(0, 2**32),
    st.integers(0, 10**6),
)
def test_invariants(
    sets: list[tuple[list[tuple[list[int], int, int]], bool]],
    most_classes: int,
    most_shots: int,
    shares: tuple[float, float],
    seed: int,
    index: int,
):
    made = [
        domain(f"{'abc'[n]}/{m}", *sizes, slots_only=bare if has_slots else 0, shared=shared, has_slots=has_slots)
        for n, (own, has_slots) in enumerate(sets)
        for m, (sizes, bare, shared) in enumerate(own)
    ]
    sizes = Counter(u.intent for own in made for u in (*own.utterances, *own.slots_only))
    single, mixed = shares
    try:
        sampler = DomainSampler(
            made, seed=seed, most_classes=most_classes, most_shots=most_shots, single=single, mixed=mixed
        )
    except ConfigError:
        usable = Counter(name[0] for name, size in sizes.items() if size >= 2)
        assert max(usable.values(), default=0) < 3
        return
    episode = sampler.episode(index)
    support, query = (Counter(u.intent for u in part) for part in (episode.support, episode.query))
    assert set(support) == set(query), "every class is asked about"
    assert 1 <= len(support) <= most_classes
    assert max(Counter(unqualified(intent) for intent in support).values()) == 1, "no two that a parser reads as one"
    assert 1 <= min(support.values()) <= max(support.values()) <= most_shots
    for intent, asked in query.items():
        assert asked == min(max(1, 12 // len(query)), sizes[intent] // 2)
    assert max(Counter(episode.support + episode.query).values()) == 1, "no utterance twice, none in both"
    assert (episode.seed, episode.index) == (seed, index)
    # What says nothing of intents or of slots is marked.
    without_intents = {u.intent for own in made for u in own.slots_only}
    assert episode.slots_only == without_intents & set(support)
    annotated = {own.name: own.has_slots for own in made}
    assert episode.has_slots == all(annotated[intent.partition(" › ")[0]] for intent in support)
    # Only those with slots are mixed with other sets.
    assert len({intent[0] for intent in support}) == 1 or episode.has_slots
    assert set(support) <= {u.intent for u in sampler.utterances}


def test_an_episode_is_named_by_seed_and_index_alone():
    made = domain("a/x", 30, 20, 10, 5), domain("b/y", 9, 9, 9, slots_only=9)
    in_order = sampled(*made, count=5, seed=7)
    assert sampled(*made, count=4, seed=7)[3] == in_order[3]
    assert sampled(*reversed(made), count=4, seed=7)[3] == in_order[3], "whatever order the sets are named in"
    assert in_order[3].support != in_order[4].support
    assert sampled(*made, count=4, seed=8)[3].support != in_order[3].support


@pytest.mark.parametrize(("single", "mixed"), [(0.4, 0.2), (0.7, 0.3), (0.0, 0.0), (0.0, 1.0)])
def test_shares_of_one_domain_of_one_set_and_of_all_are_the_settings(single: float, mixed: float):
    """Many classes an episode: those of a set are from several domains, those of all from several sets."""
    made = [domain(f"{name}/{number}", *[9] * 12) for name in "ab" for number in range(6)]
    kinds = Counter()
    for episode in sampled(*made, most_classes=12, single=single, mixed=mixed, count=800):
        intents = {intent.partition(" › ")[0] for intent in episode.intents}
        kinds["mixed" if len({name[0] for name in intents}) > 1 else "set" if len(intents) > 1 else "single"] += 1
    # Of three classes a few are of one set or of one domain by chance.
    assert kinds["mixed"] == pytest.approx(800 * mixed, abs=60)
    assert kinds["single"] == pytest.approx(800 * single, abs=60)


def test_sets_come_up_by_the_root_of_their_classes():
    made = domain("a/x", *[9] * 4), domain("b/y", *[9] * 16), domain("c/z", *[9] * 36)
    found = Counter(e.intents[0][0] for e in sampled(*made, count=1200, mixed=0.0))
    assert [found[name] for name in "abc"] == pytest.approx([200, 400, 600], abs=75)


def test_large_classes_come_up_more_often_but_not_in_proportion():
    found = Counter(
        u for e in sampled(domain("a/x", 2, *[8] * 8, 72, 200, 2000), count=1500, most_classes=3) for u in e.intents
    )
    of_size = [found[f"a/x › a x {number}"] for number in range(12)]
    small = sum(of_size[1:9]) / 8
    assert 0 < of_size[0] < small < of_size[9]
    assert 1.8 < of_size[9] / small < 3.2
    assert of_size[11] == pytest.approx(of_size[10], rel=0.12)


def test_of_a_huge_class_three_hundred_utterances_are_drawn_evenly():
    sampler = DomainSampler([domain("a/x", 3000, 9, 9)], seed=0, most_classes=3, most_shots=8, single=0.4, mixed=0.2)
    numbers = [int(u.words[-1].text) for u in sampler.utterances if u.intent == "a/x › a x 0"]
    assert (len(numbers), numbers[0], numbers[-1]) == (300, 0, 2999)
    assert max(b - a for a, b in pairwise(numbers)) <= 11


def test_a_domain_with_few_classes_is_drawn_with_the_others_of_its_set():
    made = domain("a/few", 9, 9), domain("a/many", 9, 9, 9, 9)
    found = {len({i.partition(" › ")[0] for i in e.intents}) for e in sampled(*made, single=1.0, mixed=0.0)}
    assert found == {1, 2}


def test_sets_without_slots_are_drawn_by_themselves():
    made = domain("a/x", *[9] * 6), domain("b/y", *[9] * 6, has_slots=False)
    for mixed in (0.0, 1.0):
        by_set = {(e.intents[0][0], e.has_slots) for e in sampled(*made, mixed=mixed, single=0.0, count=100)}
        assert by_set == ({("a", True), ("b", False)} if not mixed else {("a", True)})


@pytest.mark.parametrize(
    ("made", "settings", "message"),
    [
        ((domain("a/x", 5, 5, 5),), {"seed": -1}, "the seed is -1, expected 0 or more"),
        ((), {}, "episodes need a set of 3 classes with two utterances or more, found none"),
        (
            (domain("a/x", 5, 5, 1), domain("b/x", 5, 5)),
            {},
            "episodes need a set of 3 classes with two utterances or more, found none",
        ),
    ],
)
def test_what_cannot_be_sampled_is_refused(made: tuple[TrainingDomain, ...], settings: dict[str, int], message: str):
    with pytest.raises(ConfigError, match=message):
        sampled(*made, **settings)
