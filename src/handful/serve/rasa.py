"""Rasa's own HTTP contract: an assistant whose endpoints.yml names this server as its `nlu` needs no other change.

The same under `/` for the default bot, and under `/bots/{bot}` for each.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any

import anyio.to_thread
from fastapi import APIRouter, Query, Request, Response

from handful import __version__
from handful.parser.parse import FALLBACK, Parse
from handful.serve.answers import Failure, Told
from handful.serve.convert import refuse_text
from handful.serve.emulation import emulated, refuse_unknown
from handful.serve.rasa_answers import AnyParse
from handful.serve.refusals import not_readable
from handful.serve.security import bearer, require
from handful.serve.service import Here, Service, failures, known_caller, plain

routes = APIRouter(tags=["Rasa"])
EXTRACTOR = "handful"
Token = Annotated[str | None, Query(max_length=500, description="Rasa's way to send a token.")]
Mode = Annotated[str | None, Query(max_length=40, description="WIT, LUIS or DIALOGFLOW: answer in their shape.")]

# What a button sends: /intent, with a confidence and entities where it has them.
_DIRECT = re.compile(
    r"/(?P<name>[^{@\s][^{@]*)(?:@(?P<confidence>[0-9]+(?:\.[0-9]+)?))?(?P<entities>\{.*\})?\s*", re.DOTALL
)

_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "properties": {
                        "text": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                        "message_id": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                        "token": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                    },
                }
            }
        },
    }
}


class Status(Told):
    model_file: str
    model_id: str
    num_active_training_jobs: int


class Version(Told):
    version: str
    minimum_compatible_version: str


_PARSE_RESPONSES = failures(409) | {409: {"model": Failure, "description": "There is no default bot."}}


@routes.post(
    "/model/parse",
    response_model=AnyParse,
    responses=_PARSE_RESPONSES,
    openapi_extra=_BODY,
)
async def parse(request: Request, service: Here, emulation_mode: Mode = None, token: Token = None) -> Response:
    """The default bot's parse, in Rasa's shape."""
    return await _parsed(request, service, None, emulation_mode, token)


@routes.post(
    "/bots/{bot}/model/parse",
    response_model=AnyParse,
    responses=_PARSE_RESPONSES,
    openapi_extra=_BODY,
)
async def parse_with(
    bot: str, request: Request, service: Here, emulation_mode: Mode = None, token: Token = None
) -> Response:
    """This bot's parse, in Rasa's shape."""
    return await _parsed(request, service, bot, emulation_mode, token)


@routes.get("/status", response_model=Status, responses=_PARSE_RESPONSES)
async def status(request: Request, service: Here, token: Token = None) -> dict[str, Any]:
    await _allow(request, service, token)
    return await anyio.to_thread.run_sync(lambda: _status(service, service.default_bot()))


@routes.get("/bots/{bot}/status", response_model=Status, responses=failures())
async def status_of(bot: str, request: Request, service: Here, token: Token = None) -> dict[str, Any]:
    await _allow(request, service, token)
    return await anyio.to_thread.run_sync(lambda: _status(service, bot))


@routes.get("/version", response_model=Version)
@routes.get("/bots/{bot}/version", response_model=Version)
async def version() -> dict[str, str]:
    return {"version": __version__, "minimum_compatible_version": __version__}


async def _parsed(request: Request, service: Service, bot: str | None, mode: str | None, token: str | None) -> Response:
    sent = _sent(await request.body())
    in_body = sent.get("token")
    await _allow(request, service, token or (in_body if isinstance(in_body, str) else None))
    refuse_unknown(mode)
    text = _text(sent)
    refuse_text(text, service.settings, "text")
    request.state.text = text
    direct = direct_message(text)
    if direct is not None:  # a bot that is not there is told here, too
        await anyio.to_thread.run_sync(lambda: service.store.stamp(bot or service.default_bot()))
        return plain(emulated(direct, mode))
    parsed = await service.parsed(bot, [text])
    return plain(emulated(rasa_json(parsed.parses[0]), mode))


async def _allow(request: Request, service: Service, token: str | None) -> None:
    caller = await known_caller(service, bearer(request.headers.get("authorization")) or token)
    request.state.token = caller.name
    require(caller, "read")


def _sent(body: bytes) -> Mapping[str, Any]:
    """JSON, whatever its content type is said to be."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        told = f"the body is not JSON: {error}" if body else "the body is empty"
        raise not_readable(f'{told}; expected {{"text": "…"}}') from None
    if not isinstance(found, dict):
        raise not_readable(f'found JSON of the type {type(found).__name__}, expected {{"text": "…"}}')
    return found


