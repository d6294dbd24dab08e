"""Strict F1 of a tagger that makes no mistake but cannot say what it never saw: what the support leaves reachable."""

from __future__ import annotations

from handful.data.bio import OUTSIDE, split_tag, tag_set, utterance_tags
from handful.training.scoring import span_f1
from handful.types import Episode


def tag_ceiling(episode: Episode) -> float:
    """The gold tags with those that the support lacks set to O: spans may come out cut, and then count as wrong."""
    known = tag_set(episode.support)
    gold = [utterance_tags(utterance) for utterance in episode.query]
    return span_f1(gold, [[tag if tag in known else OUTSIDE for tag in tags] for tags in gold])


def label_ceiling(episode: Episode) -> float:
    """The gold tags with those of unseen slots set to O; I-x may stand where only B-x was seen. None does better."""
    known = {split_tag(tag)[1] for tag in tag_set(episode.support)}
    gold = [utterance_tags(utterance) for utterance in episode.query]
    return span_f1(gold, [[tag if split_tag(tag)[1] in known else OUTSIDE for tag in tags] for tags in gold])
