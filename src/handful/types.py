"""The values that every layer speaks of. Frozen, and born valid: nonsense is refused in the constructor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Self, overload

from handful.errors import listed

# What a learner predicts from: the words of one sentence, without offsets, intent or tags.
Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Word:
    """A word and the characters [start, end) of the text that it stands on."""

    text: str
    start: int
    end: int

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise ValueError(f"a word must have visible characters, found {self.text!r}")
        # A no-break space inside a word is a word's own business; these would be borders.
        if self.text != self.text.strip() or any(blank in self.text for blank in " \t\n\r"):
            raise ValueError(f"found white space in the word {self.text!r}, expected one word")
        if self.start < 0 or self.end - self.start != len(self.text):
            raise ValueError(f"the word {self.text!r} does not fit characters {self.start} to {self.end}")


@dataclass(frozen=True, slots=True)
class Slot:
    """A labelled run of words."""

    label: str
    start: int  # first word
    end: int  # one past the last
    value: str | None = None  # what the words stand for, where that is not the words themselves
    role: str | None = None
    group: str | None = None

    def __post_init__(self) -> None:
        _check_name(self.label, "a slot")
        for text in (self.value, self.role, self.group):
            if text is not None:
                _check_text(text)
        if self.start < 0 or self.end <= self.start:
            raise ValueError(f"slot '{self.label}': words {self.start} to {self.end} are not a span")

    @property
    def key(self) -> str:
        """What a learner tells apart: the label, and the role where there is one."""
        return self.label if self.role is None else f"{self.label}:{self.role}"


@dataclass(frozen=True, slots=True)
class Utterance:
    """A sentence with its intent and its slots, by word."""

    text: str
    words: tuple[Word, ...]
    intent: str
    slots: tuple[Slot, ...] = ()

    def __post_init__(self) -> None:
        _check_text(self.text)
        if not self.words:
            raise ValueError(f"an utterance needs at least one word, found the text {self.text!r}")
        _check_name(self.intent, "an intent")
        reached = 0
        for word in self.words:
            if word.start < reached or self.text[word.start : word.end] != word.text:
                raise ValueError(f"the word {word.text!r} is not at {word.start} in {self.text!r}")
            reached = word.end
        _refuse_overlaps(self.slots, len(self.words))

    @classmethod
    def from_words(cls, words: Sequence[str], intent: str, slots: Sequence[Slot] = ()) -> Self:
        """An utterance of a corpus that comes tokenised: its text is its words joined by spaces."""
        placed, start = [], 0
        for word in words:
            placed.append(Word(word, start, start + len(word)))
            start += len(word) + 1
        return cls(" ".join(words), tuple(placed), intent, tuple(slots))

    @property
    def sentence(self) -> Words:
        return tuple(word.text for word in self.words)

    def slot_text(self, slot: Slot) -> str:
        """The characters that a slot covers, as the user wrote them."""
        return self.text[self.words[slot.start].start : self.words[slot.end - 1].end]


@dataclass(frozen=True, slots=True)
class Episode:
    """A support set to adapt to, and a query set to predict. An evaluation episode and a bot are the same thing."""

    support: tuple[Utterance, ...]
    query: tuple[Utterance, ...]
    seed: int
    index: int
    # Classes of the support that say nothing about intents: their utterances have slots alone.
    slots_only: frozenset[str] = frozenset()
    has_slots: bool = True  # False: nothing is annotated, so that words outside slots say nothing

    def __post_init__(self) -> None:
        if not self.support or not self.query:
            raise ValueError("an episode needs support and query utterances")
        unknown = {utterance.intent for utterance in self.query} - set(self.intents)
        if unknown:
            raise ValueError(f"the query has intents that the support lacks: {listed(sorted(unknown))}")

    @property
    def intents(self) -> tuple[str, ...]:
        return tuple(sorted({utterance.intent for utterance in self.support}))


class RankedIntent(NamedTuple):
    name: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Ranking(Sequence[RankedIntent]):
    """Intents from the likeliest down. Two columns, not a row an intent: a bot of a thousand intents would make a
    thousand objects for every sentence, and that would be half the cost of a parse."""

    names: tuple[str, ...]
    confidences: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.names) != len(self.confidences):
            raise ValueError("each intent has one confidence")
        if self.confidences != tuple(sorted(self.confidences, reverse=True)):
            raise ValueError("a ranking runs from the likeliest intent down")
        # Sorted, so the ends speak for all but what is no number at all, which the sum shows.
        if self.names and not (self.confidences[0] <= 1.0 and self.confidences[-1] >= 0.0 <= sum(self.confidences)):
            raise ValueError("confidences are probabilities")

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, index: int) -> RankedIntent: ...
    @overload
    def __getitem__(self, index: slice) -> Ranking: ...
    def __getitem__(self, index: int | slice) -> RankedIntent | Ranking:
        if isinstance(index, slice):
            return Ranking(self.names[index], self.confidences[index])
        return RankedIntent(self.names[index], self.confidences[index])


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a learner says of one sentence: intents from the likeliest down, and a tag for each word."""

    ranking: Ranking
    tags: tuple[str, ...]
    slots: tuple[Slot, ...]
    slot_confidences: tuple[float, ...]
    likeness: float | None = None  # the mean of the sentence's cosines with the best intent's examples

    def __post_init__(self) -> None:
        if not self.ranking:
            raise ValueError("a prediction needs at least one intent")
        if any(not 0.0 <= value <= 1.0 for value in self.slot_confidences):
            raise ValueError("confidences are probabilities")
        if len(self.slot_confidences) != len(self.slots):
            raise ValueError("each slot has one confidence")
        _refuse_overlaps(self.slots, len(self.tags))
        # What is scored (tags) and what is served (slots) must be one thing.
        keys = [""] * len(self.tags)
        for slot in self.slots:
            keys[slot.start : slot.end] = [slot.key] * (slot.end - slot.start)
        if any(key != tag[2:] for key, tag in zip(keys, self.tags, strict=True)):
            raise ValueError(
                f"the slots {[slot.key for slot in self.slots]} are not those of the tags {list(self.tags)}"
            )

    @property
    def intent(self) -> str:
        return self.ranking.names[0]

    @property
    def confidence(self) -> float:
        return self.ranking.confidences[0]


@lru_cache(maxsize=4096)
def _check_name(name: str, what: str) -> None:
    """Names are compared, listed and written on lines: what cannot be seen would make two of one.

    A few names stand in thousands of predictions, so a good one is looked at once.
    """
    _check_text(name)
    if not name.strip():
        raise ValueError(f"{what} needs a name, found {name!r}")
    if name != name.strip() or any(ord(character) < 32 or character in "\x7f\x85\u2028\u2029" for character in name):
        raise ValueError(
            f"found {name!r} as the name of {what}, expected no line breaks and no white space at its ends"
        )


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"found half a character (a lone surrogate) in {text!r}, expected whole ones") from None


def _refuse_overlaps(slots: Sequence[Slot], words: int) -> None:
    reached = 0
    for slot in slots:
        if slot.end > words:
            raise ValueError(f"slot '{slot.label}' ends at word {slot.end}, but there are {words} words")
        if slot.start < reached:
            raise ValueError(f"slot '{slot.label}' at word {slot.start} overlaps or precedes the slot before it")
        reached = slot.end
