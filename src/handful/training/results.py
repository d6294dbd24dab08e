"""Lists of results: a JSON file of records, one for each thing that was measured."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from handful.data.formats.files import read_text, write_text
from handful.errors import DataError, HandfulError, Place

# What two records must share to be the same measurement; the later one then takes the earlier one's place.
_IDENTITY = (
    "row",
    "encoder",
    "mode",
    "train_corpus",
    "corpus",
    "split",
    "u_max",
    "train_u_max",
    "train_seed",
    "episode_seed",
    "episodes",
    "query_cap",
    "decoding",
    "config",
)


def read_records(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    try:
        content = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise DataError.at(Place(path), f"not JSON: {error}") from None
    if not isinstance(content, list) or not all(isinstance(record, dict) for record in content):
        raise DataError.at(Place(path), "found something else, expected a list of results")
    return content


def file_record(record: Mapping[str, Any], path: Path) -> None:
    """One record a line, in the order of their names: a diff shows what was measured anew."""
    with alone_in(path.parent):
        kept = [old for old in read_records(path) if identity(old) != identity(record)]
        lines = sorted([*kept, dict(record)], key=identity)
        body = ",\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
        write_text(path, f"[\n{body}\n]\n")


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Two evaluations may end at once, and neither may drop the other's record."""
    try:
        import fcntl
    except ImportError:  # Windows has no such lock
        yield
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise HandfulError(f"{folder}: cannot be written: {error.strerror}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def identity(record: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(record.get(key)) for key in _IDENTITY)
