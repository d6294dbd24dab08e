"""What the tests of the store share; run as a script, a process that uses a store, beside others or to be killed."""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from handful.encoders.encoding import Array
from handful.encoders.store import ArrayStore
from handful.types import Words

SHAPES = [(7,), (0,), (3, 5), (2, 3, 4), (40, 16), (0, 8), (1,), ()]
NAME = "an encoder"


class NotStoredError(Exception):
    pass


def array_of(words: Words) -> Array:
    """What the words stand for: always the same, and for other words another."""
    seed = zlib.crc32(repr(words).encode())
    shape = (64, 1024) if words[:1] == ("large",) else SHAPES[seed % len(SHAPES)]
    size = int(np.prod(shape, dtype=int))
    return np.array(np.arange(size) % 1024 + seed % 100_000, np.float32).reshape(shape)


def arrays_of(sentences: Sequence[Words]) -> list[Array]:
    return [array_of(words) for words in sentences]


def refuse(sentences: Sequence[Words]) -> list[Array]:
    raise NotStoredError(sentences)


def assert_right(sentences: Sequence[Words], arrays: Sequence[Array]) -> None:
    for words, array in zip(sentences, arrays, strict=True):
        expected = array_of(words)
        assert array.dtype == np.float32
        assert array.shape == expected.shape, words
        assert np.array_equal(array, expected), words
        assert not array.flags.writeable


def numbered(count: int) -> list[Words]:
    return [("word", str(number)) for number in range(count)]


@contextmanager
def no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def the_file(folder: Path) -> Path:
    (file,) = folder.glob("*.arrays")
    return file


def worker(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", __file__, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def stored(folder: Path, sentences: Sequence[Words]) -> list[Words]:
    """Those that a new process would find in the file; what it finds is right."""
    store, found = ArrayStore(NAME, folder=folder), []
    for words in sentences:
        try:
            assert_right([words], store.get([words], refuse))
            found.append(words)
        except NotStoredError:
            pass
    store.close()
    return found


def fill(folder: Path, seed: int, count: int, file_bytes: int) -> None:
    """Gets all the sentences in its own order, a few at a time, and nothing from its memory."""
    store = ArrayStore(NAME, memory_bytes=0, folder=folder, file_bytes=file_bytes)
    rng = random.Random(seed)
    sentences = numbered(count)
    rng.shuffle(sentences)
    while sentences:
        size = rng.randint(1, 12)
        batch, sentences = sentences[:size], sentences[size:]
        assert_right(batch, store.get(batch, arrays_of))


def follow(folder: Path, seed: int, count: int) -> None:
    """Only reads, until others have written everything."""
    store = ArrayStore(NAME, memory_bytes=0, folder=folder)
    sentences = numbered(count)
    random.Random(seed).shuffle(sentences)
    while sentences:
        try:
            assert_right(sentences[-1:], store.get(sentences[-1:], refuse))
            sentences.pop()
        except NotStoredError:
            sentences.insert(0, sentences.pop())


def endless(folder: Path, start: int) -> None:
    """Writes until it is killed, and says of each batch when it is done."""
    store = ArrayStore(NAME, memory_bytes=0, folder=folder)
    for number in itertools.count(start, 2):
        batch: list[Words] = [("large", str(number)), ("large", str(number + 1))]
        assert_right(batch, store.get(batch, arrays_of))
        sys.stdout.write(f"{number + 2}\n")
        sys.stdout.flush()


def torn(folder: Path, part: float) -> None:
    """Is killed when the second record of its batch is written in part."""
    whole, calls = os.pwrite, itertools.count()

    def half(descriptor: int, content: memoryview, position: int) -> int:
        if next(calls) == 0:
            return whole(descriptor, content, position)
        whole(descriptor, content[: int(len(content) * part)], position)
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    os.pwrite = half
    ArrayStore(NAME, folder=folder).get([("large", "0"), ("large", "1"), ("large", "2")], arrays_of)


def full(folder: Path, file_bytes: int) -> None:
    """Writes on a disk that is full, or so it seems to the process; prints what it is warned of."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
    store = ArrayStore(NAME, memory_bytes=0, folder=folder)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for words in numbered(200):
            assert_right([words], store.get([words], arrays_of))
    sys.stdout.writelines(f"{warning.message}\n" for warning in caught)


if __name__ == "__main__":
    where = Path(sys.argv[2])
    given = sys.argv[3:]
    match sys.argv[1]:
        case "fill":
            fill(where, int(given[0]), int(given[1]), int(given[2]))
        case "follow":
            follow(where, int(given[0]), int(given[1]))
        case "endless":
            endless(where, int(given[0]))
        case "torn":
            torn(where, float(given[0]))
        case "full":
            full(where, int(given[0]))
        case other:
            raise SystemExit(f"unknown task {other}")
