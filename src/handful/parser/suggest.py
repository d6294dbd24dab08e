"""What to annotate next: of sentences that people said, those that would teach the bot most.

Every sentence of the pool counts by the bot's doubt, which is one minus the gap between its two likeliest intents. A
sentence that is annotated answers for those that are like it. So the one is taken that answers for most doubt, then
the one that answers for most of what is left, and so on: neither ten wordings of one question, nor what nobody else
says.
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

_LOOKED_AT = 3000  # sentences of a large pool, evenly from all of it: each is compared with every other
_NARROW = 8  # the power of a cosine that one sentence answers for another by: at 0.9 a half, at 0.6 next to nothing


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A sentence to annotate, and what the bot would say of it: to confirm or to correct."""

    parse: Parse
    doubt: float  # 0: there is one intent for it; 1: there are two, and nothing to choose between them


@dataclass(frozen=True, slots=True)
class Suggestions:
    chosen: tuple[Suggestion, ...]  # from the most useful down
    asked: int  # sentences of the pool that could be asked about
    looked_at: int  # of a large pool, some
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
    left = evenly(list(texts.values()), _LOOKED_AT)
    chosen: list[Suggestion] = []
    if left:
        parses = parser.parse_many(left)
        doubts = np.array([doubt(parse.ranking) for parse in parses])
        rows = most_telling(doubts, parser.sentence_vectors(left), count)
        chosen = [Suggestion(parses[row], float(doubts[row])) for row in rows]
    return Suggestions(tuple(chosen), len(texts), len(left), repeated, familiar, wordless)


def evenly(texts: Sequence[str], most: int) -> list[str]:
    if len(texts) <= most:
        return list(texts)
    return [texts[int(place)] for place in np.linspace(0, len(texts) - 1, most)]


def doubt(ranking: Ranking) -> float:
    """One minus the gap between the two likeliest intents; where there is one intent, what it lacks of certainty."""
    first, second = (*ranking.confidences[:2], 0.0)[:2]
    return 1.0 - (first - second)


def most_telling(doubts: Floats, vectors: Floats, count: int) -> list[int]:
    """Rows that together answer for most doubt, the most telling first. Greedily: each makes Σ_i doubt_i · max_j c_ij
    over the rows j that are taken grow most, c being a power of the cosine. Vectors have length one.
    [n], [n, d] -> at most `count` rows.
    """
    answers = np.maximum(vectors @ vectors.T, 0.0).astype(np.float32) ** _NARROW
    answered = np.zeros(len(doubts), dtype=np.float32)
    weights = doubts.astype(np.float32)
    chosen: list[int] = []
    for _ in range(min(count, len(doubts))):
        gains = weights @ np.maximum(answers - answered[:, None], 0.0)
        gains[chosen] = -np.inf
        best = int(gains.argmax())
        chosen.append(best)
        answered = np.maximum(answered, answers[best])
    return chosen


def annotated(suggestions: Iterable[Suggestion]) -> list[Utterance]:
    """The predictions as utterances, for a file that a person goes through. Of a kind the first comes first."""
    by_intent: dict[str, list[Utterance]] = {}
    for suggestion in suggestions:
        utterance = as_understood(suggestion.parse)
        by_intent.setdefault(utterance.intent, []).append(utterance)
    return [utterance for own in by_intent.values() for utterance in own]


def as_understood(parse: Parse) -> Utterance:
    """A parse as an example, to be confirmed or corrected."""
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
