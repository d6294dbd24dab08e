"""Arrays in a file that many processes read and write at once.

    file    = title, padded with zeros to 64 bytes | record | record | …
    record  = header (64 bytes) | shape (a u64 each dimension) | float32s in C order | zeros up to 64 bytes
    header  = magic | key (sha256 of the words) | length of shape and floats | dimensions | crc of them | crc of header

Records are only ever added at the end, by one process at a time (a lock file sees to it); a last record that a killed
writer left half done is written over in place. The file never shrinks, as a process that touches a mapped page past a
file's end dies; a file that is full, or not ours, gives way to a new one under the same name, and those who have
mapped the old one keep it until they look again. Nothing is believed without its checksum, every time it is read.
"""

from __future__ import annotations

import errno
import hashlib
import math
import mmap
import os
import stat
import struct
import sys
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from handful.encoders.encoding import Array
from handful.types import Words

FORMAT = 1
_BLOCK = 64
_MAGIC = b"\x93hndfl\r\n"
_FIELDS = struct.Struct("<8s32sQII")
_OWN_CRC = struct.Struct("<I4x")
_LOCK_SECONDS = 10.0


class _Header(NamedTuple):
    key: bytes
    length: int
    dimensions: int
    crc: int


def key_of(words: Words) -> bytes:
    """The lengths go first, so that ("a b",) and ("a", "b") differ, whatever characters a word has."""
    text = ",".join([str(len(word)) for word in words]) + ";" + "".join(words)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def frozen(content: bytes, shape: tuple[int, ...], offset: int = 0) -> Array:
    """An array upon bytes: not even setflags makes it writable."""
    return np.ndarray(shape, np.float32, buffer=content, offset=offset)


