"""Rasa's JSON: `rasa_nlu_data.common_examples[].{text, intent, entities[{start, end, value, entity}]}`."""

from __future__ import annotations

from pathlib import Path

from handful.data.document import Document
from handful.data.formats.annotation import CharacterSpan, annotate
from handful.data.formats.json_tree import read_json
from handful.data.formats.patterns import usable_patterns
from handful.data.formats.tree import Node
from handful.errors import Problem, ProblemLog
from handful.types import Utterance

NAME = "rasa-json"

_SECTIONS = {"common_examples", "entity_synonyms", "regex_features", "lookup_tables"}


def read(path: Path) -> Document:
    root = read_json(path)
    data = root.need("rasa_nlu_data")
    warnings = [*root.unknown_key_warnings({"rasa_nlu_data"}), *data.unknown_key_warnings(_SECTIONS)]
    log = ProblemLog()
    utterances, metadata = [], {}
    for item in data.need("common_examples").items():
        with log.at(item.place):
            utterance, about = _utterance(item, warnings)
            if about is not None:
                metadata[len(utterances)] = about.plain()
            utterances.append(utterance)
    synonyms: dict[str, tuple[str, ...]] = {}
    lookups: dict[str, tuple[str, ...]] = {}
    regexes: dict[str, tuple[str, ...]] = {}
    for section, name_key, values_key, found in (
        ("entity_synonyms", "value", "synonyms", synonyms),
        ("lookup_tables", "name", "elements", lookups),
        ("regex_features", "name", "pattern", regexes),
    ):
        for item in _items(data, section):
            with log.at(item.place):
                name = item.need(name_key).text()
                warnings += item.unknown_key_warnings({name_key, values_key})
                values = _texts(item.need(values_key), section, warnings)
                if values:
                    found[name] = (*found.get(name, ()), *values)
                else:
                    warnings.append(Problem(item.place, f"'{name}' has no {values_key} that can be used"))
    log.raise_if_any()
    if not utterances:
        data.fail("found no examples, expected at least one in 'common_examples'")
    return Document(tuple(utterances), synonyms, lookups, regexes, example_metadata=metadata, warnings=tuple(warnings))


def _utterance(item: Node, warnings: list[Problem]) -> tuple[Utterance, Node | None]:
    text = item.need("text").text()
    intent = item.need("intent").text("an intent's name")
    entities = item.get("entities")
    spans = [_span(entity, warnings) for entity in (entities.items() if entities else [])]
    warnings += item.unknown_key_warnings({"text", "intent", "entities", "metadata"})
    return annotate(text, intent, spans), item.get("metadata")


def _span(entity: Node, warnings: list[Problem]) -> CharacterSpan:
    start, end = entity.need("start").integer(), entity.need("end").integer()
    value, role, group = entity.get("value"), entity.get("role"), entity.get("group")
    warnings += entity.unknown_key_warnings({"start", "end", "value", "entity", "role", "group"})
    return CharacterSpan(
        entity.need("entity").text("an entity's name"),
        start,
        end,
        None if value is None else value.text("the entity's value as text"),
        None if role is None else role.text(),
        None if group is None else group.text(),
    )


def _items(data: Node, section: str) -> list[Node]:
    found = data.get(section)
    return found.items() if found else []


def _texts(node: Node, section: str, warnings: list[Problem]) -> list[str]:
    if section == "regex_features":
        return usable_patterns([node], warnings)
    if isinstance(node.value, str):
        node.fail(f"found {node.value!r}, expected a list of values: tables in other files are not read")
    return [child.text() for child in node.items()]
