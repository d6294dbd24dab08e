"""A finding: something odd about a bot, where it stands, and what may be done about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from handful.errors import Place


@dataclass(frozen=True, slots=True)
class Finding:
    place: Place | None  # None: of the whole bot, or in a format that keeps no lines
    message: str
    hint: str = ""

    def __str__(self) -> str:
        told = f"{self.message}; {self.hint}" if self.hint else self.message
        return told if self.place is None else f"{self.place}: {told}"


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """By file and line; those without a place come first."""
    return sorted(findings, key=_file_and_line)


def _file_and_line(finding: Finding) -> tuple[str, int]:
    place = finding.place
    return ("", 0) if place is None else (str(place.path), place.line or 0)


def quoted(text: str, most: int = 80) -> str:
    """An example in quotes, in one line and not too long."""
    line = " ".join(text.split())
    return f"“{line}”" if len(line) <= most else f"“{line[:most]}…”"


def lines_of(places: Sequence[Place | None], beside: Place | None, most: int = 3) -> str:
    """'line 4, line 8 and 2 more', with the file where it is another one; nothing where nothing is known."""
    known = [place for place in places if place is not None and place.line is not None]
    told = [
        f"line {place.line}" if beside is not None and place.path == beside.path else f"{place.path}:{place.line}"
        for place in known
    ]
    extra = f" and {len(told) - most} more" if len(told) > most else ""
    return ", ".join(told[:most]) + extra
