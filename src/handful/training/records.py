"""JSON files of ours, read with their faults told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from handful.errors import CheckpointError

_Record = TypeVar("_Record", bound=BaseModel)


def read_record(file: Path, kind: type[_Record], newest: int) -> _Record:
    """A JSON file of ours; a file that is not there is the caller's to explain."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{file}: cannot be read: {error}") from error
    found = content.get("format") if isinstance(content, dict) else None
    if isinstance(found, int) and found > newest:
        raise CheckpointError(
            f"{file}: format {found} is newer than {newest}, the newest that this version reads; upgrade"
        )
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise CheckpointError(f"{file}: {place}: {first['msg'].lower()}; the file is damaged or not ours") from None


def read_events(file: Path) -> list[dict[str, Any]]:
    """A run's log, one event a line; a last line that was cut off in the writing is not there yet."""
    found = []
    lines = file.read_bytes().split(b"\n") if file.exists() else [b""]
    for number, line in enumerate(lines[:-1], 1):
        try:
            found.append(json.loads(line))
        except ValueError as error:  # or not UTF-8
            raise CheckpointError(f"{file}, line {number}: not JSON: {error}") from None
    return found
