"""Rasa NLU's YAML, which is our own bot file's format too.

    nlu:
    - intent: book_flight
      examples: |
        - fly to [Boston](city)

Beside Rasa's keys there are a few of our own (bot_keys.py). Unknown keys are errors here. Sections of a Rasa project
that say nothing of language understanding (stories, responses …) are listed as not used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handful.data.document import Document, Reading
from handful.data.formats.bot_keys import (
    KEYS,
    check_schema,
    included_file,
    read_descriptions,
    read_settings,
    tell_unknown_descriptions,
)
from handful.data.formats.markup import parse_example
from handful.data.formats.patterns import check_pattern
from handful.data.formats.rasa_draft import Draft, problems_of
from handful.data.formats.rasa_yaml_writing import write
from handful.data.formats.tree import Node
from handful.data.formats.yaml_tree import read_yaml
from handful.data.near_names import suggestion
from handful.errors import DataError, Place, Problem

__all__ = ["NAME", "attempt", "read", "write"]

NAME = "rasa-yaml"

_TOP_KEYS = ("version", "nlu", *KEYS)
_KINDS = ("intent", "synonym", "regex", "lookup")
# Legal in a Rasa file, of no use to a parser of sentences.
_NOT_NLU = {
    "stories", "rules", "e2e_tests", "intents", "entities", "slots", "responses", "actions", "forms",
    "session_config", "config", "pipeline", "policies", "language", "recipe", "assistant_id",
}  # fmt: skip


def read(path: Path, *, includes: bool = True) -> Document:
    """`includes=False` refuses to read other files: right for a bot that came from somebody else."""
    reading = attempt(path, includes=includes)
    if reading.problems or reading.document is None:
        raise DataError(reading.problems)
    return reading.document


def attempt(path: Path, *, includes: bool = True) -> Reading:
    """What is whole in the file and in those that it includes, and everything that is wrong with them."""
    draft = Draft(may_include=includes)
    with draft.example_log.at(Place(path)):
        root = _read_file(path, draft)
        lost = problems_of(draft.example_log)
        if not lost:
            tell_unknown_descriptions(draft)
        if not lost and not draft.utterances:
            root.fail("found no examples, expected at least one intent with examples")
    problems = problems_of(draft.key_log) + problems_of(draft.example_log)
    return Reading(draft.document() if draft.utterances else None, problems)


def _read_file(path: Path, draft: Draft) -> Node:
    documents = read_yaml(path)
    if len(documents) > 1:
        documents[1].fail("found a second YAML document, expected one")
    root = documents[0]
    root.mapping("a mapping with the key 'nlu'")
    if (schema := root.get("handful")) is not None:
        check_schema(schema)  # first: a newer schema may have keys that would look wrong
    included = bool(draft.open_files)
    _tell_unused(root, draft)
    if (version := root.get("version")) is not None:
        with draft.key_log.at(version.place):
            _check_version(version)
    if (include := root.get("include")) is not None:
        with draft.example_log.at(include.place):
            _read_included(include, draft)
    if (descriptions := root.get("descriptions")) is not None:
        with draft.key_log.at(descriptions.place):
            read_descriptions(descriptions, draft)
    if (settings := root.get("settings")) is not None:
        with draft.key_log.at(settings.place):
            read_settings(settings, draft, included=included)
    # A file may do nothing but gather others, and one that is included may do nothing but describe.
    if "nlu" in root.mapping() or (include is None and not (included and descriptions is not None)):
        for item in root.need("nlu").items("a list of intents"):
            with draft.example_log.at(item.place):
                _read_item(item, draft)
    return root


def _read_included(include: Node, draft: Draft) -> None:
    items = include.items("a list of files, such as '- cities.yml'")
    draft.open_files.append(include.source.path.resolve())
    for item in items:
        with draft.example_log.at(item.place):
            _read_file(included_file(item, draft), draft)
    draft.open_files.pop()


def _tell_unused(root: Node, draft: Draft) -> None:
    for child in root.unknown_keys(set(_TOP_KEYS)):
        key = str(child.pointer[-1])
        if key in _NOT_NLU:
            draft.warnings.append(Problem(child.place, f"the section '{key}' is not used"))
        else:
            draft.key_log.add(child.place, f"found the key '{key}', which is unknown{suggestion(key, _TOP_KEYS)}")


def _check_version(version: Node) -> None:
    found = version.text('a version such as "3.1"')
    if not re.fullmatch(r"[23](\.\d+)?", found):
        version.fail(f'found version {found!r}, expected "3.1" (2.0 to 3.x can be read)')


def _read_item(item: Node, draft: Draft) -> None:
    kinds = [kind for kind in _KINDS if kind in item.mapping("an intent with examples")]
    if len(kinds) != 1:
        item.fail(f"found {' and '.join(kinds) or 'none'} of {', '.join(_KINDS)}; expected exactly one")
    kind = kinds[0]
    for child in item.unknown_keys({kind, "examples", "metadata"}):
        told = f"found the key '{child.pointer[-1]}', expected '{kind}', 'examples' or 'metadata'"
        draft.example_log.add(child.place, told)
    name = item.mapping()[kind].text(f"the name of the {kind}").strip()
    draft.named_places.setdefault((kind, name), item.place)
    metadata = item.get("metadata")
    examples = list(_examples(item.need("examples"), draft))
    if not examples:
        item.fail(f"the {kind} '{name}' has no examples")
    if kind == "intent":
        if metadata is not None and draft.intent_metadata.setdefault(name, metadata.plain()) != metadata.plain():
            metadata.fail(f"the intent '{name}' has other metadata before; expected one for each intent")
        for example in examples:
            with draft.example_log.at(example.place):
                utterance = parse_example(example.text, name)
                if example.metadata is not None:
                    draft.example_metadata[len(draft.utterances)] = example.metadata
                draft.utterances.append(utterance)
                draft.places.append(example.place)
        return
    if metadata is not None:
        draft.warnings.append(Problem(metadata.place, f"the metadata of the {kind} '{name}' is not used"))
    target = {"synonym": draft.synonyms, "lookup": draft.lookups, "regex": draft.regexes}[kind]
    for example in examples:
        with draft.example_log.at(example.place):
            if kind == "regex":
                check_pattern(example.text)
            target[name] = (*target.get(name, ()), example.text)


@dataclass(frozen=True, slots=True)
class _Example:
    place: Place
    text: str
    metadata: Any = None


def _examples(node: Node, draft: Draft) -> Iterator[_Example]:
    """From a block of `- text` lines, or from a list of `- text: …` items."""
    if isinstance(node.value, list):
        for item in node.value:
            with draft.example_log.at(item.place):
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
            draft.example_log.add(place, "found an empty example, expected text behind '- '")
        elif not stripped.startswith(("- ", "-\t")):
            draft.example_log.add(
                place, f"found {stripped[:60]!r}, expected a line that starts with a dash and a space, '- '"
            )
        else:
            yield _Example(place, stripped[1:].strip())


def _listed_example(item: Node, draft: Draft) -> _Example:
    if not isinstance(item.value, dict):
        return _Example(item.place, item.text("an example, or a mapping with the key 'text'"))
    for child in item.unknown_keys({"text", "metadata"}):
        draft.example_log.add(child.place, f"found the key '{child.pointer[-1]}', expected 'text' or 'metadata'")
    node = item.need("text")
    text = node.text()
    if node.block:  # `text: |` ends its last line; a quoted text is taken to the letter
        text = text.strip()
    metadata = item.get("metadata")
    return _Example(node.place, text, None if metadata is None else metadata.plain())
