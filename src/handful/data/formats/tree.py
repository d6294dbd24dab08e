"""JSON and YAML as one kind of tree whose every value knows its file and line.

Readers ask a Node for what they expect (`mapping`, `items`, `text`, `integer`); a Node that holds something else
raises an error with its place, what was found and what was expected.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import yaml

from handful.data.formats.files import read_text
from handful.errors import DataError, Place, Problem

Pointer = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """The file behind a tree; `line_of` is asked only when an error or warning needs a line."""

    path: Path
    line_of: Callable[[Pointer], int | None]
    show_pointer: bool  # JSON is often one long line, so its errors name the path of the value as well

    def place(self, pointer: Pointer) -> Place:
        shown = "$" + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in pointer)
        return Place(self.path, self.line_of(pointer), shown if self.show_pointer else None)


@dataclass(frozen=True, slots=True)
class Node:
    value: Any  # a scalar, a list of Node or a dict of Node
    source: Source
    pointer: Pointer = ()
    written: str | None = None  # a YAML scalar as it stands in the file: `no` is text, not False
    block: bool = False  # a YAML block scalar: its lines start on the next line of the file

    @property
    def place(self) -> Place:
        return self.source.place(self.pointer)

    def fail(self, message: str) -> NoReturn:
        raise DataError.at(self.place, message)

    def expected(self, what: str) -> NoReturn:
        self.fail(f"found {describe(self.value)}, expected {what}")

    def mapping(self, what: str = "a mapping") -> dict[str, Node]:
        if not isinstance(self.value, dict):
            self.expected(what)
        return self.value

    def items(self, what: str = "a list") -> list[Node]:
        if not isinstance(self.value, list):
            self.expected(what)
        return self.value

    def text(self, what: str = "text") -> str:
        """A string that is not blank. In YAML every scalar but null is text, as written."""
        found = self.written if self.written is not None and self.value is not None else self.value
        if not isinstance(found, str):
            self.expected(what)
        if not found.strip():
            self.fail(f"found empty text, expected {what}")
        return found

    def integer(self, what: str = "a whole number") -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            self.expected(what)
        return self.value

    def get(self, key: str) -> Node | None:
        """The value under a key, or None; a null counts as absent."""
        found = self.mapping().get(key)
        return None if found is None or found.value is None else found

    def need(self, key: str) -> Node:
        found = self.mapping().get(key)
        if found is None:
            self.fail(f"the key '{key}' is missing; found the keys {_keys(self.value)}")
        return found

    def unknown_keys(self, known: set[str]) -> Iterator[Node]:
        return (child for key, child in self.mapping().items() if key not in known)

    def unknown_key_warnings(self, known: set[str]) -> list[Problem]:
        """Foreign exports hold much that is not ours to use: said, not refused."""
        return [
            Problem(child.place, f"the key '{child.pointer[-1]}' is not used") for child in self.unknown_keys(known)
        ]

    def plain(self) -> Any:
        """The value as ordinary Python data (metadata is kept, not understood)."""
        if isinstance(self.value, dict):
            return {key: child.plain() for key, child in self.value.items()}
        if isinstance(self.value, list):
            return [child.plain() for child in self.value]
        return self.value


def describe(value: object) -> str:
    match value:
        case dict():
            return f"a mapping with the keys {_keys(value)}" if value else "an empty mapping"
        case list():
            return f"a list of {len(value)}"
        case None:
            return "nothing"
        case str():
            return f"the text {value[:60]!r}"
        case _:
            return f"{value!r}"


def _keys(value: dict[str, Any]) -> str:
    return ", ".join(f"'{key}'" for key in list(value)[:8]) or "none"


# --- JSON ---------------------------------------------------------------------------------------------------------


class _Object(dict[str, Any]):
    """A JSON object that remembers a key which stood in it twice."""

    repeated: str | None = None


def _object(pairs: list[tuple[str, Any]]) -> _Object:
    found = _Object(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        found.repeated = next(key for i, key in enumerate(keys) if key in keys[:i])
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"found {name}, which is not JSON")


def read_json(path: Path) -> Node:
    text = read_text(path)
    return parse_json(text, path)


def parse_json(text: str, path: Path, first_line: int = 1) -> Node:
    """A tree of the JSON in `text`, which starts at `first_line` of the file."""
    source = Source(path, _JsonLines(text, first_line).line_of, show_pointer=True)
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
        return _json_node(value, source, ())
    except json.JSONDecodeError as error:
        line = first_line - 1 + error.lineno
        raise DataError.at(Place(path, line), f"not JSON: {error.msg} (column {error.colno})") from None
    except RecursionError:
        raise DataError.at(Place(path, first_line), "nested too deeply to be read") from None
    except DataError:
        raise
    except ValueError as error:
        raise DataError.at(Place(path, first_line), f"not JSON: {error}") from None


def _json_node(value: Any, source: Source, pointer: Pointer) -> Node:
    if isinstance(value, _Object):
        if value.repeated is not None:
            raise DataError.at(source.place(pointer), f"the key '{value.repeated}' stands twice in one object")
        value = {key: _json_node(child, source, (*pointer, key)) for key, child in value.items()}
    elif isinstance(value, list):
        value = [_json_node(child, source, (*pointer, i)) for i, child in enumerate(value)]
    return Node(value, source, pointer)


_BLANKS = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


class _JsonLines:
    """The lines of the values in a JSON text.

    The children of a list or object are located together, when the first of them is asked for: readers ask for
    the place of every row, and a walk from the top for each would take minutes on a large export.
    """

    def __init__(self, text: str, first_line: int) -> None:
        self._text = text
        self._first_line = first_line
        self._line_ends = [found.start() for found in re.finditer("\n", text)]
        self._children: dict[Pointer, dict[str | int, int]] = {}

    def line_of(self, pointer: Pointer) -> int:
        position = self._after_blanks(0)
        for depth, step in enumerate(pointer):
            above = pointer[:depth]
            if above not in self._children:
                self._children[above] = self._located(position)
            position = self._children[above][step]
        return self._first_line + bisect_left(self._line_ends, position)

    def _located(self, position: int) -> dict[str | int, int]:
        """Where each child of the list or object at `position` starts."""
        found: dict[str | int, int] = {}
        is_object = self._text[position] == "{"
        position = self._after_blanks(position + 1)
        while self._text[position] not in "]}":
            step: str | int = len(found)
            if is_object:
                step, position = _DECODER.raw_decode(self._text, position)
                position = self._after_blanks(self._after_blanks(position) + 1)  # past the colon
            found.setdefault(step, position)
            _, position = _DECODER.raw_decode(self._text, position)
            position = self._after_blanks(position)
            if self._text[position] == ",":
                position = self._after_blanks(position + 1)
        return found

    def _after_blanks(self, position: int) -> int:
        found = _BLANKS.match(self._text, position)
        return found.end() if found else position


# --- YAML ---------------------------------------------------------------------------------------------------------

_YAML_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "timestamp")}


class _Loader(yaml.SafeLoader):
    """A safe loader that refuses aliases: a small file could otherwise unfold into a huge one."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            raise yaml.composer.ComposerError(
                None, None, "found an alias (*name), expected the text itself", event.start_mark
            )
        return super().compose_node(parent, index)


