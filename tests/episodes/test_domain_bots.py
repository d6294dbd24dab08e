from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from handful.data.domain_sets import DomainLine, DomainSet, load_domain_set, text_key
from handful.data.domain_sources import DOMAIN_SETS
from handful.episodes.domain_bots import (
    HELD_OUT,
    DomainBot,
    DomainPool,
    draw_bot,
    draw_bots,
    held_out_pools,
    held_out_texts,
)
from handful.errors import ConfigError
from handful.types import Utterance


def pool(name: str, sizes: dict[str, int], *, out_of_scope: int = 0) -> DomainPool:
    intents = {
        intent: tuple(Utterance.from_words([*name.split(), intent, str(number)], intent) for number in range(size))
        for intent, size in sorted(sizes.items())
    }
    return DomainPool(name, intents, tuple((name, "outside", str(number)) for number in range(out_of_scope)))


# Intents of three sizes; every domain has one called "cancel".
POOLS = tuple(
    pool(
        f"domain{number}",
        {"cancel": 30} | {f"intent{number}_{place}": (8, 30, 90)[place % 3] for place in range(9)},
        out_of_scope=90,
    )
    for number in range(12)
)


def examples(bot: DomainBot) -> Counter[str]:
    return Counter(utterance.intent for utterance in bot.support)


@pytest.mark.parametrize("shots", [1, 5, 10])
def test_a_balanced_bot_has_as_many_examples_of_every_intent(shots: int):
    for bot in draw_bots(POOLS, seed=0, count=6, shots=shots):
        assert set(examples(bot).values()) == {shots}
        # Two queries must be left: an intent of eight utterances is in no bot of ten examples an intent.
        assert any("_0" in intent or "_3" in intent for intent in examples(bot)) == (shots < 10)


def test_a_users_bot_has_two_to_fifty_examples_of_an_intent_and_small_intents_most_often():
    counts = [count for bot in draw_bots(POOLS, seed=0, count=60, shots=None) for count in examples(bot).values()]
    assert min(counts) == 2
    assert max(counts) == 45  # half of the largest intent
    # Log-uniform: as many below ten, the geometric mean, as above; uniform would be a sixth.
    large = [
        count
        for bot in draw_bots(POOLS, seed=0, count=60, shots=None)
        for intent, count in examples(bot).items()
        if intent.endswith(("_2", "_5", "_8"))
    ]
    assert 0.4 < sum(count < 10 for count in large) / len(large) < 0.6


@pytest.mark.parametrize("shots", [5, None])
def test_even_bots_are_one_domain_and_odd_ones_merge_several(shots: int | None):
    bots = draw_bots(POOLS, seed=3, count=24, shots=shots)
    assert {bot.name for bot in bots[::2]} == {pool.name for pool in POOLS}
    sizes = [len(examples(bot)) for bot in bots[1::2]]
    assert 30 <= min(sizes) < max(sizes) <= 70
    assert all(len(examples(bot)) == 10 for bot in bots[::2])


def test_of_two_intents_with_one_name_a_merged_bot_has_one():
    for bot in draw_bots(POOLS, seed=1, count=8, shots=5)[1::2]:
        domains = {u.words[0].text for u in (*bot.support, *bot.query) if u.intent == "cancel"}
        assert domains == {bot.name.split("+")[0]}


@pytest.mark.parametrize("shots", [5, None])
def test_support_query_and_out_of_scope_share_no_text(shots: int | None):
    same = Utterance.from_words(["the", "same"], "x")
    twice = DomainPool(
        "twice",
        {intent: (Utterance.from_words(["The", "same!"], intent),) * 40 for intent in ("a", "b")}
        | {intent: tuple(Utterance.from_words([intent, str(n)], intent) for n in range(40)) for intent in ("c", "d")},
        (same.sentence, ("c", "7"), ("far", "away")),
    )
    bot = draw_bot([twice], seed=0, index=0, shots=shots)
    support, query = ({text_key(u.sentence) for u in part} for part in (bot.support, bot.query))
    assert "thesame" in support
    assert support & query == set()
    assert bot.out_of_scope == (("far", "away"),)


def test_queries_are_spread_over_the_intents_and_bounded():
    bot = draw_bot([pool("one", {"a": 500, "b": 20, "c": 500, "d": 500}, out_of_scope=900)], seed=0, index=0, shots=5)
    assert Counter(utterance.intent for utterance in bot.query) == {"a": 95, "b": 15, "c": 95, "d": 95}
    assert len(bot.out_of_scope) == len(set(bot.out_of_scope)) == 200


