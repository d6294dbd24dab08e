"""What learners that compare with a support set share: its labels as numbers, and the last step to a prediction.

The intent comes first. Slots come after it: only tags of slots that the support shows with that intent compete, and
the best legal BIO sequence wins.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from handful.data.bio import OUTSIDE, slots_of, utterance_tags
from handful.errors import ConfigError
from handful.model.decode import TagColumns, best_sequences, candidate_columns, marginals
from handful.model.prototypes import Floats
from handful.types import Prediction, Ranking, Slot, Utterance


class SupportLabels:
    """Intents, tags and slots of a support set, numbered in the order of their names."""

    def __init__(self, support: Sequence[Utterance]) -> None:
        if not support:
            raise ConfigError("there is nothing to adapt to: the support set is empty")
        self._slot_of_key = _slots_by_key(support)
        self.intents = sorted({utterance.intent for utterance in support})
        self.slots = sorted(self._slot_of_key)
        tags = [tag for utterance in support for tag in utterance_tags(utterance)]
        self.tags = sorted(set(tags))
        numbers = {intent: number for number, intent in enumerate(self.intents)}
        self.intent_numbers = [numbers[utterance.intent] for utterance in support]  # of each utterance
        self._tag_numbers = {tag: number for number, tag in enumerate(self.tags)}
        self.outside = self._tag_numbers.get(OUTSIDE, -2)  # -2: no word of the support is outside a slot
        self.tag_numbers = [self._tag_numbers[tag] for tag in tags]  # of each word, utterance after utterance
        self._columns = TagColumns.of(self.tags)
        self._open_tags: dict[tuple[int, frozenset[str] | None, bool], NDArray[np.bool_]] = {}
        labels: defaultdict[str, set[str]] = defaultdict(set)
        for utterance in support:
            labels[utterance.intent] |= {slot.key for slot in utterance.slots}
        self._labels_of_intent = {intent: frozenset(labels[intent]) for intent in self.intents}

    def numbers_of(self, query: Sequence[Utterance], absent: int) -> tuple[list[int], list[int]]:
        """Intents of the query's utterances and tags of its words; `absent` where the support lacks the tag."""
        numbers = {intent: number for number, intent in enumerate(self.intents)}
        tags = [self._tag_numbers.get(tag, absent) for utterance in query for tag in utterance_tags(utterance)]
        return [numbers[utterance.intent] for utterance in query], tags

    def predict(
        self,
        intents: Floats,
        tag_distances: Floats,
        lengths: Sequence[int],
        *,
        temperature: float,
        allowed: frozenset[str] | None,
        jointly: bool = True,
    ) -> list[Prediction]:
        """The probabilities of the intents, [B, N], and the distances of all words from all tags, [W, K] -> B.

        `jointly` is the decoding above; without it every word takes the likeliest of all tags, as in the paper.
        """
        order = np.argsort(-intents, axis=1, kind="stable")
        open_tags = np.stack([self._open(number, allowed, jointly) for number in order[:, 0]])
        scores = _padded(-tag_distances.astype(np.float64) / temperature, lengths)
        scores = _log_shares(np.where(open_tags[:, None, :], scores, -np.inf))
        if jointly:
            paths = best_sequences(scores, lengths, self._columns)
            probabilities = marginals(scores, lengths, self._columns)
        else:
            choices, probabilities = scores.argmax(axis=2), np.exp(scores)
            paths = [row[:length].tolist() for row, length in zip(choices, lengths, strict=True)]
        found = []
        for row, path in enumerate(paths):
            ranking = ranked(self.intents, intents[row])
            # A support without a word outside its slots and a candidate set without any tag leave nothing to say.
            tags = tuple(self.tags[number] if open_tags[row, number] else OUTSIDE for number in path)
            spans = slots_of(tags)
            certainty = probabilities[row, np.arange(len(path)), path]
            # A span is as sure as its least sure word.
            confidences = tuple(min(float(certainty[span.start : span.end].min()), 1.0) for span in spans)
            found.append(Prediction(ranking, tags, tuple(self.named(span) for span in spans), confidences))
        return found

    def _open(self, intent: int, allowed: frozenset[str] | None, jointly: bool) -> NDArray[np.bool_]:
        """The tags that compete where the intent is number `intent`. [K]."""
        known = self._open_tags.get((intent, allowed, jointly))
        if known is None:
            labels = self._labels_of_intent[self.intents[intent]] if jointly else frozenset(self.slots)
            known = np.zeros(len(self.tags), dtype=bool)
            known[candidate_columns(self.tags, labels, allowed, legal=jointly)] = True
            self._open_tags[intent, allowed, jointly] = known
        return known

    def named(self, span: Slot) -> Slot:
        """A span of a slot's key, with its label and role."""
        known = self._slot_of_key[span.label]
        return Slot(known.label, span.start, span.end, role=known.role)


def ranked(intents: Sequence[str], probabilities: Floats) -> Ranking:
    """Intents from the likeliest down; the earlier name where two are alike. [N]."""
    order = np.argsort(-probabilities, kind="stable")
    sure = np.minimum(probabilities[order], 1.0)  # a sum of shares may round to a little more
    names = [intents[int(number)] for number in order]
    return Ranking(tuple(names), tuple(sure.tolist()))


def _padded(rows: Floats, lengths: Sequence[int]) -> Floats:
    """Rows of sentences one after another, [W, K] -> [B, longest, K]; what is beyond a sentence's end is nought."""
    padded = np.zeros((len(lengths), max(lengths), rows.shape[1]))
    padded[np.arange(max(lengths)) < np.asarray(lengths)[:, None]] = rows
    return padded


def _log_shares(scores: Floats) -> Floats:
    """Log softmax over the last axis; where no tag is open, all stay impossible."""
    highest = scores.max(axis=-1, keepdims=True)
    scores = scores - np.where(np.isfinite(highest), highest, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True)), nan=-np.inf, neginf=-np.inf)


def _slots_by_key(support: Sequence[Utterance]) -> dict[str, Slot]:
    """The label and role behind each tag's name; two that read the same could not be told apart."""
    known: dict[str, Slot] = {}
    for utterance in support:
        for slot in utterance.slots:
            first = known.setdefault(slot.key, slot)
            if (first.label, first.role) != (slot.label, slot.role):
                raise ConfigError(
                    f"the slot '{slot.label}' with the role '{slot.role}' and the slot '{first.label}' with the role "
                    f"'{first.role}' are both called '{slot.key}': rename one"
                )
    return known
