"""/v1/bots/{bot}/parse and its kin: what the bot says of sentences, why, and what to teach it next."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio.to_thread
from fastapi import APIRouter, Request, Response

from handful.data.formats.markup import write_example
from handful.errors import Place
from handful.parser.bot import Bot
from handful.parser.check import findings
from handful.parser.finding import Finding
from handful.parser.parser import Parser
from handful.parser.suggest import Suggestion, as_understood, suggest
from handful.serve.answers import Health, Parses, SuggestionsView, VersionedParse, Why
from handful.serve.asked import Asked, GivenText, GivenTexts, Pool
from handful.serve.convert import refuse_text, slots_json, unfit
from handful.serve.live import LiveBot, nothing
from handful.serve.refusals import Refusal
from handful.serve.service import Here, Reader, failures, plain
from handful.serve.store.values import Content

routes = APIRouter(prefix="/v1/bots/{bot}", tags=["parsing"])


_FEW = 20  # parses that are written as JSON at once; more are written away from the event loop
_POOL = 150_000  # characters to choose suggestions from: some ten seconds of work


@routes.post("/parse", response_model=VersionedParse, responses=failures())
async def parse(bot: str, request: Request, given: GivenText, service: Here, caller: Reader) -> Response:
    """One sentence: its intent, its slots, and how sure the bot is."""
    request.state.text = given.text
    refuse_text(given.text, service.settings, "text")
    parsed = await service.parsed(bot, [given.text])
    return plain({"version": parsed.version, **parsed.parses[0].as_json()})


@routes.post("/parse-many", response_model=Parses, responses=failures())
async def parse_many(bot: str, given: GivenTexts, service: Here, caller: Reader) -> Response:
    """Many sentences, all by the same version of the bot."""
    if len(given.texts) > service.settings.most_texts:
        raise unfit("texts", f"found {len(given.texts)}, expected at most {service.settings.most_texts}")
    for number, text in enumerate(given.texts):
        refuse_text(text, service.settings, f"texts.{number}")
    parsed = await service.parsed(bot, given.texts)

    def written() -> Response:
        return plain({"version": parsed.version, "parses": [found.as_json() for found in parsed.parses]})

    return await anyio.to_thread.run_sync(written) if len(given.texts) > _FEW else written()


@routes.post("/explain", response_model=Why, responses=failures())
async def explain(bot: str, given: Asked, service: Here, caller: Reader) -> Response:
    """The nearest examples, what each slot is like, and what tells the intent from the runner-up."""
    refuse_text(given.text, service.settings, "text")

    def look(live: LiveBot) -> dict[str, Any]:
        if live.parser is None:
            why = {"parse": nothing(given.text).as_json(), "nearest": [], "slots": [], "runner_up": None}
        else:
            why = live.parser.explain(given.text, given.count).as_json()
        return {"version": live.stamp.version, **why}

    return plain(await service.looked_at(bot, look))


@routes.post("/suggest", response_model=SuggestionsView, responses=failures(409))
async def suggestions(bot: str, given: Pool, service: Here, caller: Reader) -> Response:
    """Of these sentences those that would teach the bot most, annotated as it understands them, to be corrected."""
    for number, text in enumerate(given.texts):
        refuse_text(text, service.settings, f"texts.{number}")
    if (size := sum(map(len, given.texts))) > _POOL:
        raise unfit("texts", f"found {size:,} characters in all, expected at most {_POOL:,}")

    def look(live: LiveBot) -> dict[str, Any]:
        found = suggest(_needed(live), given.texts, given.count)
        return {
            "version": live.stamp.version,
            "suggestions": [_suggestion(suggestion) for suggestion in found.chosen],
            "asked": found.asked,
            "known": found.known,
            "repeated": found.repeated,
            "wordless": found.wordless,
        }

    return plain(await service.looked_at(bot, look))


@routes.get("/check", response_model=Health, responses=failures())
async def check(bot: str, service: Here, caller: Reader) -> Response:
    """What is odd about the bot, and which intents it takes for each other: each example is told by the others."""

    def look(live: LiveBot) -> dict[str, Any]:
        held = [] if live.parser is None else live.parser.leave_one_out()
        asked = [
            (example.utterance.intent, told.intent)
            for example, told in zip(live.content.examples, held, strict=False)
            if told is not None
        ]
        sizes = Counter(intent for intent, _ in asked)
        wrong = Counter(pair for pair in asked if pair[0] != pair[1])
        return {
            "version": live.stamp.version,
            "asked": len(asked),
            "right": sum(intent == told for intent, told in asked),
            "findings": [_finding(finding) for finding in _findings(live.content)],
            "confused": [
                {"intent": intent, "other": other, "count": count, "of": sizes[intent]}
                for (intent, other), count in wrong.most_common()
            ],
        }

    return plain(await service.looked_at(bot, look))


def _needed(live: LiveBot) -> Parser:
    if live.parser is None:
        raise Refusal(
            409, "NoExamples", f"the bot '{live.content.name}' has no examples yet: there is nothing to compare with"
        )
    return live.parser


def _suggestion(suggestion: Suggestion) -> dict[str, Any]:
    utterance = as_understood(suggestion.parse)
    return {
        "text": utterance.text,
        "doubt": round(suggestion.doubt, 4),
        "intent": utterance.intent,
        "slots": slots_json(utterance),
        "marked": write_example(utterance),
    }


def _findings(content: Content) -> list[Finding]:
    if not content.examples:
        return [Finding(None, "the bot has no examples", "write a few for each intent")]
    shown = {example.utterance.intent for example in content.examples}
    empty = [
        Finding(None, f"the intent '{intent}' has no examples", "it is not known to the parser until it has one")
        for intent in content.intents
        if intent not in shown
    ]
    # An example's number stands where a file would have a line.
    places = tuple(Place(Path("examples"), pointer=str(example.id)) for example in content.examples)
    return [*empty, *findings(Bot(content.name, replace(content.document(), places=places)))]


def _finding(finding: Finding) -> dict[str, Any]:
    example = finding.place.pointer if finding.place is not None else None
    return {"message": finding.message, "hint": finding.hint, "example": int(example) if example else None}
