"""What an encoder's frozen layers give is computed once for an utterance, and kept: in memory, then in a file."""

from __future__ import annotations

import importlib.util
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from handful.encoders.encoding import Array
from handful.encoders.store_file import ArrayFile, frozen, key_of
from handful.types import Words

Compute = Callable[[Sequence[Words]], list[Array]]


class ArrayStore:
    """One array a sentence, from memory, from the file or computed. For one thread; the file is for many processes.

    `name` says all that the arrays depend on besides the words: encoder, weights, layers. The file is a cache: what is
    wrong with its content is computed again, and what is wrong with the disk is warned of, once.
    """

    def __init__(
        self, name: str, *, memory_bytes: int = 1 << 30, folder: Path | None = None, file_bytes: int = 4 << 30
    ) -> None:
        if memory_bytes < 0 or file_bytes < 0:
            raise ValueError(f"found limits of {memory_bytes} and {file_bytes} bytes, expected none below 0")
        self._limit = memory_bytes
        self._kept: OrderedDict[Words, Array] = OrderedDict()
        self._size = 0
        self._file = None if folder is None else ArrayFile(folder, name, limit=file_bytes)
        self._warned = False
        self._reading = self._writing = self._file is not None
        if folder is not None:
            self._prepare(folder)

    def get(self, sentences: Sequence[Words], compute: Compute) -> list[Array]:
        """One read-only array a sentence, in order; `compute` is called at most once, with what is nowhere yet."""
        remembered = [self._kept.get(words) for words in sentences]
        lacking = dict.fromkeys(
            words for words, array in zip(sentences, remembered, strict=True) if array is None
        )  # a dict, as a set that keeps the order
        fresh = self._fetch(list(lacking), compute) if lacking else {}
        found = [fresh[words] if array is None else array for words, array in zip(sentences, remembered, strict=True)]
        self._remember(sentences, found)
        return found

    def close(self) -> None:
        """Lets go of memory and file. A store that is used again opens its file again."""
        self._kept.clear()
        self._size = 0
        if self._file is not None:
            self._file.close()

    def _fetch(self, sentences: list[Words], compute: Compute) -> dict[Words, Array]:
        keys = {words: key_of(words) for words in sentences} if self._reading or self._writing else {}
        stored = self._read(list(keys.values()))
        found = {words: stored[key] for words, key in keys.items() if key in stored}
        missing = [words for words in sentences if words not in found]
        if missing:
            # Copied: an array may be a view of a whole batch, or be written to later by the one who made it.
            computed = {
                words: frozen(np.asarray(array, np.float32).tobytes(), array.shape)
                for words, array in zip(missing, compute(missing), strict=True)
            }
            self._write({keys[words]: array for words, array in computed.items() if words in keys})
            found |= computed
        return found

    def _remember(self, sentences: Sequence[Words], arrays: Sequence[Array]) -> None:
        for words, array in zip(sentences, arrays, strict=True):
            if words in self._kept:
                self._kept.move_to_end(words)
            elif array.nbytes <= self._limit:
                self._kept[words] = array
                self._size += array.nbytes
        while self._size > self._limit:
            _, dropped = self._kept.popitem(last=False)
            self._size -= dropped.nbytes

    def _prepare(self, folder: Path) -> None:
        if importlib.util.find_spec("fcntl") is None:
            self._reading = self._writing = False
            self._warn("this platform has no file locks (fcntl)")
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self._reading = self._writing = False
            self._warn(error)

    def _read(self, keys: list[bytes]) -> dict[bytes, Array]:
        if self._file is None or not self._reading:
            return {}
        try:
            return self._file.read(keys)
        # ValueError: what mmap raises for a file that is cut while it is being opened.
        except (OSError, ValueError) as error:
            self._reading = self._writing = False
            self._file.close()
            self._warn(error)
            return {}

    def _write(self, arrays: dict[bytes, Array]) -> None:
        if self._file is None or not self._writing:
            return
        try:
            self._file.append(arrays)
        except (OSError, ValueError) as error:
            self._writing = False  # what is in the file can still be read: a filled cache on a read-only disk
            self._warn(error)

    def _warn(self, reason: object) -> None:
        if self._file is not None and not self._warned:
            self._warned = True
            what = reason.strerror if isinstance(reason, OSError) and reason.strerror else reason
            warnings.warn(
                f"{self._file.path}: what is computed is kept in memory only, not in this file: {what}", stacklevel=4
            )