@pytest.mark.parametrize("shots", [5, None])
def test_a_bot_depends_on_its_seed_and_index_alone(shots: int | None):
    bots = draw_bots(POOLS, seed=4, count=6, shots=shots)
    assert [draw_bot(POOLS, seed=4, index=index, shots=shots) for index in (5, 2)] == [bots[5], bots[2]]
    assert draw_bot(POOLS, seed=5, index=1, shots=shots).support != bots[1].support
    assert bots[0].support != bots[2].support


def test_versions_of_one_sample_bot_are_never_merged():
    names = ("luis_samples/HumanResources", "luis_samples/Human resources")
    pools = [pool(name, {f"intent{place}": 12 for place in range(5)}) for name in names]
    for seed in range(10):
        assert draw_bot(pools, seed=seed, index=1, shots=5).name in names


def test_domains_that_are_too_small_are_an_error():
    with pytest.raises(ConfigError, match="no domain has 4 intents with enough utterances: use fewer shots"):
        draw_bot([pool("small", {"a": 9, "b": 9, "c": 9, "d": 6})], seed=0, index=0, shots=5)


@pytest.mark.parametrize(("seed", "index", "shots"), [(-1, 0, 5), (0, -1, 5), (0, 0, 0)])
def test_an_impossible_seed_index_or_number_of_shots_is_refused(seed: int, index: int, shots: int):
    with pytest.raises(ConfigError, match="expected 0, 0 and 1 or more"):
        draw_bot(POOLS, seed=seed, index=index, shots=shots)


def line(text: str, domain: str, intent: str | None) -> DomainLine:
    return DomainLine(tuple(text.split()), (), domain, intent, "train")


def test_pools_are_the_held_out_domains_and_nothing_else():
    made = DomainSet(
        DOMAIN_SETS["multidogo"],
        (
            line("one pizza", "fastfood", "orderpizzaintent"),
            line("forbidden pizza", "fastfood", "orderpizzaintent"),
            line("nice weather", "fastfood", "outofdomain"),
            line("nice forbidden weather", "fastfood", "outofdomain"),
            line("john", "fastfood", "contentonly"),
            line("it is broken", "software", "reportbrokensoftware"),
            line("a window seat", "airline", "getseatinfo"),
        ),
    )
    pools = held_out_pools([made], leave_out={"forbiddenpizza", "niceforbiddenweather"})
    assert pools == (
        DomainPool(
            "multidogo/fastfood",
            {"order pizza": (Utterance.from_words(["one", "pizza"], "order pizza"),)},
            (("nice", "weather"),),
        ),
        DomainPool(
            "multidogo/software",
            {"report broken software": (Utterance.from_words(["it", "is", "broken"], "report broken software"),)},
            (),
        ),
    )
    assert held_out_texts(pools) == {"onepizza", "itisbroken"}


def test_a_held_out_domain_that_is_not_there_is_an_error():
    made = DomainSet(DOMAIN_SETS["multidogo"], (line("one pizza", "fastfood", "orderpizzaintent"),))
    with pytest.raises(ConfigError, match="'multidogo' has no lines of 'software'"):
        held_out_pools([made])


def test_a_set_without_held_out_domains_gives_no_pool():
    made = DomainSet(DOMAIN_SETS["wnut17"], (line("a b", "social media", None),))
    assert held_out_pools([made]) == ()


def test_the_real_held_out_domains(data_dir: Path):
    sets = [load_domain_set(name, data_dir) for name in HELD_OUT]
    pools = held_out_pools(sets)
    assert len(pools) == sum(map(len, HELD_OUT.values())) == 27
    # Of SGD, exactly the services that only its test files have.
    services = {split: set[str]() for split in ("train", "dev", "test")}
    for of_line in next(found for found in sets if found.name == "sgd_intent_turns_cat").lines:
        services[of_line.split].add(of_line.domain)
    assert services["test"] - services["train"] - services["dev"] == HELD_OUT["sgd_intent_turns_cat"]
    for shots in (5, 10, None):
        for bot in draw_bots(pools, seed=0, count=10, shots=shots):
            assert len(bot.query) > 20
            assert {utterance.intent for utterance in bot.query} <= set(examples(bot))
