"""What a bot's lookup tables and regular expressions find in a sentence: words that could be a slot.

A table or expression named X speaks of the slots with the label X, in every role, and of slots whose entity type is X
where the format knows types. Nothing is decided here: all matches are told, and decoding weighs them.

Python cannot stop a regular expression that has started, and some take time exponential in the text's length, as
(a+)+$ does. Only the first characters of a text are searched, which bounds the merely slow ones; `runs_away` finds the
usual sort of the others. Whoever takes bots from strangers should refuse those.
"""

from __future__ import annotations

import re
import time
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from handful.parser.bot import Bot
from handful.types import Slot, Word, Words
from handful.words import split_words

_SEARCHED = 2000  # characters of a text that regular expressions see
_PATIENCE = 0.01  # seconds of work for thirty characters; an honest expression takes microseconds


class SlotKind(NamedTuple):
    label: str
    role: str | None


@dataclass(frozen=True, slots=True)
class Matcher:
    """Compiled once a bot. Tables are looked up by their words, so that ten thousand values cost no more than ten."""

    phrases: Mapping[Words, tuple[SlotKind, ...]]  # folded words, and what they could be
    lengths: Mapping[str, tuple[int, ...]]  # a first word, and how many words its phrases have
    patterns: tuple[tuple[re.Pattern[str], tuple[SlotKind, ...]], ...]

    @classmethod
    def of(cls, bot: Bot) -> Self:
        document = bot.document
        concerned = _concerned(bot)
        phrases: defaultdict[Words, dict[SlotKind, None]] = defaultdict(dict)
        for name, values in document.lookups.items():
            for value in values:
                # The words that mean a known value are as good as the value.
                for phrase in (value, *document.synonyms.get(value, ())):
                    if words := _folded(word.text for word in split_words(phrase)):
                        phrases[words].update(dict.fromkeys(concerned.get(name, ())))
        known = {words: tuple(kinds) for words, kinds in phrases.items() if kinds}
        lengths: defaultdict[str, set[int]] = defaultdict(set)
        for words in known:
            lengths[words[0]].add(len(words))
        return cls(
            known,
            {first: tuple(sorted(found)) for first, found in lengths.items()},
            tuple(
                (re.compile(pattern), concerned[name])
                for name, patterns in document.regexes.items()
                if name in concerned
                for pattern in patterns
            ),
        )

    def __bool__(self) -> bool:
        """Is there anything that could match?"""
        return bool(self.phrases or self.patterns)


def matched_slots(matcher: Matcher, text: str, words: Sequence[Word]) -> tuple[Slot, ...]:
    """All runs of whole words that a table or an expression knows, in order; they may overlap."""
    found = dict.fromkeys([*_phrases(matcher, words), *_patterns(matcher, text, words)])
    return tuple(sorted(found, key=lambda slot: (slot.start, slot.end, slot.key)))


def named_slots(bot: Bot, name: str) -> tuple[SlotKind, ...]:
    """The slots that a table or expression of this name speaks of."""
    return _concerned(bot).get(name, ())


def runs_away(pattern: str) -> bool:
    """Does it take ever so long for a few repeated characters? Tried, not proven: it can miss some."""
    compiled = re.compile(pattern)
    # What could be repeated: single characters, and the pattern's own words.
    units = [*sorted({*"a1 -", *pattern}), *dict.fromkeys(re.findall(r"\w{2,12}", pattern))]
    # One more at a time, so that this itself ends soon after the limit is passed.
    return any(_seconds(compiled, unit * times + "\0") > _PATIENCE for unit in units for times in range(4, 30))


def _seconds(pattern: re.Pattern[str], text: str) -> float:
    """Of this thread's own work: a busy machine must not accuse an innocent."""
    begun = time.thread_time()
    pattern.search(text)
    return time.thread_time() - begun


def _concerned(bot: Bot) -> dict[str, tuple[SlotKind, ...]]:
    kinds = [SlotKind(kind.label, kind.role) for kind in bot.slot_kinds]
    found: defaultdict[str, dict[SlotKind, None]] = defaultdict(dict)
    for kind in kinds:
        found[kind.label][kind] = None
    # The intent is let go: which slots an intent has is known where the matches are weighed.
    for (_, slot), entity in bot.document.slot_entities.items():
        found[entity].update(dict.fromkeys(kind for kind in kinds if kind.label == slot))
    return {name: tuple(own) for name, own in found.items() if own}


def _folded(words: Iterable[str]) -> Words:
    """Words to compare by: whatever their case, and whether an accent is a character of its own."""
    return tuple(unicodedata.normalize("NFC", word).casefold() for word in words)


def _phrases(matcher: Matcher, words: Sequence[Word]) -> Iterator[Slot]:
    folded = _folded(word.text for word in words)
    for start, first in enumerate(folded):
        for end in (start + length for length in matcher.lengths.get(first, ())):
            if end <= len(folded):
                for kind in matcher.phrases.get(folded[start:end], ()):
                    yield Slot(kind.label, start, end, role=kind.role)


def _patterns(matcher: Matcher, text: str, words: Sequence[Word]) -> Iterator[Slot]:
    if not matcher.patterns:
        return
    starts = {word.start: index for index, word in enumerate(words)}
    ends = {word.end: index + 1 for index, word in enumerate(words)}
    for pattern, kinds in matcher.patterns:
        for match in pattern.finditer(text, 0, _SEARCHED):
            covered = match.group()
            # As in annotations, white space at the ends belongs to no word.
            start = starts.get(match.start() + len(covered) - len(covered.lstrip()))
            end = ends.get(match.end() - len(covered) + len(covered.rstrip()))
            if start is not None and end is not None and start < end:
                for kind in kinds:
                    yield Slot(kind.label, start, end, role=kind.role)