def _text(sent: Mapping[str, Any]) -> str:
    """A message without text (a picture, say) is no mistake of Rasa's; a misspelt key is one of somebody's."""
    strange = sorted(set(sent) - {"text", "message_id", "token"})
    if "text" not in sent and strange:
        raise not_readable(f'found {", ".join(map(repr, strange[:5]))} and no \'text\'; expected {{"text": "…"}}')
    text = sent.get("text")
    if isinstance(text, list) and len(text) == 1:
        text = text[0]
    if text is None:
        return ""
    if not isinstance(text, str):
        raise not_readable(f"text: found {type(text).__name__}, expected a string")
    return text


def _status(service: Service, bot: str) -> dict[str, Any]:
    stamp = service.store.stamp(bot)
    return {"model_file": bot, "model_id": f"{bot}-{stamp.version}", "num_active_training_jobs": 0}


def rasa_json(parse: Parse) -> dict[str, Any]:
    ranking = [{"name": ranked.name, "confidence": round(ranked.confidence, 4)} for ranked in parse.ranking]
    best = {"name": parse.intent, "confidence": round(parse.confidence, 4)}
    if parse.intent == FALLBACK and parse.rejected:
        ranking.insert(0, best)  # where Rasa's own fallback has it
    return {
        "text": parse.text,
        "intent": best,
        "entities": [
            {
                "entity": slot.label,
                "start": slot.start,
                "end": slot.end,
                "value": slot.value,
                "confidence_entity": round(slot.confidence, 4),
                **({"role": slot.role} if slot.role is not None else {}),
                "extractor": EXTRACTOR,
            }
            for slot in parse.slots
        ],
        "text_tokens": [[word.start, word.end] for word in parse.words],
        "intent_ranking": ranking,
    }


def direct_message(text: str) -> dict[str, Any] | None:
    """`/greet` and `/book{"city": "Oslo"}`, which buttons send: said outright, so nothing is parsed.

    Rasa sends these to its NLU server as it does sentences, and expects the server to read them.
    """
    stripped = text.strip()
    found = _DIRECT.fullmatch(stripped)
    if found is None:
        return None
    entities: list[dict[str, Any]] = []
    if found["entities"]:
        try:
            values = json.loads(found["entities"], parse_constant=_no_number)
            json.dumps(values, ensure_ascii=False, allow_nan=False).encode()
        except (ValueError, RecursionError) as error:
            raise not_readable(f"the entities behind '/{found['name']}' are not JSON: {error}") from None
        for name, value in values.items():
            for single in value if isinstance(value, list) else [value]:
                start, end = found.span("entities")
                entities.append({"entity": name, "start": start, "end": end, "value": single})
    confidence = min(float(found["confidence"]), 1.0) if found["confidence"] else 1.0
    intent = {"name": found["name"].strip(), "confidence": confidence}
    tokens = [[match.start(), match.end()] for match in re.finditer(r"\S+", stripped)]
    return {"text": stripped, "intent": intent, "entities": entities, "text_tokens": tokens, "intent_ranking": [intent]}


def _no_number(written: str) -> None:
    raise ValueError(f"found {written}, expected a number")
