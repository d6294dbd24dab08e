"""Episodes from a split: (seed, index) names an episode, whatever process or order asks for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from handful.episodes import shape
from handful.errors import ConfigError
from handful.types import Episode, Utterance


class EpisodeSampler:
    def __init__(self, utterances: Sequence[Utterance], *, u_max: int, seed: int, query_cap: int = 10) -> None:
        by_intent: defaultdict[str, list[Utterance]] = defaultdict(list)
        for utterance in utterances:
            by_intent[utterance.intent].append(utterance)
        # A class needs one utterance to learn from and one to be asked about.
        self.classes = {intent: found for intent, found in sorted(by_intent.items()) if len(found) >= 2}
        self.left_out = tuple(sorted(set(by_intent) - set(self.classes)))
        self.u_max, self.seed, self.query_cap = u_max, seed, query_cap
        if len(self.classes) < shape.FEWEST_CLASSES:
            raise ConfigError(
                f"episodes need {shape.FEWEST_CLASSES} intents with two utterances or more, found {len(self.classes)}"
            )
        if u_max < len(self.classes):
            raise ConfigError(
                f"U_max is {u_max}, but an episode can have {len(self.classes)} intents and each needs a support "
                f"utterance: take U_max {len(self.classes)} or more"
            )
        if query_cap < 1:
            raise ConfigError(f"the cap on queries a class is {query_cap}, expected 1 or more")
        if seed < 0:
            raise ConfigError(f"the seed is {seed}, expected 0 or more")

    def episode(self, index: int) -> Episode:
        rng = np.random.default_rng([self.seed, index])
        names = list(self.classes)
        chosen = rng.choice(len(names), size=shape.way(len(names), rng), replace=False)
        pools = [self.classes[names[position]] for position in sorted(chosen)]
        sizes = [len(pool) for pool in pools]
        k_q = shape.query_shots(sizes, self.query_cap)
        size = shape.support_size(sizes, k_q, shape.draw_beta(rng), self.u_max)
        class_shares = shape.shares(sizes, shape.draw_alphas(len(pools), rng))
        support: list[Utterance] = []
        query: list[Utterance] = []
        for pool, k_c in zip(pools, shape.support_shots(sizes, class_shares, size, k_q), strict=True):
            drawn = [pool[position] for position in rng.choice(len(pool), size=k_c + k_q, replace=False)]
            support += drawn[:k_c]
            query += drawn[k_c:]
        return Episode(tuple(support), tuple(query), self.seed, index)

    def episodes(self, count: int, start: int = 0) -> Iterator[Episode]:
        return (self.episode(index) for index in range(start, start + count))
