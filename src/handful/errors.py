"""What a person may see when something is wrong. Anything else that escapes is a bug of ours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SHOWN_PROBLEMS = 20


class HandfulError(Exception):
    """The base of every error that is told in words, without a traceback."""


class ConfigError(HandfulError):
    """A setting, a name or an argument that cannot be."""


class CheckpointError(HandfulError):
    """Weights that are missing, damaged or not the ones they claim to be."""


class TrainingError(HandfulError):
    """A run that cannot go on."""


class DownloadError(HandfulError):
    """A data set that could not be fetched whole."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a file: a line, and in JSON the path of the value as well."""

    path: Path
    line: int | None = None
    pointer: str | None = None

    def __str__(self) -> str:
        shown = str(self.path) if self.line is None else f"{self.path}:{self.line}"
        return shown if self.pointer is None else f"{shown}: {self.pointer}"


@dataclass(frozen=True, slots=True)
class Problem:
    place: Place
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


class DataError(HandfulError):
    """Everything that is wrong with a file, each with its place."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        if not problems:
            raise ValueError("a DataError needs at least one problem")
        super().__init__(problems)
        self.problems = tuple(problems)

    @classmethod
    def at(cls, place: Place, message: str) -> DataError:
        return cls([Problem(place, message)])

    def __str__(self) -> str:
        lines = [str(problem) for problem in self.problems[:SHOWN_PROBLEMS]]
        hidden = len(self.problems) - len(lines)
        if hidden:
            lines.append(f"… and {hidden} more")
        return "\n".join(lines)


class ProblemLog:
    """Gathers the problems of many rows, so that a person mends a file once and not row by row."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []

    @contextmanager
    def at(self, place: Place) -> Iterator[None]:
        """A ValueError raised inside is a problem of `place`; a DataError keeps its own places."""
        try:
            yield
        except DataError as error:
            self._problems.extend(error.problems)
        except ValueError as error:
            self._problems.append(Problem(place, str(error)))

    def add(self, place: Place, message: str) -> None:
        self._problems.append(Problem(place, message))

    def raise_if_any(self) -> None:
        if self._problems:
            raise DataError(self._problems)


def listed(names: Iterable[object], limit: int = 8) -> str:
    """'a', 'b' and 3 more: names for an error message, never a wall of them."""
    shown = [f"'{name}'" for name in names]
    extra = len(shown) - limit
    if extra > 0:
        return f"{', '.join(shown[:limit])} and {extra} more"
    return ", ".join(shown)
