"""Files out of a zip that is not trusted: by base name, up to a size, with the right sum."""

from __future__ import annotations

import hashlib
import lzma
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from handful.data.sources import DataFile

# All that zipfile raises on damaged, encrypted or exotic archives.
_DAMAGE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError, ValueError)


class ArchiveError(Exception):
    """The archive is damaged, or is not the one the sums were taken from."""


def members(archive: Path, files: Sequence[DataFile], largest: int) -> dict[DataFile, bytes]:
    """The content of each of `files`; the paths inside the archive are never used for writing."""
    try:
        with zipfile.ZipFile(archive) as opened:
            return {file: _member(opened, file, largest) for file in files}
    except _DAMAGE as error:
        raise ArchiveError(f"the zip is damaged: {error}") from error


def _member(opened: zipfile.ZipFile, file: DataFile, largest: int) -> bytes:
    # Zips often carry the same base name in several folders: the sum tells which one is meant.
    same_name = [info for info in opened.infolist() if PurePosixPath(info.filename).name == file.name]
    complaint = f"the zip has no member named {file.name}"
    for info in same_name:
        if info.file_size > largest:
            complaint = f"{file.name} in the zip is larger than {largest} bytes"
            continue
        with opened.open(info) as member:
            # The size in the header may lie: a bounded read keeps a zip bomb out of memory.
            content = member.read(largest + 1)
        found = hashlib.sha256(content).hexdigest()
        if found == file.sha256:
            return content
        complaint = f"{file.name} in the zip has sha256 {found}, expected {file.sha256}"
    raise ArchiveError(complaint)
