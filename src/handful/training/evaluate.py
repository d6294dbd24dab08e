"""Evaluation: for each episode adapt, predict, score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from handful.data.bio import tag_set
from handful.learners.learner import Learner
from handful.training.details import Details
from handful.training.scoring import METRICS, EpisodeScore, Interval, interval, score_episode
from handful.types import Episode


@dataclass(frozen=True, slots=True)
class EpisodeScored:
    """An event: one more episode is done."""

    index: int
    score: EpisodeScore


def evaluate(learner: Learner, episodes: Iterable[Episode], details: Details | None = None) -> Iterator[EpisodeScored]:
    """`details`, where given, are counted on the way."""
    for episode in episodes:
        yield EpisodeScored(episode.index, evaluate_episode(learner, episode, details))


def evaluate_episode(learner: Learner, episode: Episode, details: Details | None = None) -> EpisodeScore:
    adapted = learner.adapt(episode.support)
    sentences = [utterance.sentence for utterance in episode.query]
    strict = adapted.predict(sentences)
    if details is not None:
        details.add(episode, strict)
    released = adapted.predict(sentences, tag_candidates=tag_set(episode.query))
    return score_episode(episode, strict, released)


def summary(scores: Sequence[EpisodeScore]) -> dict[str, Interval]:
    """Mean and 95 % interval over episodes of each metric, as fractions."""
    return {metric: interval([getattr(score, metric) for score in scores]) for metric in METRICS}
