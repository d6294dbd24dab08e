"""Wit.ai's JSON: `utterances[].{text, intent, entities[{entity: "name:role", start, end, body}], traits}`."""

from __future__ import annotations

from pathlib import Path

from handful.data.document import Document
from handful.data.formats.annotation import CharacterSpan, annotate
from handful.data.formats.json_tree import read_json
from handful.data.formats.tree import Node
from handful.errors import Problem, ProblemLog
from handful.types import Utterance

NAME = "wit"


def read(path: Path) -> Document:
    root = read_json(path)
    items = root.need("utterances").items("a list of utterances")
    warnings = root.unknown_key_warnings({"utterances"})
    log = ProblemLog()
    utterances = []
    for item in items:
        with log.at(item.place):
            utterances.append(_utterance(item, warnings))
    log.raise_if_any()
    if not utterances:
        root.need("utterances").fail("found no utterances, expected at least one")
    return Document(tuple(utterances), warnings=tuple(warnings))


def _utterance(item: Node, warnings: list[Problem]) -> Utterance:
    text = item.need("text").text()
    intent = item.need("intent").text("an intent's name")
    entities, traits = item.get("entities"), item.get("traits")
    spans = [_span(entity, text, warnings) for entity in (entities.items() if entities else [])]
    if traits is not None and traits.items("a list of traits"):
        warnings.append(Problem(traits.place, "the traits are not used"))
    warnings += item.unknown_key_warnings({"text", "intent", "entities", "traits"})
    return annotate(text, intent, spans)


def _span(entity: Node, text: str, warnings: list[Problem]) -> CharacterSpan:
    label, role = _label(entity.need("entity"))
    start, end = entity.need("start").integer(), entity.need("end").integer()
    if not 0 <= start < end <= len(text):
        entity.fail(f"found start {start} and end {end}, but the text has {len(text)} characters")
    body, covered = entity.need("body").text("the words of the entity"), text[start:end]
    if body != covered:
        entity.fail(f"found the body {body!r}, expected {covered!r}: the characters {start} to {end} of the text")
    nested = entity.get("entities")
    if nested is not None and nested.items():
        nested.fail(
            f"found an annotation inside '{label}', expected none: handful has flat slots; "
            "annotate either the whole or its parts"
        )
    warnings += entity.unknown_key_warnings({"entity", "start", "end", "body", "entities"})
    return CharacterSpan(label, start, end, role=role)


def _label(node: Node) -> tuple[str, str | None]:
    found = node.text("an entity's name")
    name, colon, role = found.partition(":")
    if not name.strip() or (colon and not role.strip()) or ":" in role:
        node.fail(f"found the entity '{found}', expected 'name:role' or 'name'")
    # Wit's default role: the entity's own name, for a built-in `wit$location` without the prefix.
    return name, None if role in {"", name, name.removeprefix("wit$")} else role
