"""JSON and YAML as one kind of tree whose every value knows its file and line (json_tree, yaml_tree make it).

Readers ask a Node for what they expect (`mapping`, `items`, `text`, `integer`); a Node that holds something else
raises an error with its place, what was found and what was expected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

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
    block: str = ""  # "|" or ">" for a YAML block scalar, whose lines start on the next line of the file

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
        if any("\ud800" <= character <= "\udfff" for character in found):
            self.fail(f"found half a character (a lone surrogate) in {found!r}, expected whole ones")
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

    def plain(self, deepest: int = 50) -> Any:
        """The value as ordinary Python data (metadata is kept, not understood)."""
        if deepest == 0:
            self.fail("nested too deeply to be kept")
        if isinstance(self.value, dict):
            return {key: child.plain(deepest - 1) for key, child in self.value.items()}
        if isinstance(self.value, list):
            return [child.plain(deepest - 1) for child in self.value]
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
