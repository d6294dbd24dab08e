"""Between what HTTP says of examples and parses and the values that they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from handful.data.formats.annotation import CharacterSpan, annotate
from handful.data.formats.markup import parse_example, write_example
from handful.serve.asked import GivenExample, OwnExample
from handful.serve.refusals import Refusal
from handful.serve.settings import ServeSettings
from handful.serve.store.values import Changed, Content, NewExample, StoredExample
from handful.types import Utterance


def given_utterance(given: GivenExample | OwnExample, intent: str, place: str, settings: ServeSettings) -> Utterance:
    """`place` names the value in the request, for whoever sent it."""
    refuse_intent(intent, place)
    try:
        if given.marked is not None:
            refuse_text(given.marked, settings, f"{place}.marked")
            return parse_example(given.marked, intent)
        text = given.text or ""
        refuse_text(text, settings, f"{place}.text")
        spans = [CharacterSpan(s.slot, s.start, s.end, s.value, s.role, s.group) for s in given.slots]
        return annotate(text, intent, spans)
    except ValueError as error:
        raise unfit(place, str(error)) from error


def given_examples(given: Iterable[GivenExample], settings: ServeSettings) -> tuple[NewExample, ...]:
    return tuple(
        NewExample(given_utterance(example, example.intent, f"examples.{number}", settings))
        for number, example in enumerate(given)
    )


def refuse_intent(name: str, place: str) -> None:
    """What a path cannot say: browsers make `…/intents/..` the bot's own address before they send it."""
    if {".", ".."} & set(name.replace("\\", "/").split("/")):
        raise unfit(place, f"found the intent {name!r}, expected a name that a path can say")


def refuse_text(text: str, settings: ServeSettings, place: str) -> None:
    if len(text) > settings.most_text:
        raise unfit(place, f"found {len(text):,} characters, expected at most {settings.most_text:,}")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise unfit(place, "found half a character (a lone surrogate), expected whole ones") from None
    if "\0" in text:
        raise unfit(place, "found the character NUL, expected text")


def unfit(place: str, message: str) -> Refusal:
    return Refusal(422, "Unprocessable", f"{place}: {message}", details={"field": place})


# -- out ---------------------------------------------------------------------------------------------------------------


def slots_json(utterance: Utterance) -> list[dict[str, Any]]:
    words = utterance.words
    return [
        {
            "slot": slot.label,
            "start": words[slot.start].start,
            "end": words[slot.end - 1].end,
            "value": slot.value,
            "role": slot.role,
            "group": slot.group,
        }
        for slot in utterance.slots
    ]


def example_json(example: StoredExample) -> dict[str, Any]:
    utterance = example.utterance
    return {
        "id": example.id,
        "intent": utterance.intent,
        "text": utterance.text,
        "slots": slots_json(utterance),
        "marked": write_example(utterance),
    }


def changed_json(changed: Changed) -> dict[str, Any]:
    return {"version": changed.stamp.version, "examples": [example_json(example) for example in changed.examples]}


def bot_json(content: Content) -> dict[str, Any]:
    descriptions = content.rest.descriptions
    sizes = Counter(example.utterance.intent for example in content.examples)
    shown = Counter(
        (slot.label, slot.role)
        for example in content.examples
        for slot in dict.fromkeys(example.utterance.slots)
    )  # fmt: skip
    return {
        "name": content.name,
        "version": content.stamp.version,
        "threshold": content.rest.threshold,
        "intents": [
            {"name": name, "examples": sizes[name], "description": descriptions.get(name)} for name in content.intents
        ],
        "slots": [
            {"label": label, "role": role, "examples": count, "description": descriptions.get(label)}
            for (label, role), count in sorted(shown.items(), key=lambda item: (item[0][0], item[0][1] or ""))
        ],
        "examples": len(content.examples),
    }
