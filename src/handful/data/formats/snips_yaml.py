"""Snips's YAML: documents of `type: intent` or `type: entity`, one after the other.

    type: intent
    name: book_flight
    slots:
    - name: to
      entity: city
    utterances:
    - fly to [to](Boston) [date:snips/datetime](tomorrow)

The name comes first, in square brackets, and the words in round ones: the other way round than Rasa's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from handful.data.document import Document
from handful.data.formats.chunks import Chunk, SlotEntities, assembled
from handful.data.formats.entity_values import EntityValues
from handful.data.formats.snips_entity import SETTINGS, unused_synonyms, uses_synonyms
from handful.data.formats.tree import Node
from handful.data.formats.yaml_tree import read_yaml
from handful.errors import Problem, ProblemLog
from handful.types import Utterance

NAME = "snips-yaml"

_KINDS = ("intent", "entity")
_NAME_PART = r"\[(?P<name>[^\[\]()\\]*)\]"
_TOKEN = re.compile(
    r"\\(?P<escaped>[\[\]()\\])"
    rf"|{_NAME_PART}\((?P<words>(?:\\[\[\]()\\]|\\(?![\[\]()\\])|[^\[\]()\\])*)\)"
    r"|(?P<stray>[\[\]])"
)
_ESCAPED = re.compile(r"\\([\[\]()\\])")


@dataclass(slots=True)
class _Draft:
    """A document in the making; `log` has what was wrong on the way."""

    utterances: list[Utterance] = field(default_factory=list)
    slot_entities: SlotEntities = field(default_factory=SlotEntities)
    values: EntityValues = field(default_factory=EntityValues)
    warnings: list[Problem] = field(default_factory=list)
    log: ProblemLog = field(default_factory=ProblemLog)


def read(path: Path) -> Document:
    documents = read_yaml(path)
    draft = _Draft()
    seen: dict[tuple[str, str], Node] = {}
    for root in documents:
        with draft.log.at(root.place):
            root.mapping("a mapping with the keys 'type' and 'name'")
            kind, name = root.need("type").text(), root.need("name").text("a name").strip()
            if kind not in _KINDS:
                root.need("type").fail(f"found the type '{kind}', expected 'intent' or 'entity'")
            first = seen.setdefault((kind, name), root)
            if first is not root:
                root.need("name").fail(f"the {kind} '{name}' stands twice, first at {first.need('name').place}")
            if kind == "intent":
                _read_intent(root, name, draft)
            else:
                _read_entity(root, name, draft)
    draft.log.raise_if_any()
    if not draft.utterances:
        documents[0].fail("found no utterances, expected at least one document with 'type: intent'")
    return Document(
        tuple(draft.utterances),
        draft.values.synonyms,
        draft.values.lookups,
        slot_entities=draft.slot_entities.found,
        warnings=tuple(draft.warnings),
    )


def _read_intent(root: Node, name: str, draft: _Draft) -> None:
    draft.warnings += root.unknown_key_warnings({"type", "name", "slots", "utterances"})
    slots = root.get("slots")
    for node in slots.items("a list of slots") if slots else []:
        with draft.log.at(node.place):
            slot, entity = (
                node.need("name").text("a slot's name"),
                node.need("entity").text("an entity's name"),
            )
            draft.slot_entities.add(node, name, slot.strip(), entity.strip())
            draft.warnings += node.unknown_key_warnings({"name", "entity"})
    items = root.need("utterances").items("a list of utterances")
    if not items:
        root.need("utterances").fail(f"the intent '{name}' has no utterances")
    named: list[Chunk] = []
    for item in items:
        with draft.log.at(item.place):
            chunks = _chunks(item.text("an utterance as text (in quotes, if it has a colon)").strip())
            for chunk in chunks:
                if chunk.slot is not None and chunk.entity is not None:
                    draft.slot_entities.add(item, name, chunk.slot, chunk.entity)
            named += [chunk for chunk in chunks if chunk.slot is not None]
            draft.utterances.append(assembled(chunks, name))
    for chunk in named:
        if chunk.slot is not None:  # Snips's own rule: a slot that nobody gives an entity is its own
            if (name, chunk.slot) not in draft.slot_entities.found:
                told = f"the slot '{chunk.slot}' has no entity; it is taken to be '{chunk.slot}' ([slot:entity](words))"
                draft.warnings.append(Problem(root.place, told))
            draft.slot_entities.found.setdefault((name, chunk.slot), chunk.slot)


def _read_entity(root: Node, name: str, draft: _Draft) -> None:
    draft.warnings += root.unknown_key_warnings({"type", "name", "values", *SETTINGS})
    synonyms_count = uses_synonyms(root, draft.warnings)
    values = root.get("values")
    for item in values.items("a list of values") if values else []:
        with draft.log.at(item.place):
            nodes = item.value if isinstance(item.value, list) else [item]
            texts = [node.text("a value, or a list of a value and its synonyms").strip() for node in nodes]
            if not texts:
                item.expected("a value and its synonyms")
            value, *synonyms = texts
            if synonyms and not synonyms_count:
                draft.warnings.append(unused_synonyms(item, value))
            draft.values.add(name, value, synonyms if synonyms_count else ())


def _chunks(marked: str) -> list[Chunk]:
    chunks, reached = [], 0
    for found in _TOKEN.finditer(marked):
        chunks.append(Chunk(marked[reached : found.start()]))
        reached = found.end()
        if found["escaped"]:
            chunks.append(Chunk(found["escaped"]))
        elif found["stray"]:
            raise ValueError(_stray(marked, found.start()))
        else:
            slot, colon, entity = (part.strip() for part in found["name"].partition(":"))
            words = _ESCAPED.sub(r"\1", found["words"])
            if not slot or (colon and not entity) or not words.strip():
                raise ValueError(f"found '{found[0]}' in '{marked}', expected [slot:entity](words) or [slot](words)")
            chunks.append(Chunk(words, slot, entity or None))
    return [*chunks, Chunk(marked[reached:])]


def _stray(marked: str, position: int) -> str:
    """What is wrong with the bracket at `position`, which opens or closes no annotation."""
    rest = marked[position:]
    name = re.match(_NAME_PART, rest)
    following = re.search(r"[\[\]]", rest[1:])
    if rest[0] == "]":
        wrong = "a ']' without its '['"
    elif name and not rest[name.end() :].startswith("("):
        wrong = f"'{name[0]}' without its words in round brackets"
    elif name:
        wrong = f"'{name[0]}(' without its ')', or with a bracket among its words"
    elif following is None:
        wrong = "a '[' without its ']'"
    elif following[0] == "[":
        wrong = "a '[' inside another"
    else:
        wrong = "a name in square brackets that holds round ones"
    return (
        f"found {wrong} at character {position + 1} of '{marked}', expected [slot:entity](words); "
        "a bracket that is plain text is escaped as \\[ (in double quotes \\\\[)"
    )
