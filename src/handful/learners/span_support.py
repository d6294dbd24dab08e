"""A support set as joint_spans reads it: labels as numbers, their texts, and where its examples stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from handful.data.labels import humanised
from handful.learners.support import SupportLabels
from handful.model.span_network import Names, Views
from handful.model.spans import Members, members_of
from handful.types import Utterance, Words
from handful.words import split_words

_LONGEST = 8  # words of a span, at least; where the support shows a longer one, as many as that


@dataclass(frozen=True, slots=True, eq=False)
class SupportMembers:
    intents: Members
    types: Members  # of the slots, and last of no slot at all
    spans: Members


class SpanSupport:
    def __init__(self, support: Sequence[Utterance], descriptions: Mapping[str, str]) -> None:
        self.labels = labels = SupportLabels(support)
        self.intent_number = {intent: number for number, intent in enumerate(labels.intents)}
        self.slot_number = {slot: number for number, slot in enumerate(labels.slots)}
        self.open_slots = np.zeros((len(labels.intents), len(labels.slots)), dtype=bool)  # [N, K]
        shown_with = dict.fromkeys(labels.slots, "")
        words: list[tuple[int, int, int]] = []  # utterance, word, slot
        spans: list[tuple[int, int, int, int]] = []  # utterance, first word, words - 1, slot
        for row, utterance in enumerate(support):
            types = [len(labels.slots)] * len(utterance.words)
            for slot in utterance.slots:
                number = self.slot_number[slot.key]
                self.open_slots[self.intent_number[utterance.intent], number] = True
                shown_with[slot.key] = utterance.intent
                types[slot.start : slot.end] = [number] * (slot.end - slot.start)
                spans.append((row, slot.start, slot.end - slot.start - 1, number))
            words += [(row, place, number) for place, number in enumerate(types)]
        self._words, self._spans = _columns(words, 3), _columns(spans, 4)
        self.longest = max([_LONGEST, *(self._spans[2] + 1)])
        self.intent_texts = [_text(intent, descriptions) for intent in labels.intents]
        # In the paper's corpora a slot is named `intent.slot`; what it means is the second half.
        self.slot_texts = [_text(slot, descriptions, f"{shown_with[slot]}.") for slot in labels.slots]

    def members(self, views: Views, names: Names) -> SupportMembers:
        """The support's examples in its own views, which may have more sentences after it."""
        rows, places, types = self._words
        span_rows, starts, sizes, slots = self._spans
        utterances = np.arange(len(self.labels.intent_numbers))
        return SupportMembers(
            members_of(names.intents, views.sentences[: len(utterances)], self.labels.intent_numbers, utterances),
            members_of(names.types, views.types[rows, places], types, rows),
            members_of(names.spans, views.spans[span_rows, starts, sizes], slots, span_rows),
        )

    def gold_score(self, asked: Sequence[Utterance], outside: Tensor, spans: Tensor) -> Tensor:
        """What the true segmentations score. [B, T], [B, T, L, K] -> [B].

        A span whose label the support lacks cannot be told: its words are outside, as they should be predicted.
        """
        words: list[tuple[int, int]] = []
        segments: list[tuple[int, int, int, int]] = []
        for row, utterance in enumerate(asked):
            free = set(range(len(utterance.words)))
            for slot in utterance.slots:
                number, size = self.slot_number.get(slot.key), slot.end - slot.start
                if number is not None and size <= spans.shape[2]:
                    segments.append((row, slot.start, size - 1, number))
                    free -= set(range(slot.start, slot.end))
            words += [(row, place) for place in sorted(free)]
        total = outside.new_zeros(len(asked))
        rows, places = _columns(words, 2)
        total = total.index_add(0, torch.as_tensor(rows), outside[rows, places])
        rows, starts, sizes, slots = _columns(segments, 4)
        return total.index_add(0, torch.as_tensor(rows), spans[rows, starts, sizes, slots])


def _columns(rows: Sequence[tuple[int, ...]], count: int) -> NDArray[np.intp]:
    return np.array(rows, dtype=np.intp).reshape(-1, count).T


def _text(label: str, descriptions: Mapping[str, str], prefix: str = "") -> Words:
    """A label's description, or its name read as words."""
    text = descriptions.get(label) or humanised(label.removeprefix(prefix) or label)
    return tuple(word.text for word in split_words(text)) or (text,)
