"""Sentences in chunks, each plain text or the words of a slot that holds an entity (Snips, Dialogflow)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from handful.data.formats.annotation import CharacterSpan, annotate, joined
from handful.data.formats.tree import Node
from handful.types import Utterance


@dataclass(frozen=True, slots=True)
class Chunk:
    text: str
    slot: str | None = None
    entity: str | None = None


class SlotEntities:
    """The entity that each slot of an intent holds: one, wherever the slot stands."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, str], str] = {}

    def add(self, node: Node, intent: str, slot: str, entity: str) -> None:
        known = self.found.setdefault((intent, slot), entity)
        if known != entity:
            node.fail(
                f"found the slot '{slot}' with the entity '{entity}', expected '{known}': "
                f"the intent '{intent}' has it so before, and a slot holds one entity"
            )


def read_chunk(node: Node, slot_key: str, entity_key: str) -> Chunk:
    slot, entity = node.get(slot_key), node.get(entity_key)
    if slot is None and entity is None:
        return Chunk(chunk_text(node))
    if slot is None:
        node.fail(f"found '{entity_key}' without '{slot_key}', expected both or neither")
    if entity is None:
        node.fail(f"found '{slot_key}' without '{entity_key}', expected both or neither")
    words = node.need("text").text("the words of the slot")
    return Chunk(words, slot.text("a slot's name"), entity.text("an entity's name"))


def chunk_text(node: Node) -> str:
    """The text of a chunk, which may be a mere space between two slots."""
    found = node.need("text")
    if not isinstance(found.value, str):
        found.expected("text")
    return found.value


def assembled(chunks: Sequence[Chunk], intent: str) -> Utterance:
    text, spans = joined(
        [(chunk.text, None if chunk.slot is None else CharacterSpan(chunk.slot, 0, 0)) for chunk in chunks]
    )
    return annotate(text, intent, spans)
