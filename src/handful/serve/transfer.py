"""Import and export over HTTP, in the formats that files have."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio.to_thread
from fastapi import APIRouter, Query, Request, Response

from handful.data.bot_settings import BotSettings
from handful.data.document import Document
from handful.data.reading import FORMATS, format_named
from handful.errors import HandfulError
from handful.serve.answers import Formats, Imported
from handful.serve.convert import changed_json
from handful.serve.refusals import Refusal
from handful.serve.service import AtVersion, Expect, Here, Reader, Summary, Writer, failures, plain
from handful.serve.store.values import Change, Content, NewExample, Rest
from handful.serve.uploads import read_upload, without_folder

routes = APIRouter(prefix="/v1", tags=["import and export"])

_LONGEST_HEADER = 1_000
_ENDINGS = {"rasa-yaml": "yml", "seq": "zip", "conll": "conll", "jsonl": "jsonl"}
_ANY_FILE: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The file's bytes, or a zip of a folder.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
_FILE: dict[str, Any] = {
    "description": "The file; `seq` is a zip of three.",
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
}
Written = Literal["rasa-yaml", "seq", "conll", "jsonl"]
FormatName = Annotated[str | None, Query(max_length=30, description="Of /v1/formats; without it, found by content.")]


@routes.get("/formats", response_model=Formats)
def formats() -> dict[str, Any]:
    """What can be imported, and what exported as well."""
    return {"formats": [{"name": f.name, "looks": f.looks, "writes": f.write is not None} for f in FORMATS]}


@routes.get("/bots/{bot}/export", response_class=Response, responses=failures() | {200: _FILE})
def export(
    bot: str, service: Here, caller: Reader, format: Written = "rasa-yaml", version: AtVersion = None
) -> Response:
    """The bot as a file. What its format cannot hold is told in the header X-Handful-Not-Written."""
    content = service.store.read(bot, version)
    if not content.examples:
        raise Refusal(422, "NoExamples", f"the bot '{bot}' has no examples at this version: there is nothing to write")
    written, lost = written_bot(content, format)
    headers = {
        "Content-Disposition": f'attachment; filename="{bot}.{_ENDINGS[format]}"',
        "X-Handful-Version": str(content.stamp.version),
    }
    if lost:
        told = "; ".join(lost).encode("ascii", "backslashreplace").decode()
        headers["X-Handful-Not-Written"] = told if len(told) <= _LONGEST_HEADER else f"{told[:_LONGEST_HEADER]} ..."
    return Response(written, media_type="application/octet-stream", headers=headers)


@routes.post("/bots/{bot}/import", response_model=Imported, responses=failures(409, 507), openapi_extra=_ANY_FILE)
async def import_(
    bot: str,
    request: Request,
    service: Here,
    caller: Writer,
    mode: Annotated[Literal["add", "replace"], Query(description="To what is there, or in its place.")] = "add",
    format: FormatName = None,
    file: Annotated[str | None, Query(max_length=200, description="The file's name, for messages.")] = None,
    expect: Expect = None,
) -> Response:
    """All of a file or, where a line of it does not fit, nothing. The bot must be there: make it first."""
    body = await request.body()

    def work() -> Response:
        service.store.stamp(bot)  # a bot that is not there is told before its file is read
        document = read_upload(body, format, file, service.settings)
        change = change_of(document)
        what = Summary("imported" if mode == "add" else "replaced all by", (), len(document.utterances))

        def edit(content: Content) -> tuple[Change, str]:
            if mode == "replace":
                return replace(change, clear=True), str(what)
            return replace(change, rest=joined(content.rest, document)), str(what)

        changed = service.edited(bot, edit, caller, expect)
        return plain({**changed_json(changed), "warnings": [warning.message for warning in document.warnings]})

    return await anyio.to_thread.run_sync(work)


# -- documents and changes ---------------------------------------------------------------------------------------------


def change_of(document: Document) -> Change:
    """All of a document, for a new bot or in place of what a bot was."""
    added = tuple(
        NewExample(utterance, document.example_metadata.get(number))
        for number, utterance in enumerate(document.utterances)
    )
    return Change(add=added, rest=rest_of(document))


def rest_of(document: Document) -> Rest:
    return Rest(
        synonyms=document.synonyms,
        lookups=document.lookups,
        regexes=document.regexes,
        slot_entities=document.slot_entities,
        intent_metadata=document.intent_metadata,
        descriptions=document.descriptions,
        threshold=document.settings.threshold,
    )


def joined(before: Rest, document: Document) -> Rest:
    """What a bot knew, and what comes to it; where both speak of one thing, what comes."""
    threshold = document.settings.threshold
    return Rest(
        synonyms=_gathered(before.synonyms, document.synonyms),
        lookups=_gathered(before.lookups, document.lookups),
        regexes=_gathered(before.regexes, document.regexes),
        slot_entities={**before.slot_entities, **document.slot_entities},
        intent_metadata={**before.intent_metadata, **document.intent_metadata},
        descriptions={**before.descriptions, **document.descriptions},
        threshold=before.threshold if threshold == BotSettings().threshold else threshold,
    )


def _gathered(
    before: Mapping[str, tuple[str, ...]], coming: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    names = dict.fromkeys([*before, *coming])
    return {name: tuple(dict.fromkeys([*before.get(name, ()), *coming.get(name, ())])) for name in names}


def written_bot(content: Content, format: Written) -> tuple[bytes, list[str]]:
    """A file's bytes, and what it cannot hold."""
    document = content.document()
    shown = {name for u in document.utterances for s in u.slots for name in (s.label, s.key)}
    shown |= {utterance.intent for utterance in document.utterances}
    # A file may not describe what it has no example of.
    kept = {label: text for label, text in document.descriptions.items() if label in shown}
    empty = sorted(set(content.intents) - shown)
    lost = [f"the intents without examples: {', '.join(empty)}"] if empty else []
    if len(kept) < len(document.descriptions):
        lost.append("descriptions of what has no example")
    writer = format_named(format).write
    assert writer is not None
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / ("bot" if format == "seq" else "bot.yml")
        if format == "seq":
            target.mkdir()
        try:
            lost += writer(replace(document, descriptions=kept), target)
        except HandfulError as error:
            raise Refusal(422, "Unprocessable", without_folder(folder, str(error))) from error
        if format != "seq":
            return target.read_bytes(), lost
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for part in sorted(target.iterdir()):
                archive.write(part, part.name)
        return packed.getvalue(), lost
