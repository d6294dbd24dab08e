"""Rasa NLU's YAML, which is our own bot file's format too.

    nlu:
    - intent: book_flight
      examples: |
        - fly to [Boston](city)

Unknown keys are errors here. Sections of a Rasa project that say nothing of language understanding (stories,
responses …) are listed as not used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from handful.data.document import Document
from handful.data.formats.files import write_text
from handful.data.formats.markup import parse_example, write_example
from handful.data.formats.patterns import check_pattern
from handful.data.formats.tree import Node
from handful.data.formats.yaml_tree import read_yaml
from handful.errors import Place, Problem, ProblemLog
from handful.types import Utterance

NAME = "rasa-yaml"

_KINDS = ("intent", "synonym", "regex", "lookup")
# Legal in a Rasa file, of no use to a parser of sentences.
_NOT_NLU = {
    "stories", "rules", "e2e_tests", "intents", "entities", "slots", "responses", "actions", "forms",
    "session_config", "config", "pipeline", "policies", "language", "recipe", "assistant_id",
}  # fmt: skip


@dataclass(slots=True)
class _Draft:
    """A document in the making; `log` has what was wrong on the way."""

    utterances: list[Utterance] = field(default_factory=list)
    synonyms: dict[str, tuple[str, ...]] = field(default_factory=dict)
    lookups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    regexes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    intent_metadata: dict[str, Any] = field(default_factory=dict)
    example_metadata: dict[int, Any] = field(default_factory=dict)
    warnings: list[Problem] = field(default_factory=list)
    log: ProblemLog = field(default_factory=ProblemLog)


def read(path: Path) -> Document:
    documents = read_yaml(path)
    if len(documents) > 1:
        documents[1].fail("found a second YAML document, expected one")
    root, draft = documents[0], _Draft()
    root.mapping("a mapping with the key 'nlu'")
    for child in root.unknown_keys({"version", "nlu"}):
        key = str(child.pointer[-1])
        if key in _NOT_NLU:
            draft.warnings.append(Problem(child.place, f"the section '{key}' is not used"))
        else:
            draft.log.add(child.place, f"found the key '{key}', expected 'version' or 'nlu'")
    if (version := root.get("version")) is not None:
        with draft.log.at(version.place):
            _check_version(version)
    for item in root.need("nlu").items("a list of intents"):
        with draft.log.at(item.place):
            _read_item(item, draft)
    draft.log.raise_if_any()
    if not draft.utterances:
        root.fail("found no examples, expected at least one intent with examples")
    return Document(
        tuple(draft.utterances), draft.synonyms, draft.lookups, draft.regexes, {},
        draft.intent_metadata, draft.example_metadata, tuple(draft.warnings),
    )  # fmt: skip


def _check_version(version: Node) -> None:
    found = version.text('a version such as "3.1"')
    if not re.fullmatch(r"[23](\.\d+)?", found):
        version.fail(f'found version {found!r}, expected "3.1" (2.0 to 3.x can be read)')


def _read_item(item: Node, draft: _Draft) -> None:
    kinds = [kind for kind in _KINDS if kind in item.mapping("an intent with examples")]
    if len(kinds) != 1:
        item.fail(f"found {' and '.join(kinds) or 'none'} of {', '.join(_KINDS)}; expected exactly one")
    kind = kinds[0]
    for child in item.unknown_keys({kind, "examples", "metadata"}):
        draft.log.add(child.place, f"found the key '{child.pointer[-1]}', expected '{kind}', 'examples' or 'metadata'")
    name = item.mapping()[kind].text(f"the name of the {kind}").strip()
    metadata = item.get("metadata")
    examples = list(_examples(item.need("examples"), draft))
    if not examples:
        item.fail(f"the {kind} '{name}' has no examples")
    if kind == "intent":
        if metadata is not None and draft.intent_metadata.setdefault(name, metadata.plain()) != metadata.plain():
            metadata.fail(f"the intent '{name}' has other metadata before; expected one for each intent")
        for example in examples:
            with draft.log.at(example.place):
                utterance = parse_example(example.text, name)
                if example.metadata is not None:
                    draft.example_metadata[len(draft.utterances)] = example.metadata
                draft.utterances.append(utterance)
        return
    if metadata is not None:
        draft.warnings.append(Problem(metadata.place, f"the metadata of the {kind} '{name}' is not used"))
    target = {"synonym": draft.synonyms, "lookup": draft.lookups, "regex": draft.regexes}[kind]
    for example in examples:
        with draft.log.at(example.place):
            if kind == "regex":
                check_pattern(example.text)
            target[name] = (*target.get(name, ()), example.text)


@dataclass(frozen=True, slots=True)
class _Example:
    place: Place
    text: str
    metadata: Any = None


def _examples(node: Node, draft: _Draft) -> Iterator[_Example]:
    """From a block of `- text` lines, or from a list of `- text: …` items."""
    if isinstance(node.value, list):
        for item in node.value:
            with draft.log.at(item.place):
                yield _listed_example(item, draft)
        return
    if node.block == ">":
        node.fail("found a folded block ('>'), which makes one line of many; expected 'examples: |'")
    block = node.text("a block ('examples: |') of lines that start with '- '")
    for offset, line in enumerate(block.split("\n")):
        if not line.strip():
            continue
        line_number = (node.place.line or 0) + (offset + 1 if node.block else 0)
        place = Place(node.source.path, line_number)
        stripped = line.strip()
        if stripped == "-":
            draft.log.add(place, "found an empty example, expected text behind '- '")
        elif not stripped.startswith(("- ", "-\t")):
            draft.log.add(place, f"found {stripped[:60]!r}, expected a line that starts with a dash and a space, '- '")
        else:
            yield _Example(place, stripped[1:].strip())


def _listed_example(item: Node, draft: _Draft) -> _Example:
    if not isinstance(item.value, dict):
        return _Example(item.place, item.text("an example, or a mapping with the key 'text'"))
    for child in item.unknown_keys({"text", "metadata"}):
        draft.log.add(child.place, f"found the key '{child.pointer[-1]}', expected 'text' or 'metadata'")
    node = item.need("text")
    text = node.text()
    if node.block:  # `text: |` ends its last line; a quoted text is taken to the letter
        text = text.strip()
    metadata = item.get("metadata")
    return _Example(node.place, text, None if metadata is None else metadata.plain())


def write(document: Document, path: Path) -> list[str]:
    """Writes the document in its own order; returns what the format cannot hold."""
    lines = ['version: "3.1"', "", "nlu:"]
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
