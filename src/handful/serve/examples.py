"""/v1/bots/{bot}/examples and …/intents: what a bot learns from, added, corrected, taken away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Path, Query

from handful.serve.answers import Changed, Examples
from handful.serve.asked import GivenExample, GivenExamples, GivenIntent, IntentChange
from handful.serve.bots import described
from handful.serve.convert import changed_json, example_json, given_examples, given_utterance, refuse_intent, unfit
from handful.serve.service import AtVersion, Expect, Here, Reader, Summary, Writer, failures
from handful.serve.store.errors import IntentExists, NoSuchIntent
from handful.serve.store.values import Change, Content, NewExample, Rest
from handful.types import Utterance

T = TypeVar("T")
routes = APIRouter(prefix="/v1/bots/{bot}", tags=["examples"])
Id = Annotated[int, Path(ge=1, le=2**31 - 1)]


@routes.get("/examples", response_model=Examples, responses=failures())
def examples(
    bot: str,
    service: Here,
    caller: Reader,
    intent: str | None = None,
    limit: Annotated[int, Query(ge=1, le=5000)] = 500,
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
    version: AtVersion = None,
) -> dict[str, Any]:
    """In their order; of one intent, or of all."""
    content = service.store.read(bot, version)
    if intent is not None and intent not in content.intents:
        raise NoSuchIntent(f"the bot '{bot}' has no intent '{intent}'")
    found = [example for example in content.examples if intent is None or example.utterance.intent == intent]
    shown = found[offset : offset + limit]
    return {
        "version": content.stamp.version,
        "total": len(found),
        "examples": [example_json(example) for example in shown],
    }


@routes.post("/examples", status_code=201, response_model=Changed, responses=failures(409, 507))
def add(bot: str, given: GivenExamples, service: Here, caller: Writer, expect: Expect = None) -> dict[str, Any]:
    """All of them or, where one does not fit, none. An intent that is new is new from then on."""
    added = given_examples(given.examples, service.settings)
    what = Summary("added", tuple(example.utterance.intent for example in added), len(added))
    return changed_json(service.changed(bot, Change(add=added), str(what), caller, expect))


@routes.put("/examples/{id}", response_model=Changed, responses=failures(409, 507))
def correct(
    bot: str, id: Id, given: GivenExample, service: Here, caller: Writer, expect: Expect = None
) -> dict[str, Any]:
    """Another example in its place."""
    utterance = given_utterance(given, given.intent, "example", service.settings)

    def edit(content: Content) -> tuple[Change, str]:
        before = [example for example in content.examples if example.id == id]
        metadata = before[0].metadata if before else None  # HTTP knows nothing of it, and takes nothing of it away
        return Change(replace={id: NewExample(utterance, metadata)}), str(Summary("corrected", (utterance.intent,), 1))

    return changed_json(service.edited(bot, edit, caller, expect))


@routes.delete("/examples/{id}", response_model=Changed, responses=failures(409, 507))
def remove(bot: str, id: Id, service: Here, caller: Writer, expect: Expect = None) -> dict[str, Any]:
    return changed_json(service.changed(bot, Change(remove=(id,)), "removed 1 example", caller, expect))


@routes.post("/intents", status_code=201, response_model=Changed, responses=failures(409, 507))
def add_intent(bot: str, given: GivenIntent, service: Here, caller: Writer, expect: Expect = None) -> dict[str, Any]:
    """A new intent, with its first examples or without. Nothing is trained: the next parse knows it."""
    name = _name(given.name)
    added = tuple(
        NewExample(given_utterance(example, name, f"examples.{number}", service.settings))
        for number, example in enumerate(given.examples)
    )

    def edit(content: Content) -> tuple[Change, str]:
        _refuse_known(content, name)
        rest = None
        if given.description:
            rest = replace(content.rest, descriptions=described(content.rest.descriptions, {name: given.description}))
        return Change(add=added, add_intents=(name,), rest=rest), f"added the intent {name}"

    return changed_json(service.edited(bot, edit, caller, expect))


@routes.patch("/intents/{intent:path}", response_model=Changed, responses=failures(409, 507))
def change_intent(
    bot: str, intent: str, given: IntentChange, service: Here, caller: Writer, expect: Expect = None
) -> dict[str, Any]:
    """Another name, or another description. Its examples go with it."""
    name = _name(given.name) if given.name is not None else intent

    def edit(content: Content) -> tuple[Change, str]:
        _refuse_unknown(content, intent)
        rest = content.rest
        if "description" in given.model_fields_set:
            rest = replace(rest, descriptions=described(rest.descriptions, {intent: given.description}))
        if name == intent:
            return Change(rest=rest), f"said what {intent} means"
        _refuse_known(content, name)
        moved = {
            example.id: NewExample(replace(example.utterance, intent=name), example.metadata)
            for example in content.examples
            if example.utterance.intent == intent
        }
        change = Change(replace=moved, rename_intents={intent: name}, rest=_renamed(rest, intent, name))
        return change, f"renamed the intent {intent} to {name}"

    return changed_json(service.edited(bot, edit, caller, expect))


@routes.delete("/intents/{intent:path}", response_model=Changed, responses=failures(409, 507))
def remove_intent(bot: str, intent: str, service: Here, caller: Writer, expect: Expect = None) -> dict[str, Any]:
    """With all its examples."""

    def edit(content: Content) -> tuple[Change, str]:
        _refuse_unknown(content, intent)
        return Change(
            remove_intents=(intent,), rest=_renamed(content.rest, intent, None)
        ), f"removed the intent {intent}"

    return changed_json(service.edited(bot, edit, caller, expect))


def _renamed(rest: Rest, intent: str, name: str | None) -> Rest:
    """What is said of an intent, said of it by another name, or no more."""

    def moved(said: Mapping[str, T]) -> dict[str, T]:
        found = {name if label == intent else label: value for label, value in said.items()}
        return {label: value for label, value in found.items() if label is not None}

    return replace(
        rest,
        descriptions=moved(rest.descriptions),
        intent_metadata=moved(rest.intent_metadata),
        slot_entities={
            (own, slot): entity
            for (of, slot), entity in rest.slot_entities.items()
            if (own := name if of == intent else of) is not None
        },
    )


def _refuse_known(content: Content, intent: str) -> None:
    if intent in content.intents:
        raise IntentExists(f"the bot '{content.name}' has the intent '{intent}' already")


def _refuse_unknown(content: Content, intent: str) -> None:
    if intent not in content.intents:
        raise NoSuchIntent(f"the bot '{content.name}' has no intent '{intent}'")


def _name(name: str) -> str:
    """As an utterance would have it: what cannot be seen would make two of one."""
    refuse_intent(name, "name")
    try:
        Utterance.from_words(["a"], name)
    except ValueError as error:
        raise unfit("name", str(error)) from error
    return name
