"""The best strict F1 that any learner can reach on an episode, for a learner that knows all but what it never saw."""

from __future__ import annotations

from handful.data.bio import OUTSIDE, split_tag
from handful.training.scoring import gold_tags, span_f1, tag_set
from handful.types import Episode


def tag_ceiling(episode: Episode) -> float:
    """A perfect tagger that can only use the tags of the support: an I-x seen never is an O."""
    known = tag_set(episode.support)
    gold = gold_tags(episode.query)
    return span_f1(gold, [[tag if tag in known else OUTSIDE for tag in tags] for tags in gold])


def label_ceiling(episode: Episode) -> float:
    """A perfect tagger that can put I-x where only B-x was seen: the real ceiling."""
    known = {split_tag(tag)[1] for tag in tag_set(episode.support)}
    gold = gold_tags(episode.query)
    return span_f1(gold, [[tag if split_tag(tag)[1] in known else OUTSIDE for tag in tags] for tags in gold])
