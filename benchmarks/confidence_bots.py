"""Bots of held-out domains that have been asked for sentences in scope and out of it, for benchmarks/confidence.py."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from confidence_metrics import Floats

from handful.episodes.domain_bots import DomainBot, DomainPool, draw_bots
from handful.learners.held_out import HeldOut, held_out
from handful.learners.joint_spans import JointSpansLearner
from handful.types import Prediction, Utterance, Words

# Out of scope: what users said that its annotators found to be none of the bot's intents; sentences of other domains;
# sentences of a quarter of the bot's own intents, which were left out of it.
KINDS = ("none of the intents", "another domain", "an intent left out")
USERS, DOMAINS, LEFT_OUT = KINDS
FEWEST_STRANGERS = 20  # of a kind, for a bot to be counted
_MERGED = 25  # intents, of which a bot of several domains has more
_OTHER_DOMAINS = 150
_LEFT_OUT_SHARE = 0.25


@dataclass(frozen=True, slots=True, eq=False)
class AskedBot:
    """What a bot says of queries and of strangers, before its confidences are calibrated."""

    shots: int | None
    support: tuple[Utterance, ...]
    held: HeldOut
    query: tuple[Utterance, ...]
    predictions: Sequence[Prediction]
    strangers: Mapping[str, Sequence[Prediction]]  # by kind
    nearest: Mapping[str, Floats]  # of the strangers, and of the queries as "": the cosine with the nearest example

    @property
    def intents(self) -> list[str]:
        return sorted({utterance.intent for utterance in self.support})

    @property
    def merged(self) -> bool:
        return len(self.intents) >= _MERGED


def asked_bots(
    learner: JointSpansLearner, pools: Sequence[DomainPool], seed: int, count: int, shots: int | None
) -> Iterator[AskedBot]:
    """`count` bots, and of those of several domains a second one, without a quarter of the intents and all slots."""
    for index, bot in enumerate(draw_bots(pools, seed=seed, count=count, shots=shots)):
        rng = np.random.default_rng([seed, index, 1])
        own = set(bot.name.split("+"))
        others = [
            u.sentence for pool in pools if pool.name not in own for found in pool.intents.values() for u in found
        ]
        places = rng.choice(len(others), min(len(others), _OTHER_DOMAINS), replace=False)
        strangers = {USERS: bot.out_of_scope, DOMAINS: [others[place] for place in places]}
        asked = _asked(learner, shots, bot.support, bot.query, strangers)
        yield asked
        if asked.merged:
            yield _without_some_intents(learner, shots, bot, rng)


def _without_some_intents(
    learner: JointSpansLearner, shots: int | None, bot: DomainBot, rng: np.random.Generator
) -> AskedBot:
    intents = sorted({utterance.intent for utterance in bot.support})
    gone = set(rng.choice(intents, round(_LEFT_OUT_SHARE * len(intents)), replace=False).tolist())
    support, query = (
        tuple(replace(u, slots=()) for u in part if u.intent not in gone) for part in (bot.support, bot.query)
    )
    return _asked(learner, shots, support, query, {LEFT_OUT: [u.sentence for u in bot.query if u.intent in gone]})


def _asked(
    learner: JointSpansLearner,
    shots: int | None,
    support: tuple[Utterance, ...],
    query: tuple[Utterance, ...],
    strangers: Mapping[str, Sequence[Words]],
) -> AskedBot:
    adapted = learner.adapt(support)
    sentences = {"": [utterance.sentence for utterance in query]}
    sentences |= {kind: list(said) for kind, said in strangers.items() if len(said) >= FEWEST_STRANGERS}
    examples = adapted.encoded.sentences
    nearest = {kind: (_vectors(learner, said) @ examples.T).max(axis=1) for kind, said in sentences.items()}
    predictions = {kind: adapted.predict(said) for kind, said in sentences.items()}
    inside = predictions.pop("")
    return AskedBot(shots, support, held_out(learner, adapted), query, inside, predictions, nearest)


def _vectors(learner: JointSpansLearner, sentences: Sequence[Words]) -> Floats:
    vectors = np.stack([vector for _, vector in learner.see(sentences)])
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
