"""Episodes to train on that are drawn from the domains of many sets.

A set comes up by the root of how many classes it has. Its classes are drawn as for a bot of one domain or for one of
the whole set, and some episodes mix the classes of all sets, as grown bots do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from handful.data.domain_sets import TrainingDomain
from handful.data.labels import unqualified
from handful.episodes import shape
from handful.errors import ConfigError
from handful.types import Episode, Utterance

_LARGE = 200  # utterances; beyond that a class is drawn no more often
_MOST = 300  # utterances of a class that are ever drawn: large ones would fill the memory with what they repeat
_QUERIES = 12  # of an episode, shared by its classes


@dataclass(frozen=True, slots=True)
class _Class:
    name: str
    domain: str
    utterances: tuple[Utterance, ...]
    slots_only: bool
    has_slots: bool

    @property
    def weight(self) -> float:
        return float(np.sqrt(min(len(self.utterances), _LARGE)))


class DomainSampler:
    def __init__(
        self,
        domains: Sequence[TrainingDomain],
        *,
        seed: int,
        most_classes: int,
        most_shots: int,
        single: float,
        mixed: float,
    ) -> None:
        """`most_classes` an episode, `most_shots` support utterances a class; `single` and `mixed` are the shares of
        episodes that are drawn from one domain alone and from all sets."""
        if seed < 0:
            raise ConfigError(f"the seed is {seed}, expected 0 or more")
        by_set: defaultdict[str, list[_Class]] = defaultdict(list)
        for domain in domains:
            by_set[domain.name.partition("/")[0]] += _classes(domain)
        self._sets = [found for _, found in sorted(by_set.items()) if len(found) >= shape.FEWEST_CLASSES]
        if not self._sets:
            raise ConfigError(
                f"episodes need a set of {shape.FEWEST_CLASSES} classes with two utterances or more, found none"
            )
        roots = np.sqrt([len(found) for found in self._sets])
        self._shares = roots / roots.sum()
        self._all = [own for _, found in sorted(by_set.items()) for own in found if own.has_slots]
        self._seed, self._most_classes, self._most_shots = seed, most_classes, most_shots
        self._single, self._mixed = single, mixed

    @property
    def utterances(self) -> tuple[Utterance, ...]:
        """All that can be drawn."""
        without_slots = [own for found in self._sets for own in found if not own.has_slots]
        return tuple(utterance for own in (*self._all, *without_slots) for utterance in own.utterances)

    def episode(self, index: int) -> Episode:
        rng = np.random.default_rng([self._seed, index])
        drawn = self._drawn_classes(self._pool(rng), rng)
        support: list[Utterance] = []
        query: list[Utterance] = []
        for own in drawn:
            count = len(own.utterances)
            asked = min(max(1, _QUERIES // len(drawn)), count // 2)
            shown = min(int(rng.integers(1, self._most_shots + 1)), count - asked)
            chosen = [own.utterances[place] for place in rng.choice(count, size=shown + asked, replace=False)]
            support += chosen[:shown]
            query += chosen[shown:]
        slots_only = frozenset(own.name for own in drawn if own.slots_only)
        has_slots = all(own.has_slots for own in drawn)
        return Episode(tuple(support), tuple(query), self._seed, index, slots_only, has_slots)

    def _pool(self, rng: np.random.Generator) -> Sequence[_Class]:
        kind = rng.random()
        if kind < self._mixed and len(self._all) >= shape.FEWEST_CLASSES:
            return self._all
        found = self._sets[rng.choice(len(self._sets), p=self._shares)]
        if kind < self._mixed + self._single:
            domain = found[rng.integers(len(found))].domain
            own = [other for other in found if other.domain == domain]
            if len(own) >= shape.FEWEST_CLASSES:
                return own
        return found

    def _drawn_classes(self, pool: Sequence[_Class], rng: np.random.Generator) -> list[_Class]:
        """Without two that a parser would read as one name."""
        way = int(rng.integers(shape.FEWEST_CLASSES, min(self._most_classes, len(pool)) + 1))
        weights = np.array([own.weight for own in pool])
        order = rng.choice(len(pool), size=len(pool), replace=False, p=weights / weights.sum())
        names: dict[str, _Class] = {}
        for place in order:
            names.setdefault(unqualified(pool[place].name), pool[place])
            if len(names) == way:
                break
        return list(names.values())


def _classes(domain: TrainingDomain) -> Iterator[_Class]:
    """Those with one utterance to learn from and one to be asked about, by name."""
    for slots_only, utterances in ((False, domain.utterances), (True, domain.slots_only)):
        by_name: defaultdict[str, list[Utterance]] = defaultdict(list)
        for utterance in utterances:
            by_name[utterance.intent].append(utterance)
        for name, found in sorted(by_name.items()):
            if len(found) >= 2:
                yield _Class(name, domain.name, _evenly(found), slots_only, domain.has_slots)


def _evenly(utterances: Sequence[Utterance]) -> tuple[Utterance, ...]:
    if len(utterances) <= _MOST:
        return tuple(utterances)
    return tuple(utterances[place] for place in np.linspace(0, len(utterances) - 1, _MOST).astype(int))
