"""The slots of some intents, side by side: sentences are compared with all of them at once."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from handful.learners.span_support import SpanSupport, SupportMembers
from handful.model.prototypes import Floats
from handful.model.segments import log_sum
from handful.model.span_maps import SlotMeasures
from handful.model.spans import IMPOSSIBLE, Likeness, Numbers, class_subset, range_sums
from handful.model.views import Views
from handful.types import Slot


class IntentSlots:
    """What the support shows of the slots of some intents. K slots, and after them a column for no slot at all."""

    def __init__(
        self, shown: SpanSupport, members: SupportMembers, measures: SlotMeasures, intents: Sequence[int] | Numbers
    ) -> None:
        open_slots = shown.open_slots[intents]  # [I, all slots]
        self.numbers = np.flatnonzero(open_slots.any(0))
        self._like_types = Likeness(class_subset(members.types, self.numbers), measures.types)
        self._like_spans = Likeness(class_subset(members.spans, self.numbers), measures.spans)
        self._place = {int(intent): place for place, intent in enumerate(intents)}
        # No slot is every intent's, so that none is without any.
        self.open = np.concatenate([open_slots[:, self.numbers], np.ones((len(open_slots), 1), dtype=bool)], axis=1)
        of_intent, self._columns = np.nonzero(self.open)
        self._starts = np.searchsorted(of_intent, np.arange(len(self.open)))
        self._names = [shown.labels.slots[number] for number in self.numbers]
        self._column = {name: column for column, name in enumerate(self._names)}

    def places(self, intents: Numbers) -> Numbers:
        return np.array([self._place[intent] for intent in intents.tolist()], dtype=np.intp)

    def scores(self, views: Views, rows: Numbers, but: Numbers | None) -> Floats:
        """s(i, j, y) of some sentences' spans, and IMPOSSIBLE for the column of no slot. -> [R, T, L, K + 1].

        `but` [R] names of each sentence the utterance that is no example for it: itself.
        """
        words, vectors, borders = views.types[rows], views.spans[rows], views.borders[rows]
        count, steps, longest, _ = vectors.shape
        scores = np.full((count, steps, longest, len(self.numbers) + 1), IMPOSSIBLE, dtype=borders.dtype)
        if not len(self.numbers):
            return scores
        of_words = self._like_types(words.reshape(count * steps, -1), _each(but, steps))
        scores[..., :-1] = range_sums(of_words.reshape(count, steps, -1), longest) + borders[..., None]
        # A third of all spans leave their sentence: they are impossible already, and are not compared.
        inside = borders > IMPOSSIBLE / 2
        owners = None if but is None else np.repeat(but, steps * longest)[inside.ravel()]
        scores[inside, :-1] += self._like_spans(vectors[inside], owners)
        return scores

    def hint(self, scores: Floats, hints: Sequence[Sequence[Slot]], bonus: float) -> None:
        """Adds the bonus to the spans of each sentence that a table or a pattern of the bot names."""
        for own, found in zip(scores, hints, strict=True):
            for slot in found:
                column, size = self._column.get(slot.key), slot.end - slot.start
                if column is not None and size <= own.shape[1]:
                    own[slot.start, size - 1, column] += bonus

    def best(self, scores: Floats, closed: NDArray[np.bool_] | None) -> Floats:
        """What the best of each intent's slots scores. [R, T, L, K + 1] -> [R, T, L, I].

        `closed` [R, I, K + 1] are slots of an intent that a sentence may not have.
        """
        of_intents = scores[..., self._columns]
        if closed is not None:
            of_intents = np.where(closed[:, self.open][:, None, None, :], IMPOSSIBLE, of_intents)
        return np.maximum.reduceat(of_intents, self._starts, axis=-1)

    def closed_to(self, intents: Numbers, slots: Sequence[Sequence[int]]) -> NDArray[np.bool_] | None:
        """Slots that are closed to sentences, each with one intent; None where there are none. -> [R, I, K + 1]."""
        if not any(slots):
            return None
        closed = np.zeros((len(intents), *self.open.shape), dtype=bool)
        place = {int(number): column for column, number in enumerate(self.numbers)}
        for row, (intent, own) in enumerate(zip(intents.tolist(), slots, strict=True)):
            if intent in self._place:
                closed[row, self._place[intent], [place[slot] for slot in own]] = True
        return closed

    def allowed(self, longest: int, tags: Set[str]) -> NDArray[np.bool_]:
        """Which slots a span of each size may have, if the tags of all its words are among these. [L, K + 1]."""
        begins, goes_on = (np.array([f"{kind}-{name}" in tags for name in self._names], dtype=bool) for kind in "BI")
        slots = begins & ((np.arange(longest)[:, None] == 0) | goes_on)
        return np.concatenate([slots, np.ones((longest, 1), dtype=bool)], axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Sentences of a batch, the pairs of them and an intent that are to be looked at, and the scores of their spans."""

    rows: Numbers  # [R]
    pairs: Numbers
    slots: IntentSlots
    scores: Floats  # [R, T, L, K + 1]
    closed: NDArray[np.bool_] | None = None  # [R, I, K + 1]: slots that a sentence may not have with an intent

    def best(self, rows: Numbers, intents: Numbers) -> Floats:
        """Of all pairs' sentences and intents, this part's: what each span scores with the intent's best slot."""
        of_sentence = np.searchsorted(self.rows, rows[self.pairs])
        return self.slots.best(self.scores, self.closed)[of_sentence, :, :, self.slots.places(intents[self.pairs])]

    def labelled(self, intents: Numbers, tags: Set[str] | None) -> tuple[Floats, Numbers, Floats]:
        """With an intent for each sentence: what every span's best slot scores, which it is, and log Σ over the slots.
        [R] -> [R, T, L] each."""
        places = self.slots.places(intents)
        open_slots = self.slots.open[places]
        if self.closed is not None:
            open_slots = open_slots & ~self.closed[np.arange(len(places)), places]
        usable = open_slots[:, None, None, :]
        if tags is not None:
            usable = usable & self.slots.allowed(self.scores.shape[2], tags)
        scores = np.where(usable, self.scores, IMPOSSIBLE)
        best = scores.argmax(-1)
        numbers = np.append(self.slots.numbers, -1)  # -1: no slot, which no path goes through
        return scores.max(-1), numbers[best], log_sum(scores)

    def keep_one(self, place: int, slot: int, span: tuple[int, int]) -> None:
        """Closes a slot to all spans of a sentence but this one."""
        column = int(np.searchsorted(self.slots.numbers, slot))
        start, size = span[0], span[1] - span[0] - 1
        kept = self.scores[place, start, size, column]
        self.scores[place, :, :, column] = IMPOSSIBLE
        self.scores[place, start, size, column] = kept


def _each(numbers: Numbers | None, times: int) -> Numbers | None:
    return None if numbers is None else np.repeat(numbers, times)
