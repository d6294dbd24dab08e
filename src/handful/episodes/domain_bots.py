"""Few-shot bots of domains that no training has seen: what settings are chosen on.

Half of the bots are one domain, half merge several domains into 30 to 70 intents, as grown bots have them. `shots`
gives every intent as many examples; without it an intent has 2 to 50, drawn log-uniformly, as users write them, but
never more than half of its utterances.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from handful.data.domain_sets import OUT_OF_SCOPE, DomainSet, text_key, training_domains
from handful.data.labels import unqualified
from handful.errors import ConfigError, listed
from handful.types import Utterance, Words

# By domain set. Of SGD: the services that only its test files have.
HELD_OUT: Mapping[str, frozenset[str]] = {
    "ms_skills_lu": frozenset(
        {
            "calendar_declarative",
            "email",
            "hospitality",
            "itsm",
            "news",
            "people_declarative",
            "pointofinterest",
            "todo",
        }
    ),
    "luis_samples": frozenset(
        {
            "FirstSimpleBotExample",
            "FoodTruck",
            "Human resources",
            "HumanResources",
            "IoT Lights 1.0",
            "Shopping - Sample",
        }
    ),
    "multidogo": frozenset({"fastfood", "software"}),
    "sgd_intent_turns_cat": frozenset(
        {
            "Buses_3",
            "Events_3",
            "Flights_4",
            "Homes_2",
            "Media_3",
            "Messaging_1",
            "Movies_3",
            "Music_3",
            "Payment_1",
            "RentalCars_3",
            "Trains_1",
        }
    ),
}
# Two versions of one sample bot: nobody has both in one bot.
_ONE_OF = ({"luis_samples/HumanResources", "luis_samples/Human resources"},)

_FEWEST_INTENTS = 4  # of a bot of one domain
_MERGED_INTENTS = (30, 70)
_FEWEST_QUERIES = 2  # an intent has beside its examples
_USERS_EXAMPLES = (2, 50)  # of an intent
_MOST_QUERIES = 300  # of a bot
_MOST_OUT_OF_SCOPE = 200


@dataclass(frozen=True, slots=True)
class DomainPool:
    """What bots are drawn from."""

    name: str  # set/domain
    intents: Mapping[str, tuple[Utterance, ...]]
    out_of_scope: tuple[Words, ...]  # what users said that is none of the intents


@dataclass(frozen=True, slots=True)
class DomainBot:
    name: str  # its domains
    support: tuple[Utterance, ...]
    query: tuple[Utterance, ...]
    out_of_scope: tuple[Words, ...]


def held_out_pools(
    domain_sets: Iterable[DomainSet], *, leave_out: Collection[str] = frozenset()
) -> tuple[DomainPool, ...]:
    """The held-out domains of the given sets; `leave_out` are keys of texts (data.domain_sets.text_key)."""
    pools: list[DomainPool] = []
    for domain_set in domain_sets:
        held_out = HELD_OUT.get(domain_set.name, frozenset())
        there = {line.domain for line in domain_set.lines}
        if missing := held_out - there:
            raise ConfigError(f"'{domain_set.name}' has no lines of {listed(sorted(missing))}")
        outside: defaultdict[str, list[Words]] = defaultdict(list)
        for line in domain_set.lines:
            if line.intent in OUT_OF_SCOPE and text_key(line.words) not in leave_out:
                outside[f"{domain_set.name}/{line.domain}"].append(line.words)
        for domain in training_domains(domain_set, without_domains=there - held_out, leave_out=leave_out):
            intents: defaultdict[str, list[Utterance]] = defaultdict(list)
            for utterance in domain.utterances:
                bare = unqualified(utterance.intent)
                intents[bare].append(replace(utterance, intent=bare))
            sorted_intents = {intent: tuple(found) for intent, found in sorted(intents.items())}
            pools.append(DomainPool(domain.name, sorted_intents, tuple(outside[domain.name])))
    return tuple(pools)


def held_out_texts(pools: Iterable[DomainPool]) -> frozenset[str]:
    """The keys of all their texts; a set to train on has a few of them in other domains."""
    return frozenset(
        text_key(utterance.sentence) for pool in pools for found in pool.intents.values() for utterance in found
    ) - {""}


def draw_bots(pools: Sequence[DomainPool], *, seed: int, count: int, shots: int | None) -> list[DomainBot]:
    return [draw_bot(pools, seed=seed, index=index, shots=shots) for index in range(count)]


def draw_bot(pools: Sequence[DomainPool], *, seed: int, index: int, shots: int | None) -> DomainBot:
    """Bot `index` of a seed, whatever is drawn beside it: an even one is of one domain, an odd one merges several."""
    if seed < 0 or index < 0 or (shots is not None and shots < 1):
        raise ConfigError(f"found seed {seed}, index {index} and {shots} shots, expected 0, 0 and 1 or more")
    rng = np.random.default_rng([seed, index])
    needed = (shots or _USERS_EXAMPLES[0]) + _FEWEST_QUERIES
    usable = [pool for pool in (_with_enough(pool, needed) for pool in pools) if pool.intents]
    merged = index % 2 == 1
    domains = _merged_domains(usable, rng) if merged else _one_domain(usable, seed, index // 2)
    intents = _intents(domains, rng)
    support: list[Utterance] = []
    rest: list[list[Utterance]] = []
    for utterances in intents.values():
        examples = shots or min(_users_examples(rng), len(utterances) // 2)
        order = [utterances[position] for position in rng.permutation(len(utterances))]
        support += order[:examples]
        rest.append(order[examples:])
    taken = {text_key(utterance.sentence) for utterance in support}
    query = _in_turns([[u for u in found if text_key(u.sentence) not in taken] for found in rest], _MOST_QUERIES)
    taken |= {text_key(utterance.sentence) for found in rest for utterance in found}
    outside = [words for pool in domains for words in pool.out_of_scope if text_key(words) not in taken]
    kept = sorted(rng.choice(len(outside), size=min(len(outside), _MOST_OUT_OF_SCOPE), replace=False))
    name = "+".join(pool.name for pool in domains)
    return DomainBot(name, tuple(support), tuple(query), tuple(outside[position] for position in kept))


def _with_enough(pool: DomainPool, needed: int) -> DomainPool:
    return replace(pool, intents={intent: found for intent, found in pool.intents.items() if len(found) >= needed})


def _one_domain(pools: Sequence[DomainPool], seed: int, turn: int) -> list[DomainPool]:
    """Domains take turns, in an order of the seed's."""
    large = [pool for pool in pools if len(pool.intents) >= _FEWEST_INTENTS]
    if not large:
        raise ConfigError(f"no domain has {_FEWEST_INTENTS} intents with enough utterances: use fewer shots")
    order = np.random.default_rng(seed).permutation(len(large))
    return [large[order[turn % len(large)]]]


