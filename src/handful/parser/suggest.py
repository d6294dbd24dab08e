"""What to annotate next: of sentences that people said, those that would teach the bot most.

A sentence is worth asking about when the bot is torn between two intents: its doubt is one minus the gap between
their confidences. Of the most doubtful, the first is taken, and then always the one whose doubt, times its distance
from what was taken before, is greatest: ten wordings of one question are asked once. What the bot has as an example,
or what the pool says twice, is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from handful.model.prototypes import Floats
from handful.types import Ranking, Slot, Utterance, Words
from handful.words import split_words

if TYPE_CHECKING:
    from handful.parser.parser import Parse, Parser

_CANDIDATES = 5  # times as many as are wanted: among them, those that differ are chosen


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A sentence to annotate, and what the bot would say of it: to confirm or to correct."""

    parse: Parse
    doubt: float  # 0: there is one intent for it; 1: there are two, and nothing to choose between them


@dataclass(frozen=True, slots=True)
class Suggestions:
    chosen: tuple[Suggestion, ...]  # from the most useful down
    asked: int  # sentences of the pool that could be asked about
    repeated: int
    known: int  # that are examples already
    wordless: int


def suggest(parser: Parser, pool: Sequence[str], count: int) -> Suggestions:
    known = {_folded(utterance.sentence) for utterance in parser.bot.document.utterances}
    texts: dict[Words, str] = {}
    repeated = familiar = wordless = 0
    for text in pool:
        words = _folded(word.text for word in split_words(text))
        if not words:
            wordless += 1
        elif words in known:
            familiar += 1
        elif words in texts:
            repeated += 1
        else:
            texts[words] = text.strip()
    left = list(texts.values())
    chosen: list[Suggestion] = []
    if left and count:
        parses = parser.parse_many(left)
        doubts = np.array([doubt(parse.ranking) for parse in parses])
        likeliest = np.argsort(-doubts, kind="stable")[: _CANDIDATES * count]
        vectors = parser.sentence_vectors([left[row] for row in likeliest])
        rows = likeliest[varied(doubts[likeliest], vectors, count)]
        chosen = [Suggestion(parses[row], float(doubts[row])) for row in rows]
    return Suggestions(tuple(chosen), len(left), repeated, familiar, wordless)


def doubt(ranking: Ranking) -> float:
    """One minus the gap between the two likeliest intents; where there is one intent, what it lacks of certainty."""
    first, second = (*ranking.confidences[:2], 0.0)[:2]
    return 1.0 - (first - second)


def varied(doubts: Floats, vectors: Floats, count: int) -> list[int]:
    """Rows that are doubtful and unlike each other: greedily, doubt times distance from the nearest that was taken.

    Vectors have length one; the distance is one minus the cosine. [n], [n, d] -> at most `count` rows.
    """
    distances = np.ones(len(doubts))
    chosen: list[int] = []
    for _ in range(min(count, len(doubts))):
        worth = doubts * distances
        worth[chosen] = -np.inf
        best = int(worth.argmax())
        chosen.append(best)
        distances = np.minimum(distances, np.maximum(1.0 - vectors @ vectors[best], 0.0))
    return chosen


def annotated(suggestions: Iterable[Suggestion]) -> list[Utterance]:
    """The predictions as utterances, for a file that a person goes through. Of a kind the first comes first."""
    by_intent: dict[str, list[Utterance]] = {}
    for suggestion in suggestions:
        utterance = _utterance(suggestion.parse)
        by_intent.setdefault(utterance.intent, []).append(utterance)
    return [utterance for own in by_intent.values() for utterance in own]


def _utterance(parse: Parse) -> Utterance:
    intent = parse.ranking[0].name  # the best guess, even where the bot would fall back: that is easier to correct
    starts = {word.start: number for number, word in enumerate(parse.words)}
    ends = {word.end: number + 1 for number, word in enumerate(parse.words)}
    slots = []
    for slot in parse.slots:
        words = parse.text[slot.start : slot.end]
        value = slot.value if slot.value != words else None
        slots.append(Slot(slot.label, starts[slot.start], ends[slot.end], value, slot.role))
    return Utterance(parse.text, parse.words, intent, tuple(slots))


def _folded(words: Iterable[str]) -> Words:
    return tuple(word.lower() for word in words)
