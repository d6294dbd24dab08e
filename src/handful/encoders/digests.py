"""Sums of large files, computed once: a note of size and time spares the next start half a second."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from handful.errors import CheckpointError
from handful.places import cache_dir


def sha256_once(file: Path) -> str:
    """The sha256 of a file; a note remembers it for as long as size and time of the file stay the same."""
    try:
        status = file.stat()
    except OSError as error:
        raise CheckpointError(f"{file}: cannot be read: {error.strerror}") from error
    seen = {"size": status.st_size, "time": status.st_mtime_ns}
    note = cache_dir() / "sums" / f"{hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:16]}.json"
    try:
        known = json.loads(note.read_text(encoding="utf-8"))
        if {"size": known["size"], "time": known["time"]} == seen and len(known["sha256"]) == 64:
            return known["sha256"]
    except (OSError, ValueError, KeyError, TypeError):
        pass  # no note, or a damaged one: look at the file itself
    found = sha256_of(file)
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        temporary = note.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps({**seen, "sha256": found}), encoding="utf-8")
        temporary.replace(note)
    except OSError:
        pass  # a read-only home costs half a second a start, nothing else
    return found


def sha256_of(file: Path) -> str:
    try:
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise CheckpointError(f"{file}: cannot be read: {error.strerror}") from error
