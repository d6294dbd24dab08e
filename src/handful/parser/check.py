"""What is odd about a bot that can nevertheless be read: told before it shows as wrong parses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from handful.data.document import Document
from handful.errors import listed
from handful.parser.bot import Bot
from handful.parser.check_slots import annotated_and_plain, turned_brackets, two_values
from handful.parser.check_tables import checks_of_tables
from handful.parser.confused import Told, confused_intents
from handful.parser.finding import Finding, in_order, lines_of, quoted


def findings(bot: Bot, predictions: Sequence[Told | None] | None = None, *, complete: bool = True) -> list[Finding]:
    """Everything odd, by file and line.

    `predictions` are what the model says of each example when that is left out. `complete=False`: the bot's file is
    broken, and this is what could be read of it; what may be odd only for what is missing is not told then.
    """
    document = bot.document
    found = [
        *_said_twice(document),
        *_alike_but_for_case(document),
        *annotated_and_plain(document),
        *two_values(document),
        *turned_brackets(document),
    ]
    if complete:
        found += [*_few_intents(bot), *_one_example(document), *checks_of_tables(bot)]
    if predictions is not None:
        found += confused_intents(document.utterances, predictions, document.places)
    return in_order(found)


def _few_intents(bot: Bot) -> Iterator[Finding]:
    if len(bot.intents) == 1:
        yield Finding(
            bot.document.place_of(0),
            f"there is one intent, '{bot.intents[0]}': every sentence gets it or nothing",
            "write a second one",
        )


def _one_example(document: Document) -> Iterator[Finding]:
    examples: defaultdict[str, list[int]] = defaultdict(list)
    for index, utterance in enumerate(document.utterances):
        examples[utterance.intent].append(index)
    for intent, indices in examples.items():
        if len(indices) == 1:
            yield Finding(
                document.place_of(indices[0]),
                f"the intent '{intent}' has one example only",
                "five or more make it reliable",
            )


def _said_twice(document: Document) -> Iterator[Finding]:
    said: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for index, utterance in enumerate(document.utterances):
        said[tuple(word.lower() for word in utterance.sentence)].append(index)
    for indices in said.values():
        uses = [document.utterances[index] for index in indices]
        intents = list(dict.fromkeys(use.intent for use in uses))
        if len(intents) > 1:
            told = f"the same text under {listed(intents)}"
            hint = "keep it where it belongs"
        elif len({use.slots for use in uses}) > 1:
            told = f"the same text with different slots in '{intents[0]}'"
            hint = "annotate it one way"
        elif len(uses) > 1:
            told = f"{len(uses)} times the same example in '{intents[0]}'"
            hint = "one is enough"
        else:
            continue
        *before, place = [document.place_of(index) for index in indices]
        others = lines_of(before, place)
        yield Finding(place, f"{told}: {quoted(uses[-1].text)}{f' (see {others})' if others else ''}", hint)


def _alike_but_for_case(document: Document) -> Iterator[Finding]:
    slots = [(index, slot) for index, utterance in enumerate(document.utterances) for slot in utterance.slots]
    yield from _spellings(
        "intents", document, ((utterance.intent, index) for index, utterance in enumerate(document.utterances))
    )
    yield from _spellings("slots", document, ((slot.label, index) for index, slot in slots))
    by_label: defaultdict[str, list[tuple[str, int]]] = defaultdict(list)
    for index, slot in slots:
        if slot.role is not None:
            by_label[slot.label].append((slot.role, index))
    for label, roles in by_label.items():
        yield from _spellings(f"roles of the slot '{label}'", document, roles)


def _spellings(what: str, document: Document, names: Iterable[tuple[str, int]]) -> Iterator[Finding]:
    """`names` come with the example in which they stand."""
    spelt: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for name, index in names:
        spelt[name.casefold()].setdefault(name, index)
    for spellings in spelt.values():
        if len(spellings) > 1:
            *before, place = [document.place_of(index) for index in spellings.values()]
            others = lines_of(before, place)
            told = f"{what} that differ only by case: {listed(spellings)}{f' (see {others})' if others else ''}"
            yield Finding(place, told, "spell them alike, or they are learnt apart")