def _merged_domains(pools: Sequence[DomainPool], rng: np.random.Generator) -> list[DomainPool]:
    """Domains in random order, until their intents are as many as were drawn."""
    fewest, most = _MERGED_INTENTS
    aim = rng.integers(fewest, most + 1)
    chosen: list[DomainPool] = []
    for position in rng.permutation(len(pools)):
        pool = pools[position]
        names = {other.name for other in chosen}
        if any(pool.name in versions and names & versions for versions in _ONE_OF):
            continue
        chosen.append(pool)
        if len(_first_of_each(chosen)) >= aim:
            break
    return chosen


def _intents(domains: Sequence[DomainPool], rng: np.random.Generator) -> dict[str, tuple[Utterance, ...]]:
    """At most as many as a merged bot has."""
    found = _first_of_each(domains)
    names = sorted(found)
    most = _MERGED_INTENTS[1]
    kept = names if len(names) <= most else sorted(rng.choice(names, size=most, replace=False).tolist())
    return {name: found[name] for name in kept}


def _first_of_each(domains: Sequence[DomainPool]) -> dict[str, tuple[Utterance, ...]]:
    """Intents by name. Of two with one name the first domain's: their slots are annotated in two ways."""
    found: dict[str, tuple[Utterance, ...]] = {}
    for pool in domains:
        for intent, utterances in pool.intents.items():
            found.setdefault(intent, utterances)
    return found


def _users_examples(rng: np.random.Generator) -> int:
    fewest, most = _USERS_EXAMPLES
    return int(np.exp(rng.uniform(np.log(fewest), np.log(most + 1))))


def _in_turns(pools: Sequence[Sequence[Utterance]], most: int) -> list[Utterance]:
    """One of each pool in turn, so that every intent is asked about, and none much more often."""
    longest = max(map(len, pools), default=0)
    turns = [pool[turn] for turn in range(longest) for pool in pools if turn < len(pool)]
    return turns[:most]
