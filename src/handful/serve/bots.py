"""/v1/bots: which there are, and what a bot consists of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Response

from handful.errors import ConfigError
from handful.parser.bot import starter_bot
from handful.serve.answers import Bots, BotView, Changed
from handful.serve.asked import BotChange, GivenBot
from handful.serve.convert import bot_json, changed_json
from handful.serve.service import Admin, AtVersion, Expect, Here, Reader, Writer, failures
from handful.serve.store.values import Change, Content
from handful.serve.transfer import change_of

routes = APIRouter(prefix="/v1/bots", tags=["bots"])


@routes.get("", response_model=Bots, responses=failures())
def bots(service: Here, caller: Reader) -> dict[str, Any]:
    """All bots, and what the caller may do."""
    found = service.store.bots()
    names = {bot.name for bot in found}
    default = service.settings.default_bot or (found[0].name if len(found) == 1 else None)
    return {
        "bots": [
            {
                "name": bot.name,
                "version": bot.version,
                "intents": bot.intents,
                "examples": bot.examples,
                "changed": bot.changed.isoformat(),
            }
            for bot in found
        ],
        "default": default if default in names else None,
        "read_only": service.settings.read_only,
        "scope": caller.scope,
    }


@routes.post("", status_code=201, response_model=Changed, responses=failures(409, 507))
def create(given: GivenBot, service: Here, caller: Admin) -> dict[str, Any]:
    """A new bot, empty or like the one that comes with handful."""
    first, what = Change(), "an empty bot"
    if given.starter:
        first, what = change_of(starter_bot().document), "the starter bot"
    changed = service.store.create(given.name, first, what=what, by=caller.name)
    service.metrics.changes.inc()
    return changed_json(changed)


@routes.get("/{bot}", response_model=BotView, responses=failures())
def view(bot: str, service: Here, caller: Reader, version: AtVersion = None) -> dict[str, Any]:
    """Its intents and slots, and how many examples they have."""
    return bot_json(service.store.read(bot, version))


@routes.patch("/{bot}", response_model=Changed, responses=failures(409, 507))
def change(bot: str, given: BotChange, service: Here, caller: Writer, expect: Expect = None) -> dict[str, Any]:
    """The threshold below which a sentence is out of scope, and what labels mean."""

    def edit(content: Content) -> tuple[Change, str]:
        rest, told = content.rest, []
        if given.threshold is not None:
            rest, told = replace(rest, threshold=given.threshold), [f"threshold {given.threshold}"]
        if given.descriptions is not None:
            slots = (slot for example in content.examples for slot in example.utterance.slots)
            known = {*content.intents, *(name for slot in slots for name in (slot.label, slot.key)), *rest.descriptions}
            if unknown := sorted(set(given.descriptions) - known):
                raise ConfigError(f"descriptions: the bot has no intent or slot '{unknown[0]}'")
            rest = replace(rest, descriptions=described(rest.descriptions, given.descriptions))
            told.append(f"said what {', '.join(given.descriptions)} means")
        return Change(rest=rest), "; ".join(told) or "changed nothing"

    return changed_json(service.edited(bot, edit, caller, expect))


@routes.delete("/{bot}", status_code=204, response_class=Response, responses=failures(507))
def delete(bot: str, service: Here, caller: Admin) -> None:
    """The bot with all its versions. There is no way back but a backup."""
    service.store.delete(bot)
    service.live.forget(bot)


def described(before: Any, given: dict[str, str | None]) -> dict[str, str]:
    """Descriptions with some changed, and those that are None taken away."""
    return {label: text for label, text in {**before, **given}.items() if text is not None and text.strip()}
