"""JSON lines: `{"tokens": [...], "slots": ["O", "B-x"], "intent": "..."}`, an utterance a line.

`text` may stand beside the tokens where it is not the tokens joined by spaces.
"""

from __future__ import annotations

import json
from pathlib import Path

from handful.data.bio import tags_of
from handful.data.document import Document
from handful.data.formats.files import read_lines, write_text
from handful.data.formats.json_tree import parse_json
from handful.data.formats.tagged import not_written, tagged_utterance
from handful.data.formats.tree import Node
from handful.errors import Place, Problem, ProblemLog
from handful.types import Slot, Utterance, Word

NAME = "jsonl"
_KEYS = {"tokens", "slots", "intent", "text", "id"}


def read(path: Path, *, repair: bool = False) -> Document:
    log, repaired, warnings = ProblemLog(), [] if repair else None, []
    utterances: list[Utterance] = []
    ids: dict[str, int] = {}
    for number, line in enumerate(read_lines(path), 1):
        place = Place(path, number)
        with log.at(place):
            if not line.strip():
                raise ValueError("found an empty line, expected one JSON object a line")
            row = parse_json(line, path, number)
            _refuse_repeated_id(row, ids, number)
            warnings += row.unknown_key_warnings(_KEYS)
            utterances.append(_utterance(row, place, repaired))
    log.raise_if_any()
    return Document(tuple(utterances), warnings=(*warnings, *(repaired or ())))


def _utterance(row: Node, place: Place, repaired: list[Problem] | None) -> Utterance:
    words = [word.text("a word") for word in row.need("tokens").items("a list of words")]
    tags = [tag.text("a tag") for tag in row.need("slots").items("a list of tags")]
    intent = row.need("intent").text("an intent's name")
    utterance = tagged_utterance(words, tags, intent, places=[place], repaired=repaired)
    text = row.get("text")
    return utterance if text is None else with_text(utterance, text.text())


def with_text(utterance: Utterance, text: str) -> Utterance:
    """The same utterance over its original text, in which its words must stand in their order."""
    placed, reached = [], 0
    for word in utterance.words:
        start = text.find(word.text, reached)
        if start < 0 or text[reached:start].strip():
            raise ValueError(f"the word {word.text!r} does not follow in the text {text!r}")
        reached = start + len(word.text)
        placed.append(Word(word.text, start, reached))
    if text[reached:].strip():
        raise ValueError(f"the text {text!r} goes on after its last word {placed[-1].text!r}")
    return Utterance(text, tuple(placed), utterance.intent, utterance.slots)


def _refuse_repeated_id(row: Node, seen: dict[str, int], number: int) -> None:
    found = row.get("id")
    if found is None:
        return
    identity = str(found.value)
    if identity in seen:
        found.fail(f"the id {identity!r} was used in line {seen[identity]}")
    seen[identity] = number


def write(document: Document, path: Path) -> list[str]:
    lines = []
    for utterance in document.utterances:
        bare = [Slot(slot.label, slot.start, slot.end) for slot in utterance.slots]
        row: dict[str, object] = {
            "tokens": list(utterance.sentence),
            "slots": list(tags_of(bare, len(utterance.words))),
            "intent": utterance.intent,
        }
        if utterance.text != " ".join(utterance.sentence):
            row["text"] = utterance.text
        lines.append(json.dumps(row, ensure_ascii=False))
    write_text(path, "\n".join(lines) + "\n")
    return not_written(document, text=False)
