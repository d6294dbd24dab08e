"""Regular expressions of a bot."""

from __future__ import annotations

import re
from collections.abc import Iterable

from handful.data.formats.tree import Node
from handful.errors import Problem


def check_pattern(pattern: str) -> None:
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from None


def usable_patterns(nodes: Iterable[Node], warnings: list[Problem]) -> list[str]:
    """Foreign exports have dialects of their own: what Python does not read is listed and left out."""
    found = []
    for node in nodes:
        pattern = node.text("a regular expression")
        try:
            check_pattern(pattern)
        except ValueError as error:
            warnings.append(Problem(node.place, f"{error}; it is left out"))
        else:
            found.append(pattern)
    return found
