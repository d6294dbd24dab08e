"""Why a sentence was parsed as it was: the examples that it is like, and what tells it from the runner-up."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from handful.types import Slot, Utterance

if TYPE_CHECKING:
    from handful.parser.parser import FilledSlot, Parse, Parser


_MOST_WORDS = 64  # of a text whose words are weighed: it is parsed once without each of them


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An example, and the cosine of its sentence vector with that of the sentence."""

    utterance: Utterance
    similarity: float


@dataclass(frozen=True, slots=True)
class SpanNeighbour:
    """A slot of an example, and the cosine of its span vector with that of the words in question."""

    utterance: Utterance
    slot: Slot
    similarity: float

    @property
    def words(self) -> str:
        return self.utterance.slot_text(self.slot)


@dataclass(frozen=True, slots=True)
class WordWeight:
    """How much a word speaks for the best intent against the runner-up: what the log-odds lose without it."""

    word: str
    weight: float


@dataclass(frozen=True, slots=True)
class Explanation:
    parse: Parse
    nearest: tuple[Neighbour, ...]
    slots: tuple[tuple[FilledSlot, tuple[SpanNeighbour, ...]], ...]
    runner_up: str | None
    runner_up_nearest: tuple[Neighbour, ...]  # the examples of the runner-up that come nearest
    log_odds: float | None  # of the best intent against the runner-up
    words: tuple[WordWeight, ...]  # the loudest first, for it or against it; none for a text of more than 64 words

    def as_json(self) -> dict[str, Any]:
        def neighbour(found: Neighbour) -> dict[str, Any]:
            return {
                "text": found.utterance.text,
                "intent": found.utterance.intent,
                "similarity": round(found.similarity, 4),
            }

        return {
            "parse": self.parse.as_json(),
            "nearest": [neighbour(found) for found in self.nearest],
            "slots": [
                {
                    "label": slot.label,
                    "value": slot.value,
                    "nearest": [
                        {
                            "text": n.utterance.text,
                            "words": n.words,
                            "slot": n.slot.key,
                            "similarity": round(n.similarity, 4),
                        }
                        for n in neighbours
                    ],
                }
                for slot, neighbours in self.slots
            ],
            "runner_up": None
            if self.runner_up is None
            else {
                "name": self.runner_up,
                "nearest": [neighbour(found) for found in self.runner_up_nearest],
                "log_odds": None if self.log_odds is None else round(self.log_odds, 4),
                "words": [{"word": w.word, "weight": round(w.weight, 4)} for w in self.words],
            },
        }


def explain(parser: Parser, text: str, count: int = 3) -> Explanation:
    parser = copy(parser)  # as it is now: another thread may take an intent away before all is asked
    parse = parser.parse(text)
    if not parse.words:
        return Explanation(parse, (), (), None, (), None, ())
    slots = tuple(zip(parse.slots, parser.nearest_spans(parse, count), strict=True))
    (nearest,) = parser.nearest([text], count)
    if len(parse.ranking) < 2:
        return Explanation(parse, nearest, slots, None, (), None, ())
    best, second = parse.ranking[0].name, parse.ranking[1].name
    odds, words = _word_weights(parser, parse, best, second)
    (of_second,) = parser.nearest([text], count, intent=second)
    return Explanation(parse, nearest, slots, second, of_second, odds, words)


def _word_weights(parser: Parser, parse: Parse, best: str, second: str) -> tuple[float, tuple[WordWeight, ...]]:
    """The sentence once more without each of its words, all at once."""
    whole = _log_odds(parse, best, second)
    if not 1 < len(parse.words) <= _MOST_WORDS:
        return whole, ()
    # A blank in a word's place: its neighbours must not become one.
    others = parser.parse_many([f"{parse.text[: word.start]} {parse.text[word.end :]}" for word in parse.words])
    weights = [
        WordWeight(word.text, whole - _log_odds(other, best, second))
        for word, other in zip(parse.words, others, strict=True)
    ]
    return whole, tuple(sorted(weights, key=lambda weight: -abs(weight.weight)))


def _log_odds(parse: Parse, best: str, second: str) -> float:
    shares = dict(zip(parse.ranking.names, parse.ranking.confidences, strict=True))
    return float(np.log(max(shares[best], 1e-30)) - np.log(max(shares[second], 1e-30)))
