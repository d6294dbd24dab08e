"""Rasa NLU's YAML, written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from handful.data.document import Document
from handful.data.formats.bot_keys import written_keys
from handful.data.formats.files import write_text
from handful.data.formats.markup import write_example


def write(document: Document, path: Path) -> list[str]:
    """Writes the document in its own order; returns what the format cannot hold."""
    lines = ['version: "3.1"', "", *written_keys(document, path.parent), "nlu:"]
    runs: list[tuple[str, list[int]]] = []
    for index, utterance in enumerate(document.utterances):
        if not runs or runs[-1][0] != utterance.intent:
            runs.append((utterance.intent, []))
        runs[-1][1].append(index)
    written: set[str] = set()
    for intent, indices in runs:
        lines.append(f"- intent: {_scalar(intent)}")
        if intent in document.intent_metadata and intent not in written:
            lines += _nested("metadata", document.intent_metadata[intent])
        written.add(intent)
        lines += _written_examples(document, indices)
    for kind, section in (
        ("synonym", document.synonyms),
        ("lookup", document.lookups),
        ("regex", document.regexes),
    ):
        for name, examples in section.items():
            lines.append(f"- {kind}: {_scalar(name)}")
            lines += _examples_block(list(examples))
    write_text(path, "\n".join(lines) + "\n")
    return ["the entity types of slots"] if document.slot_entities else []


def _written_examples(document: Document, indices: list[int]) -> list[str]:
    marked = [write_example(document.utterances[index]) for index in indices]
    if not any(index in document.example_metadata for index in indices):
        return _examples_block(marked)
    lines = ["  examples:"]
    for index, text in zip(indices, marked, strict=True):
        lines.append(f"  - text: {_quoted(text)}")
        if index in document.example_metadata:
            lines += [f"  {line}" for line in _nested("metadata", document.example_metadata[index])]
    return lines


def _examples_block(texts: list[str]) -> list[str]:
    """Plain `- text` lines where each text survives them, quoted list items otherwise."""
    if all(text == text.strip() and text and _fits_a_line(text) for text in texts):
        return ["  examples: |", *(f"    - {text}" for text in texts)]
    return ["  examples:", *(f"  - {_quoted(text)}" for text in texts)]


def _fits_a_line(text: str) -> bool:
    return all(character.isprintable() or character == "\t" for character in text)


def _scalar(name: str) -> str:
    plain = re.fullmatch(r"[A-Za-z_][\w./+-]*", name) and name.lower() not in {"null", "true", "false"}
    return name if plain else _quoted(name)


def _quoted(text: str) -> str:
    # PyYAML's own escapes: JSON's are not all YAML's (a surrogate pair is two characters there).
    return yaml.safe_dump(text, default_style='"', width=float("inf")).rstrip("\n")


def _nested(key: str, value: Any) -> list[str]:
    dumped = yaml.safe_dump({key: value}, allow_unicode=False, sort_keys=False, default_flow_style=False)
    return [f"  {line}" for line in dumped.rstrip("\n").split("\n")]
