"""Folders of exported models that are missing, damaged, newer, or not ours."""

from __future__ import annotations

import hashlib
import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from handful.errors import CheckpointError
from handful.runtime.folder import ABOUT, FORMAT, GRAPH, HEADS, TOKENIZER, load_exported, read_about_model

Export = Callable[[str], Path]


@pytest.fixture
def folder(tiny_export: Export, tmp_path: Path) -> Path:
    """A copy, to be damaged at will."""
    return Path(shutil.copytree(tiny_export("float32"), tmp_path / "model"))


def change(folder: Path, **fields: Any) -> None:
    content = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    (folder / ABOUT).write_text(json.dumps({**content, **fields}), encoding="utf-8")


def accept(folder: Path, name: str) -> None:
    """The sum of what is there now, so that what lies behind the sums is tried."""
    sums = json.loads((folder / ABOUT).read_text(encoding="utf-8"))["sums"]
    change(folder, sums={**sums, name: hashlib.sha256((folder / name).read_bytes()).hexdigest()})


def test_it_says_what_it_is(folder: Path):
    exported, about = load_exported(folder, threads=1)
    assert (about.precision, about.weights, about.width, about.room) == ("float32", "0" * 64, 8, 14)
    assert exported.maps.width == 8
    assert sorted(file.name for file in folder.iterdir()) == sorted([ABOUT, GRAPH, HEADS, TOKENIZER])


def test_an_identity_names_the_numbers(folder: Path, tiny_export: Export):
    mine = read_about_model(folder)
    assert mine.identity != read_about_model(tiny_export("int8")).identity
    change(folder, weights="1" * 64)
    assert read_about_model(folder).identity != mine.identity


@pytest.mark.parametrize("name", [ABOUT, GRAPH, TOKENIZER, HEADS])
def test_a_missing_file_is_told(folder: Path, name: str):
    (folder / name).unlink()
    with pytest.raises(CheckpointError, match=name):
        load_exported(folder)


@pytest.mark.parametrize("name", [GRAPH, TOKENIZER, HEADS])
@pytest.mark.parametrize("damage", ["cut", "changed", "empty"])
def test_a_file_that_is_not_the_one_that_was_written_is_told(folder: Path, name: str, damage: str):
    content = bytearray((folder / name).read_bytes())
    if damage == "changed":
        content[len(content) // 2] ^= 1
    (folder / name).write_bytes({"cut": content[: len(content) // 2], "changed": content, "empty": b""}[damage])
    with pytest.raises(CheckpointError, match=rf"{name}: the sha256 is not the one .* export the model again"):
        load_exported(folder)


@pytest.mark.parametrize("name", [GRAPH, TOKENIZER, HEADS])
@pytest.mark.parametrize("content", [b"", b"\x00\x01not ours", b"{}"])
def test_a_file_that_is_not_ours_is_told_whatever_its_sum(folder: Path, name: str, content: bytes):
    (folder / name).write_bytes(content)
    accept(folder, name)
    with pytest.raises(CheckpointError, match=name):
        load_exported(folder)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "null", '"text"', "{}", '{"format": 1}', '{"format": "1"}', "\udce9"]
)
def test_a_model_json_that_is_none_is_told(folder: Path, content: str):
    (folder / ABOUT).write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(CheckpointError, match=r"model\.json: cannot be read: .*damaged or not ours"):
        load_exported(folder)


@pytest.mark.parametrize("field", ["special", "room", "sums", "evidence", "slot_repeats", "format", "weights"])
@pytest.mark.parametrize("value", [None, [], {}, [1]])
def test_a_field_that_is_nonsense_is_told(folder: Path, field: str, value: Any):
    change(folder, **{field: value})
    with pytest.raises(CheckpointError, match=r"model\.json"):
        load_exported(folder)


def test_a_newer_format_asks_for_an_upgrade(folder: Path):
    change(folder, format=FORMAT + 1)
    with pytest.raises(CheckpointError, match=f"format {FORMAT + 1} is newer than {FORMAT}: upgrade handful"):
        load_exported(folder)


def test_a_folder_that_is_none_is_told(tmp_path: Path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "nowhere", tmp_path, tmp_path / "file"):
        with pytest.raises(CheckpointError, match=path.name):
            load_exported(path)


class Harmful:
    ran = False

    def __reduce__(self) -> tuple[Any, ...]:
        return setattr, (Harmful, "ran", True)


def test_a_pickle_among_the_arrays_is_not_run(folder: Path):
    arrays = dict(np.load(folder / HEADS))
    np.savez(folder / HEADS, **{**arrays, "no_slot": np.array([Harmful()], dtype=object)})
    accept(folder, HEADS)
    with pytest.raises(CheckpointError, match=r"heads\.npz: cannot be read: .*pickle"):
        load_exported(folder)
    (folder / HEADS).write_bytes(pickle.dumps(Harmful()))
    accept(folder, HEADS)
    with pytest.raises(CheckpointError, match=r"heads\.npz: cannot be read"):
        load_exported(folder)
    assert not Harmful.ran
    pickle.loads(pickle.dumps(Harmful()))
    assert Harmful.ran, "it would have done something"


def test_arrays_that_lack_one_are_told_by_name(folder: Path):
    arrays = dict(np.load(folder / HEADS))
    del arrays["no_slot"]
    np.savez(folder / HEADS, **arrays)
    accept(folder, HEADS)
    with pytest.raises(CheckpointError, match="lack 'no_slot'"):
        load_exported(folder)
