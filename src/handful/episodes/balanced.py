"""Episodes to train on, drawn for what they teach rather than as the paper counts them.

The paper's sampler asks every class for as many queries as the smallest one has: in ATIS and TOP, where a class has two
utterances, that is one. Here every class gives what it has, corpora take equal turns however large they are, and large
classes come up more often than tiny ones, but not in proportion.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from handful.episodes import shape
from handful.errors import ConfigError
from handful.types import Episode, Utterance

_LARGE = 200  # utterances; beyond that a class is drawn no more often
_QUERIES = 12  # of an episode, shared by its classes


class BalancedSampler:
    def __init__(
        self, corpora: Sequence[Sequence[Utterance]], *, seed: int, most_classes: int, most_shots: int
    ) -> None:
        """`most_classes` an episode, and `most_shots` support utterances a class."""
        if seed < 0:
            raise ConfigError(f"the seed is {seed}, expected 0 or more")
        if most_classes < shape.FEWEST_CLASSES or most_shots < 1:
            raise ConfigError(
                f"found at most {most_classes} classes with {most_shots} shots, expected {shape.FEWEST_CLASSES} or "
                "more with one or more"
            )
        self._corpora = [_classes(utterances) for utterances in corpora]
        for classes in self._corpora:
            if len(classes) < shape.FEWEST_CLASSES:
                raise ConfigError(
                    f"episodes need {shape.FEWEST_CLASSES} intents with two utterances or more, found {len(classes)}"
                )
        self._seed, self._most_classes, self._most_shots = seed, most_classes, most_shots

    def episode(self, index: int) -> Episode:
        rng = np.random.default_rng([self._seed, index])
        pools = self._corpora[rng.integers(len(self._corpora))]
        way = int(rng.integers(shape.FEWEST_CLASSES, min(self._most_classes, len(pools)) + 1))
        weights = np.sqrt([min(len(pool), _LARGE) for pool in pools])
        chosen = rng.choice(len(pools), size=way, replace=False, p=weights / weights.sum())
        support: list[Utterance] = []
        query: list[Utterance] = []
        for number in chosen:
            pool = pools[number]
            asked = min(max(1, _QUERIES // way), len(pool) // 2)
            shown = min(int(rng.integers(1, self._most_shots + 1)), len(pool) - asked)
            drawn = [pool[position] for position in rng.choice(len(pool), size=shown + asked, replace=False)]
            support += drawn[:shown]
            query += drawn[shown:]
        return Episode(tuple(support), tuple(query), self._seed, index)


def _classes(utterances: Sequence[Utterance]) -> list[list[Utterance]]:
    """Those with one utterance to learn from and one to be asked about, by name."""
    by_intent: defaultdict[str, list[Utterance]] = defaultdict(list)
    for utterance in utterances:
        by_intent[utterance.intent].append(utterance)
    return [found for _, found in sorted(by_intent.items()) if len(found) >= 2]
