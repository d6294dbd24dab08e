"""Text files, read strictly and written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from handful.errors import DataError, HandfulError, Place


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, with line ends as \\n. A byte-order mark is dropped; anything odd is refused."""
    try:
        raw = path.read_bytes()
    except IsADirectoryError:
        raise DataError.at(Place(path), "found a folder, expected a file") from None
    except FileNotFoundError:
        raise DataError.at(Place(path), "there is no such file") from None
    except OSError as error:
        raise DataError.at(Place(path), f"cannot be read: {error.strerror}") from error
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError.at(Place(path, 1), "found UTF-16, expected UTF-8: save the file as UTF-8")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # Counted in error.object: the codec has cut the byte-order mark off before it counts.
        line = error.object.count(b"\n", 0, error.start) + 1
        found = error.object[error.start : error.start + 1].hex()
        raise DataError.at(
            Place(path, line), f"found the byte 0x{found}, expected UTF-8: save the file as UTF-8"
        ) from None
    text = text.replace("\r\n", "\n")
    for character, name in (("\0", "a NUL character"), ("\r", "a carriage return inside a line")):
        if character in text:
            line = text.count("\n", 0, text.index(character)) + 1
            raise DataError.at(Place(path, line), f"found {name}, expected plain text with \\n or \\r\\n line ends")
    if not text.strip():
        raise DataError.at(Place(path), "the file is empty")
    return text


def read_lines(path: Path) -> list[str]:
    """Lines without their ends. Only \\n ends a line: a U+2028 inside a sentence must not shift its tags."""
    lines = read_text(path).split("\n")
    while not lines[-1].strip():
        lines.pop()
    return lines


def write_text(path: Path, text: str) -> None:
    """All or nothing: a reader, or a crash, never meets half a file."""
    path = path.resolve()  # what a link points to is written, and stays linked
    if path.exists() and not path.is_file():
        raise HandfulError(f"{path}: found a folder or a device, expected a file or nothing")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).chmod(0o644)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise HandfulError(f"{path}: cannot be written: {error.strerror}") from error
