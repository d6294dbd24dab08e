"""A bot with examples added or removed: a new bot each time, the old one stays as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from handful.data.document import Document
from handful.data.formats.markup import parse_example
from handful.data.near_names import suggestion
from handful.errors import ConfigError
from handful.parser.bot import Bot
from handful.types import Utterance


def with_added(bot: Bot, examples: Sequence[Utterance | str], intent: str | None) -> Bot:
    if not examples:
        raise ConfigError("there is nothing to add: expected an example")
    added = [_utterance(example, intent) for example in examples]
    document = bot.document
    return replace(bot, document=replace(document, utterances=(*document.utterances, *added), places=()))


def without_removed(bot: Bot, intent: str | None, slot: str | None, text: str | None) -> tuple[Bot, int]:
    """The bot without them, and how many examples are gone or changed."""
    if intent is None and slot is None and text is None:
        raise ConfigError("expected what to remove: an intent, a slot, or the text of an example")
    if intent is not None and intent not in bot.intents:
        raise ConfigError(f"the bot has no intent '{intent}'{suggestion(intent, list(bot.intents))}")
    if slot is not None:
        return _without_slot(bot, intent, slot, text)
    utterances = bot.document.utterances
    gone = [
        row
        for row, u in enumerate(utterances)
        if (intent is None or u.intent == intent) and (text is None or u.text == text)
    ]
    if not gone:
        raise ConfigError(f"no example{'' if intent is None else f' of {intent!r}'} has the text {text!r}")
    if len(gone) == len(utterances):
        raise ConfigError("these are all examples of the bot: expected one to be left, since a bot cannot be empty")
    kept = [row for row in range(len(utterances)) if row not in set(gone)]
    return replace(bot, document=_kept(bot, kept)), len(gone)


def _utterance(example: Utterance | str, intent: str | None) -> Utterance:
    if not isinstance(example, (Utterance, str)):
        raise ConfigError(f"found {example!r}, expected an example: marked text, or an Utterance")
    if isinstance(example, Utterance):
        if intent is not None and example.intent != intent:
            raise ConfigError(f"the example “{example.text}” has the intent '{example.intent}', not '{intent}'")
        return example
    if intent is None:
        raise ConfigError(f"expected an intent for the example {example!r}: add(…, intent='…')")
    try:
        return parse_example(example, intent)
    except ValueError as error:
        raise ConfigError(f"the example {example!r}: {error}") from error


def _without_slot(bot: Bot, intent: str | None, slot: str, text: str | None) -> tuple[Bot, int]:
    """The words stay, and are outside all slots from now on."""
    if slot not in bot.slots:
        raise ConfigError(f"the bot has no slot '{slot}'{suggestion(slot, list(bot.slots))}")
    found, changed = [], 0
    for utterance in bot.document.utterances:
        mine = (intent is None or utterance.intent == intent) and (text is None or utterance.text == text)
        left = tuple(own for own in utterance.slots if not (mine and own.key == slot))
        changed += len(left) < len(utterance.slots)
        found.append(replace(utterance, slots=left))
    if not changed:
        raise ConfigError(f"no example that was asked for has the slot '{slot}'")
    document = bot.document
    kept = _still_there(document.descriptions, found)
    return replace(bot, document=replace(document, utterances=tuple(found), descriptions=kept)), changed


def _kept(bot: Bot, rows: Sequence[int]) -> Document:
    document = bot.document
    places = {row: place for place, row in enumerate(rows)}
    left = {document.utterances[row].intent for row in rows}
    return replace(
        document,
        utterances=tuple(document.utterances[row] for row in rows),
        intent_metadata={name: data for name, data in document.intent_metadata.items() if name in left},
        example_metadata={places[row]: data for row, data in document.example_metadata.items() if row in places},
        descriptions=_still_there(document.descriptions, [document.utterances[row] for row in rows]),
        places=tuple(document.places[row] for row in rows) if document.places else (),
    )


def _still_there(descriptions: Mapping[str, str], utterances: Sequence[Utterance]) -> dict[str, str]:
    """Descriptions of what is gone would be an error in a bot's file."""
    known = {u.intent for u in utterances} | {s for u in utterances for own in u.slots for s in (own.label, own.key)}
    return {label: text for label, text in descriptions.items() if label in known}
