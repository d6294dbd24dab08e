"""Snips's JSON: `intents.NAME.utterances[].data[].{text, slot_name, entity}`, and `entities.NAME.data[]`."""

from __future__ import annotations

from pathlib import Path

from handful.data.document import Document
from handful.data.formats.chunks import SlotEntities, assembled, read_chunk
from handful.data.formats.entity_values import EntityValues
from handful.data.formats.json_tree import read_json
from handful.data.formats.snips_entity import SETTINGS, unused_synonyms, uses_synonyms
from handful.data.formats.tree import Node
from handful.errors import Problem, ProblemLog
from handful.types import Utterance

NAME = "snips-json"


def read(path: Path) -> Document:
    root = read_json(path)
    intents = root.need("intents").mapping("a mapping of intents")
    warnings = root.unknown_key_warnings({"intents", "entities", "language"})
    log = ProblemLog()
    utterances: list[Utterance] = []
    slot_entities, values = SlotEntities(), EntityValues()
    for name, intent in intents.items():
        with log.at(intent.place):
            items = intent.need("utterances").items("a list of utterances")
            warnings += intent.unknown_key_warnings({"utterances"})
            if not items:
                warnings.append(Problem(intent.place, f"the intent '{name}' has no utterances: it is not read"))
            for item in items:
                with log.at(item.place):
                    utterances.append(_utterance(item, name, slot_entities, warnings))
    entities = root.get("entities")
    for name, entity in (entities.mapping("a mapping of entities") if entities else {}).items():
        with log.at(entity.place):
            _read_entity(entity, name, values, warnings)
    if (language := root.get("language")) is not None:
        with log.at(language.place):
            language.text('a language such as "en"')
    log.raise_if_any()
    if not utterances:
        root.need("intents").fail("found no utterances, expected at least one")
    return Document(
        tuple(utterances),
        values.synonyms,
        values.lookups,
        slot_entities=slot_entities.found,
        warnings=tuple(warnings),
    )


def _utterance(item: Node, intent: str, slot_entities: SlotEntities, warnings: list[Problem]) -> Utterance:
    chunks = []
    for node in item.need("data").items("a list of chunks"):
        chunk = read_chunk(node, "slot_name", "entity")
        if chunk.slot is not None and chunk.entity is not None:
            slot_entities.add(node, intent, chunk.slot, chunk.entity)
        warnings += node.unknown_key_warnings({"text", "slot_name", "entity"})
        chunks.append(chunk)
    warnings += item.unknown_key_warnings({"data"})
    return assembled(chunks, intent)


def _read_entity(entity: Node, name: str, values: EntityValues, warnings: list[Problem]) -> None:
    warnings += entity.unknown_key_warnings({"data", *SETTINGS})
    synonyms_count = uses_synonyms(entity, warnings)
    data = entity.get("data")  # an entity that is built into Snips has none
    for item in data.items("a list of values") if data else []:
        value = item.need("value").text("a value")
        listed = item.get("synonyms")
        synonyms = [node.text("a synonym") for node in listed.items("a list of synonyms")] if listed else []
        if listed and synonyms and not synonyms_count:
            warnings.append(unused_synonyms(listed, value))
        values.add(name, value, synonyms if synonyms_count else ())
        warnings += item.unknown_key_warnings({"value", "synonyms"})