class ArrayFile:
    """The arrays of one name. Raises OSError or ValueError where the disk, not the content, is at fault."""

    def __init__(self, folder: Path, name: str, *, limit: int) -> None:
        title = f"handful arrays, format {FORMAT}, {sys.byteorder}-endian float32\n{name}\n"
        encoded = title.encode("utf-8", "surrogatepass")
        self._title = encoded + bytes(-len(encoded) % _BLOCK)
        self.path = folder / f"{hashlib.sha256(self._title).hexdigest()[:32]}.arrays"
        self._limit = limit
        # mmap keeps its own descriptor and closes it when it goes: nothing else to close, or to forget to.
        self._map: mmap.mmap | None = None
        self._identity = (0, 0)  # device and inode; the map holds the inode, so its number cannot be used again
        self._index: dict[bytes, int] = {}  # key -> where its newest record starts
        self._end = 0  # of the last whole record that is known: where to look for more
        self._tail = 0  # where the next record is to start

    def read(self, keys: Iterable[bytes]) -> dict[bytes, Array]:
        """Those of the keys that the file has, whole."""
        self._refresh()
        found: dict[bytes, Array] = {}
        for key in keys:
            start = self._index.get(key)
            if start is None or self._map is None:
                continue
            array = _array_at(self._map, start, key)
            if array is None:
                del self._index[key]  # damaged: to be computed and added again
            else:
                found[key] = array
        return found

    def append(self, arrays: Mapping[bytes, Array]) -> None:
        """Adds what no other process has added meanwhile; an array that can never fit is left out."""
        records = {key: _record(key, array) for key, array in arrays.items()}
        records = {key: record for key, record in records.items() if len(self._title) + len(record) <= self._limit}
        if not records:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with _exclusively(self.path.with_suffix(".lock")):
            self._refresh()
            new = [record for key, record in records.items() if key not in self._index]
            if not new:
                return
            if self._map is None or max(len(self._map), self._tail + sum(map(len, new))) > self._limit:
                self._start_anew()
                new = list(records.values())
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)
            try:
                position = self._tail
                for record in new:
                    if position + len(record) <= self._limit:
                        _write(descriptor, record, position)
                        position += len(record)
            finally:
                os.close(descriptor)

    def close(self) -> None:
        if self._map is not None:
            self._map.close()
        self._map = None
        self._index.clear()
        self._end = 0

    def _refresh(self) -> None:
        """Looks at what others have done: a new file under the name, or new records in the same one."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            self.close()
            return
        self._let_go_unless(status)
        grown = self._map is None or len(self._map) != status.st_size
        # Not opened before it is known to be a file: to open a pipe is to wait for its other end.
        if grown and stat.S_ISREG(status.st_mode):
            self._map_file()
        if self._map is None:
            return
        if self._map[: len(self._title)] != self._title:
            self.close()  # damaged or foreign: as good as no file, and the next append replaces it
            return
        self._end = max(self._end, len(self._title))
        self._scan(self._map)

    def _let_go_unless(self, status: os.stat_result) -> None:
        """Forgets a file that is no longer the one under the name, or that someone else cut: its map has no ground."""
        same = (status.st_dev, status.st_ino) == self._identity
        if self._map is not None and not (same and status.st_size >= len(self._map)):
            self.close()

    def _map_file(self) -> None:
        descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            status = os.fstat(descriptor)
            self._let_go_unless(status)
            if status.st_size < len(self._title):
                return
            fresh = mmap.mmap(descriptor, status.st_size, access=mmap.ACCESS_READ)
        finally:
            os.close(descriptor)
        if self._map is not None:
            self._map.close()
        self._map, self._identity = fresh, (status.st_dev, status.st_ino)

    def _scan(self, content: mmap.mmap) -> None:
        """Learns the records past the last known one. Where a header is damaged, it goes on at the next good one."""
        position, size = self._end, len(content)
        while position + _BLOCK <= size:
            header = _header_at(content, position)
            if header is None:
                position = _next_magic(content, position + 1)
                continue
            end = position + _padded(_BLOCK + header.length)
            if end > size:  # being written just now, or never finished; whoever holds the lock knows which
                break
            self._index[header.key] = position
            position = self._end = end
        # A record that was begun is written over, be it but a part of its header: a hole of zeros would complete it.
        # What is no record at all stays: another process may know, from before the damage, what it was.
        self._tail = _padded(position)

    def _start_anew(self) -> None:
        """An empty file in the place of the old one. Only under the lock, so that one name for the draft will do."""
        draft = self.path.with_suffix(".new")
        draft.write_bytes(self._title)
        draft.replace(self.path)
        self._refresh()


@contextmanager
def _exclusively(lock: Path) -> Iterator[None]:
    """One process at a time. The lock goes with the process, however it ends, so the lock file may stay.

    Whoever holds it writes for a moment; one that is suspended meanwhile must not hold up the others for ever.
    """
    import fcntl  # not on every platform; the store asks before it gets here

    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        deadline = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise TimeoutError(
                        errno.ETIMEDOUT, f"another process has held {lock.name} for {_LOCK_SECONDS:.0f} s"
                    ) from None
                time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)


def _padded(length: int) -> int:
    return length + -length % _BLOCK


def _record(key: bytes, array: Array) -> bytes:
    body = struct.pack(f"<{array.ndim}Q", *array.shape) + array.tobytes()
    fields = _FIELDS.pack(_MAGIC, key, len(body), array.ndim, zlib.crc32(body))
    header = fields + _OWN_CRC.pack(zlib.crc32(fields))
    return header + body + bytes(-len(body) % _BLOCK)


def _header_at(content: mmap.mmap, position: int) -> _Header | None:
    magic, key, length, dimensions, crc = _FIELDS.unpack_from(content, position)
    (own,) = _OWN_CRC.unpack_from(content, position + _FIELDS.size)
    if magic != _MAGIC or own != zlib.crc32(content[position : position + _FIELDS.size]):
        return None
    return _Header(key, length, dimensions, crc)


def _array_at(content: mmap.mmap, position: int, key: bytes) -> Array | None:
    """A copy, and the copy is what is verified: whatever becomes of the file, what was handed out stays right."""
    header = _header_at(content, position)
    if header is None or header.key != key or position + _BLOCK + header.length > len(content):
        return None
    body = content[position + _BLOCK : position + _BLOCK + header.length]
    if zlib.crc32(body) != header.crc or 8 * header.dimensions > len(body):
        return None
    shape = struct.unpack_from(f"<{header.dimensions}Q", body)
    if 8 * header.dimensions + 4 * math.prod(shape) != len(body):
        return None
    return frozen(body, shape, 8 * header.dimensions)


def _next_magic(content: mmap.mmap, position: int) -> int:
    """Where the next record may start; the content's end when nowhere."""
    while (position := content.find(_MAGIC, position)) >= 0:
        if position % _BLOCK == 0:
            return position
        position += 1
    return len(content)


def _write(descriptor: int, content: bytes, position: int) -> None:
    rest = memoryview(content)
    while rest:
        written = os.pwrite(descriptor, rest, position)
        rest, position = rest[written:], position + written
