"""A parser is asked for utterances that it has not seen: those of a file, or its own examples in turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from handful.errors import ConfigError, listed
from handful.parser.bot import Bot
from handful.parser.parse import FALLBACK
from handful.parser.parser import Parser
from handful.report.cases import Case
from handful.report.folds import split_folds
from handful.types import Utterance

NEAREST = 3
_BATCH = 64  # utterances between two events


@dataclass(frozen=True, slots=True)
class Answered:
    """An event: some more utterances have been asked for."""

    cases: tuple[Case, ...]
    done: int  # with these
    total: int
    fold: int | None = None  # from 1
    folds: int | None = None


def ask(parser: Parser, held: Sequence[Utterance]) -> Iterator[Answered]:
    done = 0
    for batch in _batches(held):
        done += len(batch)
        yield Answered(_cases(parser, batch), done, len(held))


def cross_validate(parser: Parser, folds: int, seed: int) -> Iterator[Answered]:
    """The examples are dealt into folds; the parser without a fold's examples is asked for them."""
    parts = split_folds(parser.bot.document.utterances, folds, seed)
    total = sum(len(held) for _, held in parts)
    if not total:
        raise ConfigError(
            "there is nothing to ask for: cross-validation needs an intent with two examples, and two intents or a "
            "slot; --against FILE asks for the utterances of a file"
        )
    done = 0
    for number, (kept, held) in enumerate(parts, 1):
        fold = parser.with_examples(kept)
        for batch in _batches(held):
            done += len(batch)
            yield Answered(_cases(fold, batch), done, total, number, len(parts))


def _cases(parser: Parser, held: Sequence[Utterance]) -> tuple[Case, ...]:
    parses = parser.parse_many([utterance.text for utterance in held])
    cases = [Case(utterance, parse) for utterance, parse in zip(held, parses, strict=True)]
    # What is right needs no explaining, and most of it is right. A text without words is near to nothing.
    wrong = [number for number, case in enumerate(cases) if case.fault is not None and case.parse.words]
    if wrong:
        found = parser.nearest([cases[number].utterance.text for number in wrong], NEAREST)
        for number, nearest in zip(wrong, found, strict=True):
            cases[number] = replace(cases[number], nearest=tuple(nearest))
    return tuple(cases)


def _batches(held: Sequence[Utterance]) -> Iterator[list[Utterance]]:
    rest = iter(held)
    while batch := list(islice(rest, _BATCH)):
        yield batch


@dataclass(frozen=True, slots=True)
class Strangers:
    """What a file has that the bot does not: how many utterances, and which names."""

    what: str
    names: tuple[str, ...]
    utterances: int

    def __str__(self) -> str:
        verb = "is" if len(self.names) == 1 else "are"
        return (
            f"{counted(len(self.names), self.what)} of the file {verb} unknown to the bot and can only be wrong, in "
            f"{counted(self.utterances, 'utterance')}: {listed(self.names)}"
        )


def strangers(bot: Bot, held: Sequence[Utterance]) -> list[Strangers]:
    """Intents and slots that the bot has no example of, from the most frequent down. A rejection is known to all."""
    intents = Counter(u.intent for u in held if u.intent not in {*bot.intents, FALLBACK})
    known = set(bot.slots)
    unknown = [{slot.key for slot in utterance.slots} - known for utterance in held]
    slots = Counter(key for keys in unknown for key in sorted(keys))
    found = [
        Strangers("intent", tuple(name for name, _ in intents.most_common()), intents.total()),
        Strangers("slot", tuple(name for name, _ in slots.most_common()), sum(map(bool, unknown))),
    ]
    return [stranger for stranger in found if stranger.names]


def already_examples(bot: Bot, held: Sequence[Utterance]) -> int:
    """How many of the utterances the bot has as examples, word for word: these are no test."""
    own = {_folded(utterance) for utterance in bot.document.utterances}
    return sum(_folded(utterance) in own for utterance in held)


def never_asked(examples: Sequence[Utterance]) -> int:
    """Examples that cross-validation keeps: nobody could tell an intent without any."""
    counts = Counter(utterance.intent for utterance in examples)
    return sum(count == 1 for count in counts.values())


def _folded(utterance: Utterance) -> str:
    return " ".join(utterance.text.lower().split())


def counted(number: int, noun: str) -> str:
    """'1 intent', '2 intents'."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
