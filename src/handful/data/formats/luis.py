"""LUIS's JSON: `utterances[].{text, intent, entities[{entity, startPos, endPos, role}]}`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from handful.data.document import Document
from handful.data.formats.annotation import CharacterSpan, annotate
from handful.data.formats.entity_values import EntityValues
from handful.data.formats.json_tree import read_json
from handful.data.formats.patterns import usable_patterns
from handful.data.formats.tree import Node
from handful.errors import Problem, ProblemLog, listed
from handful.types import Utterance

NAME = "luis"

_ABOUT_THE_APP = {"luis_schema_version", "versionId", "name", "desc", "culture", "tokenizerVersion"}
_READ = {"utterances", "intents", "entities", "closedLists", "regex_entities"}
# They declare entities that an utterance may name; what else they hold is of no use to us.
_OTHER_ENTITIES = {"hierarchicals", "composites", "patternAnyEntities", "prebuiltEntities"}
_NOT_USED = {*_OTHER_ENTITIES, "model_features", "phraselists", "regex_features", "patterns", "settings"}


@dataclass(frozen=True, slots=True)
class _Declared:
    """The names that utterances may use; None where the app does not list them."""

    intents: set[str] | None
    entities: set[str] | None


def read(path: Path) -> Document:
    root = read_json(path)
    root.need("luis_schema_version").text('a version such as "7.0.0"')
    items = root.need("utterances").items("a list of utterances")
    declared = _declared(root)
    warnings = root.unknown_key_warnings({*_ABOUT_THE_APP, *_READ, *_NOT_USED})
    for key, section in root.mapping().items():
        if key in _NOT_USED and section.value:
            warnings.append(Problem(section.place, f"the section '{key}' is not used"))
    log = ProblemLog()
    utterances = []
    for item in items:
        with log.at(item.place):
            utterances.append(_utterance(item, declared, warnings))
    values = EntityValues()
    for item in _section(root, "closedLists"):
        with log.at(item.place):
            _read_closed_list(item, values, warnings)
    regexes: dict[str, tuple[str, ...]] = {}
    for item in _section(root, "regex_entities"):
        with log.at(item.place):
            name = item.need("name").text("an entity's name")
            patterns = usable_patterns([item.need("regexPattern")], warnings)
            if patterns:
                regexes[name] = (*regexes.get(name, ()), *patterns)
            warnings += item.unknown_key_warnings({"name", "regexPattern", "roles"})
    log.raise_if_any()
    if not utterances:
        root.need("utterances").fail("found no utterances, expected at least one")
    return Document(tuple(utterances), values.synonyms, values.lookups, regexes, warnings=tuple(warnings))


def _declared(root: Node) -> _Declared:
    intents = entities = None
    if root.get("intents") is not None:
        intents = {item.need("name").text("an intent's name") for item in _section(root, "intents")}
    if root.get("entities") is not None:
        entities = set()
        for key in ("entities", "closedLists", "regex_entities", *sorted(_OTHER_ENTITIES)):
            for item in _section(root, key):
                name = item.need("name").text("an entity's name")
                children = item.get("children")
                parts = [child.value for child in children.items()] if children else []
                # The children of a hierarchical entity are named with their parent.
                entities |= {name, *(f"{name}::{part}" for part in parts if isinstance(part, str))}
    return _Declared(intents, entities)


def _utterance(item: Node, declared: _Declared, warnings: list[Problem]) -> Utterance:
    text = item.need("text").text()
    intent = item.need("intent")
    _check_declared(intent, "intent", declared.intents)
    entities = item.get("entities")
    spans = [_span(entity, text, declared, warnings) for entity in (entities.items() if entities else [])]
    warnings += item.unknown_key_warnings({"text", "intent", "entities"})
    return annotate(text, intent.text(), spans)


def _span(entity: Node, text: str, declared: _Declared, warnings: list[Problem]) -> CharacterSpan:
    name = entity.need("entity")
    _check_declared(name, "entity", declared.entities)
    first, last = entity.need("startPos").integer(), entity.need("endPos").integer()
    if not 0 <= first <= last < len(text):
        entity.fail(
            f"found startPos {first} and endPos {last}, expected characters of the text, "
            f"which run from 0 to {len(text) - 1} (endPos is the last one of the entity)"
        )
    children, role = entity.get("children"), entity.get("role")
    if children is not None and children.items():
        children.fail(
            f"found an annotation inside '{name.value}', expected none: handful has flat slots; "
            "annotate either the whole or its parts"
        )
    warnings += entity.unknown_key_warnings({"entity", "startPos", "endPos", "role", "children"})
    # endPos is inclusive, the end of a span is not.
    return CharacterSpan(name.text(), first, last + 1, role=role.text("a role's name") if role else None)


def _check_declared(name: Node, kind: str, declared: set[str] | None) -> None:
    found = name.text(f"the name of an {kind}")
    if declared is not None and found not in declared:
        names = listed(sorted(declared)) or "none"
        name.fail(f"found the {kind} '{found}', expected one that the app declares: {names}")


def _read_closed_list(item: Node, values: EntityValues, warnings: list[Problem]) -> None:
    name = item.need("name").text("an entity's name")
    warnings += item.unknown_key_warnings({"name", "subLists", "roles"})
    for part in _section(item, "subLists"):
        value = part.need("canonicalForm").text("a value")
        values.add(name, value, [synonym.text("a synonym") for synonym in _section(part, "list")])
        warnings += part.unknown_key_warnings({"canonicalForm", "list"})


def _section(node: Node, key: str) -> list[Node]:
    found = node.get(key)
    return found.items() if found else []
