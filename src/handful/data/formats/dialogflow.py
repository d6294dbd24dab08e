"""Dialogflow ES's export: `intents/NAME_usersays_LANG.json` holds `[{data: [{text, alias, meta}]}]`.

The values of the entities stand in `entities/NAME_entries_LANG.json`: `[{value, synonyms}]`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from handful.data.document import Document
from handful.data.formats.chunks import Chunk, SlotEntities, assembled, chunk_text, read_chunk
from handful.data.formats.dialogflow_export import ExportFile, find_export
from handful.data.formats.entity_values import EntityValues
from handful.data.formats.flags import flag
from handful.data.formats.json_tree import read_json
from handful.data.formats.patterns import usable_patterns
from handful.data.formats.tree import Node
from handful.errors import DataError, Place, Problem, ProblemLog
from handful.types import Utterance

NAME = "dialogflow"

_PHRASE_KEYS = {"id", "data", "isTemplate", "count", "updated", "lang", "isAuto"}
_CHUNK_KEYS = {"text", "alias", "meta", "userDefined"}


@dataclass(slots=True)
class _Draft:
    """A document in the making; `log` has what was wrong on the way."""

    warnings: list[Problem]
    utterances: list[Utterance] = field(default_factory=list)
    slot_entities: SlotEntities = field(default_factory=SlotEntities)
    values: EntityValues = field(default_factory=EntityValues)
    regexes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ids: dict[str, Place] = field(default_factory=dict)
    log: ProblemLog = field(default_factory=ProblemLog)


def read(path: Path) -> Document:
    export = find_export(path)
    draft = _Draft(export.warnings)
    for file in export.phrases:
        with draft.log.at(Place(file.path)):
            _read_phrases(file, draft)
    for file in export.entries:
        with draft.log.at(Place(file.path)):
            _read_entries(file, draft)
    draft.log.raise_if_any()
    if not draft.utterances:
        raise DataError.at(Place(path), "found no training phrases, expected at least one")
    return Document(
        tuple(draft.utterances),
        draft.values.synonyms,
        draft.values.lookups,
        draft.regexes,
        draft.slot_entities.found,
        warnings=tuple(draft.warnings),
    )


def _read_phrases(file: ExportFile, draft: _Draft) -> None:
    intent = file.name
    if file.about.exists() and (name := read_json(file.about).get("name")) is not None:
        intent = name.text("an intent's name")
    items = read_json(file.path).items("a list of training phrases")
    if not items:
        draft.warnings.append(Problem(Place(file.path), f"the intent '{intent}' has no training phrases"))
    for item in items:
        with draft.log.at(item.place):
            _check_id(item, draft)
            draft.warnings += item.unknown_key_warnings(_PHRASE_KEYS)
            if flag(item, "isTemplate", default=False):
                draft.warnings.append(Problem(item.place, "a template is not read: it has no words for its slots"))
                continue
            chunks = [_chunk(node, intent, draft) for node in item.need("data").items("a list of chunks")]
            draft.utterances.append(assembled(chunks, intent))


def _check_id(item: Node, draft: _Draft) -> None:
    node = item.get("id")
    if node is not None:
        first = draft.ids.setdefault(node.text("an id"), node.place)
        if first != node.place:
            node.fail(f"found the id '{node.value}' a second time, expected each once; first at {first}")


def _chunk(node: Node, intent: str, draft: _Draft) -> Chunk:
    draft.warnings += node.unknown_key_warnings(_CHUNK_KEYS)
    if (meta := node.get("meta")) is not None and meta.value == "@sys.ignore":
        return Chunk(chunk_text(node))
    chunk = read_chunk(node, "alias", "meta")
    if chunk.slot is not None and chunk.entity is not None:
        # '@city' is the entity whose values stand in city_entries_en.json.
        # Exports of edited agents hold old types beside new ones: said, not refused.
        entity = chunk.entity.removeprefix("@")
        known = draft.slot_entities.found.setdefault((intent, chunk.slot), entity)
        if known != entity:
            told = (
                f"the parameter '{chunk.slot}' is of the type '{entity}' here and '{known}' before: the first is kept"
            )
            draft.warnings.append(Problem(node.place, told))
    return chunk


def _read_entries(file: ExportFile, draft: _Draft) -> None:
    entity, has_patterns = file.name, False
    if file.about.exists():
        about = read_json(file.about)
        has_patterns = flag(about, "isRegexp", default=False)
        if (name := about.get("name")) is not None:
            entity = name.text("an entity's name")
    for item in read_json(file.path).items("a list of values"):
        with draft.log.at(item.place):
            draft.warnings += item.unknown_key_warnings({"value", "synonyms"})
            value = item.need("value").text("a value")
            listed = item.get("synonyms")
            synonyms = [node.text("a synonym") for node in listed.items("a list of synonyms")] if listed else []
            if value.startswith("@"):
                draft.warnings.append(Problem(item.place, f"'{value}' is made of other entities: it is not read"))
            elif has_patterns:
                patterns = usable_patterns([item.need("value"), *(listed.items() if listed else [])], draft.warnings)
                if patterns:
                    draft.regexes[entity] = tuple(dict.fromkeys((*draft.regexes.get(entity, ()), *patterns)))
            else:
                draft.values.add(entity, value, synonyms)