def read_yaml(path: Path) -> list[Node]:
    """The documents of a YAML file (most have one)."""
    text = read_text(path)
    loader = None
    try:
        loader = _Loader(text)
        found = []
        while loader.check_node():
            lines: dict[Pointer, int] = {}
            source = Source(path, lines.get, show_pointer=False)
            found.append(_yaml_node(loader, loader.get_node(), source, (), lines))
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise DataError.at(
            Place(path, line), f"not YAML: found the character U+{ord(text[error.position]):04X}, which YAML forbids"
        ) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        about = ": ".join(part for part in (error.context, error.problem) if part)
        line = mark.line + 1 if mark else None
        raise DataError.at(Place(path, line), f"not YAML: {about}") from None
    except RecursionError:
        raise DataError.at(Place(path), "nested too deeply to be read") from None
    finally:
        if loader is not None:
            loader.dispose()
    if not found:
        raise DataError.at(Place(path), "the file holds only comments")
    return found


def _yaml_node(
    loader: _Loader, node: yaml.Node | None, source: Source, pointer: Pointer, lines: dict[Pointer, int]
) -> Node:
    if node is None:
        return Node(None, source, pointer)
    lines[pointer] = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        children: dict[str, Node] = {}
        for key_node, value_node in node.value:
            key_line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise DataError.at(Place(source.path, key_line), "found a list or mapping as a key, expected a word")
            key = key_node.value
            if key in children:
                raise DataError.at(Place(source.path, key_line), f"the key '{key}' stands twice in one mapping")
            children[key] = _yaml_node(loader, value_node, source, (*pointer, key), lines)
            lines[*pointer, key] = key_line if not _is_block(value_node) else lines[*pointer, key]
        return Node(children, source, pointer)
    if isinstance(node, yaml.SequenceNode):
        items = [_yaml_node(loader, child, source, (*pointer, i), lines) for i, child in enumerate(node.value)]
        return Node(items, source, pointer)
    if node.tag not in _YAML_TAGS:
        raise DataError.at(source.place(pointer), f"found the YAML tag {node.tag!r}, expected plain text")
    written = str(node.value)
    if node.tag.endswith(":timestamp"):
        return Node(written, source, pointer, written)
    try:
        value = loader.construct_object(node)
    except ValueError:  # for example a number with a stray underscore: what is written is what is meant
        value = written
    return Node(value, source, pointer, written, block=_is_block(node))


def _is_block(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.style in {"|", ">"}
