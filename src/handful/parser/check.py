"""What is odd about a bot that can nevertheless be read: told before it shows as wrong parses."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from handful.errors import listed
from handful.parser.bot import Bot


def findings(bot: Bot) -> list[str]:
    return [
        *_few_intents(bot),
        *_one_example(bot),
        *_said_twice(bot),
        *_alike_but_for_case("intents", bot.intents),
        *_alike_but_for_case("slots", bot.slots),
        *_two_values(bot),
        *_turned_brackets(bot),
        *_not_used_yet(bot),
    ]


def _few_intents(bot: Bot) -> Iterator[str]:
    if len(bot.intents) == 1:
        yield f"there is one intent, '{bot.intents[0]}': every sentence will be given it"


def _one_example(bot: Bot) -> Iterator[str]:
    counts = Counter(utterance.intent for utterance in bot.document.utterances)
    lonely = [intent for intent, count in counts.items() if count == 1]
    if lonely:
        yield f"one example only: {listed(lonely)}; five or more make an intent reliable"


def _said_twice(bot: Bot) -> Iterator[str]:
    said: defaultdict[str, list[tuple[str, object]]] = defaultdict(list)
    for utterance in bot.document.utterances:
        said[" ".join(utterance.sentence).lower()].append((utterance.intent, utterance.slots))
    for text, uses in said.items():
        intents = list(dict.fromkeys(intent for intent, _ in uses))
        if len(intents) > 1:
            yield f"the same text under {listed(intents)}: “{text}”"
        elif len(set(uses)) > 1:
            yield f"the same text with different slots in '{intents[0]}': “{text}”"
        elif len(uses) > 1:
            yield f"{len(uses)} times the same example in '{intents[0]}': “{text}”"


def _alike_but_for_case(what: str, names: tuple[str, ...]) -> Iterator[str]:
    spellings: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        spellings[name.casefold()].append(name)
    for alike in spellings.values():
        if len(alike) > 1:
            yield f"{what} that differ only by case: {listed(alike)}"


def _two_values(bot: Bot) -> Iterator[str]:
    values: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for utterance in bot.document.utterances:
        for slot in utterance.slots:
            if slot.value is not None:
                values[slot.key, utterance.slot_text(slot).lower()].add(slot.value)
    for (key, words), found in values.items():
        if len(found) > 1:
            yield f"“{words}” in the slot '{key}' has several values: {listed(sorted(found))}; the last one is used"


def _turned_brackets(bot: Bot) -> Iterator[str]:
    """Rasa has [words](slot), Snips [slot:entity](words): a bot that mixes them reads well and parses badly."""
    for utterance in bot.document.utterances:
        for slot in utterance.slots:
            words = utterance.slot_text(slot)
            if re.fullmatch(r"\w+:[\w/]*[A-Za-z_][\w/]*", words):
                yield f"the slot '{slot.label}' on the words “{words}”: are the brackets the other way round?"


def _not_used_yet(bot: Bot) -> Iterator[str]:
    for what, section in (
        ("lookup tables", bot.document.lookups),
        ("regular expressions", bot.document.regexes),
    ):
        if section:
            yield f"{what} are read and kept, but do not help to find slots yet: {listed(section)}"
