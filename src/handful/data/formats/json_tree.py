"""JSON as a tree of Nodes: strict, with the line of every value, and no key twice."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from pathlib import Path
from typing import Any, NoReturn

from handful.data.formats.files import read_text
from handful.data.formats.tree import Node, Pointer, Source
from handful.errors import DataError, Place


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
    raise ValueError(name)


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
        # NaN or Infinity, which Python's reader would take, or a number of thousands of digits, which it does not.
        odd = re.search(r"-?\b(NaN|Infinity)\b|\d{1000}", text)
        line = first_line + (text.count("\n", 0, odd.start()) if odd else 0)
        found = odd.group() if odd and len(odd.group()) < 1000 else "a number of over a thousand digits"
        raise DataError.at(Place(path, line), f"not JSON: found {found}") from error


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
