"""A support set as joint_spans reads it: labels as numbers, their texts, and where its examples stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from handful.data.labels import humanised, unqualified
from handful.learners.support import SupportLabels
from handful.model.slot_batches import MIN_SPAN_LIMIT
from handful.model.spans import Members, Numbers, library, members_of
from handful.model.views import Names, Views
from handful.types import Slot, Utterance, Words
from handful.words import split_words


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
        self.own_slots: list[Counter[int]] = []  # of each utterance: how often it has a slot
        shown_with = dict.fromkeys(labels.slots, "")
        words: list[tuple[int, int, int]] = []  # utterance, word, slot
        spans: list[tuple[int, int, int, int]] = []  # utterance, first word, words - 1, slot
        for row, utterance in enumerate(support):
            types = [len(labels.slots)] * len(utterance.words)
            self.own_slots.append(Counter(self.slot_number[slot.key] for slot in utterance.slots))
            for slot in utterance.slots:
                number = self.slot_number[slot.key]
                self.open_slots[self.intent_number[utterance.intent], number] = True
                shown_with[slot.key] = utterance.intent
                types[slot.start : slot.end] = [number] * (slot.end - slot.start)
                spans.append((row, slot.start, slot.end - slot.start - 1, number))
            words += [(row, place, number) for place, number in enumerate(types)]
        # How many utterances show a slot twice.
        self.repeated = Counter(slot for own in self.own_slots for slot, count in own.items() if count > 1)
        self._words, self._spans = columns(words, 3), columns(spans, 4)
        # Without any slot no span is ever looked at.
        self.longest = max([MIN_SPAN_LIMIT, *(self._spans[2] + 1)]) if labels.slots else 1
        self.intent_texts = [_text(intent, descriptions) for intent in labels.intents]
        # In the paper's corpora a slot is named `intent.slot`; what it means is the second half.
        self.slot_texts = [_text(slot, descriptions, f"{shown_with[slot]}.") for slot in labels.slots]

    @property
    def slot_spans(self) -> Numbers:
        """Of all slots that are filled the utterance, first word, words - 1 and slot. [4, n]."""
        return self._spans

    def alone(self) -> list[list[int]]:
        """Of each utterance the slots that no other one of its intent has."""
        intents = self.labels.intent_numbers
        shown = Counter((intent, slot) for intent, own in zip(intents, self.own_slots, strict=True) for slot in own)
        return [
            [slot for slot in own if shown[intent, slot] == 1]
            for intent, own in zip(intents, self.own_slots, strict=True)
        ]

    def span_of(self, spans: Members, member: int) -> tuple[int, Slot]:
        """Which utterance's which span a member is: those of one utterance and slot stand in the sentence's order."""
        owner, slot = int(spans.owners[member]), int(spans.classes[member])
        earlier = np.flatnonzero((spans.owners[:member] == owner) & (spans.classes[:member] == slot))
        own = self._spans[:, (self._spans[0] == owner) & (self._spans[3] == slot)]
        _, start, size, _ = own[:, len(earlier)].tolist()
        return owner, self.labels.named(Slot(self.labels.slots[slot], start, start + size + 1))

    def members(self, views: Views, names: Names) -> SupportMembers:
        """The support's examples in its own views, which may have more sentences after it."""
        return self.members_in([(np.arange(len(self.labels.intent_numbers)), views)], names)

    def members_in(self, parts: Iterable[tuple[Numbers, Views]], names: Names) -> SupportMembers:
        """The same of views that come in parts, each with the numbers of its utterances."""
        utterances, words, spans = ([], []), ([], []), ([], [])  # of each: vectors, and the numbers of their examples
        for rows, views in parts:
            place = np.full(len(self.labels.intent_numbers), -1)
            place[rows] = np.arange(len(rows))
            of_words, of_spans = (np.flatnonzero(place[which] >= 0) for which in (self._words[0], self._spans[0]))
            utterances[0].append(views.sentences[: len(rows)])
            utterances[1].append(rows)
            row, at, _ = self._words[:, of_words]
            words[0].append(views.types[place[row], at])
            words[1].append(of_words)
            row, start, size, _ = self._spans[:, of_spans]
            spans[0].append(views.spans[place[row], start, size])
            spans[1].append(of_spans)
        together = library(names.types).concatenate
        which, of_words, of_spans = (np.concatenate(numbers) for _, numbers in (utterances, words, spans))
        intents = np.asarray(self.labels.intent_numbers)
        row, _, types = self._words[:, of_words]
        span_row, _, _, slots = self._spans[:, of_spans]
        return SupportMembers(
            members_of(names.intents, together(utterances[0]), intents[which], which),
            members_of(names.types, together(words[0]), types, row),
            members_of(names.spans, together(spans[0]), slots, span_row),
        )


def columns(rows: Sequence[tuple[int, ...]], count: int) -> NDArray[np.intp]:
    return np.array(rows, dtype=np.intp).reshape(-1, count).T


def _text(label: str, descriptions: Mapping[str, str], prefix: str = "") -> Words:
    """A label's description, or its name read as words."""
    text = descriptions.get(label) or humanised(unqualified(label).removeprefix(prefix) or label)
    return tuple(word.text for word in split_words(text)) or (text,)
