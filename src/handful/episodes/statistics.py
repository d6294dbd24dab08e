"""What a sampler gives on average: the figures by which two samplers can be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from handful.data.bio import OUTSIDE, tag_set, utterance_tags
from handful.types import Episode


@dataclass(frozen=True, slots=True)
class EpisodeStatistics:
    """Means over episodes, each episode counting once however many classes or words it has."""

    episodes: int
    classes: float  # N
    support: float  # Σ k_c
    query_shots: float  # k_q
    one_shot_share: float  # of an episode's classes, those with one support utterance
    unseen_tag_share: float  # of a query's slot words, those whose tag the support lacks
    repeated_share: float  # of the queries, those whose words are a support utterance's, to the letter


def episode_statistics(episodes: Iterable[Episode]) -> EpisodeStatistics:
    rows = []
    unseen_shares = []
    for episode in episodes:
        shots = Counter(utterance.intent for utterance in episode.support)
        one_shot = sum(count == 1 for count in shots.values())
        said = {utterance.sentence for utterance in episode.support}
        repeated = sum(utterance.sentence in said for utterance in episode.query) / len(episode.query)
        query_shots = len(episode.query) / len(shots)
        rows.append((len(shots), len(episode.support), query_shots, one_shot / len(shots), repeated))
        known = tag_set(episode.support)
        tags = [tag for utterance in episode.query for tag in utterance_tags(utterance) if tag != OUTSIDE]
        if tags:
            unseen_shares.append(sum(tag not in known for tag in tags) / len(tags))
    if not rows:
        raise ValueError("there are no episodes to count")
    classes, support, query_shots, one_shot_share, repeated_share = np.mean(rows, axis=0).tolist()
    unseen = float(np.mean(unseen_shares)) if unseen_shares else 0.0
    return EpisodeStatistics(len(rows), classes, support, query_shots, one_shot_share, unseen, repeated_share)
