"""Files that are not ELMo's, and what is said of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from handful.encoders.elmo import ElmoFeatures
from handful.errors import CheckpointError
from oracles.elmo_files import official_options, random_weights, write_elmo

h5py = pytest.importorskip("h5py", reason="h5py is not installed: pip install 'handful[elmo]'")

CELL = "RNN_1/RNN/MultiRNNCell/Cell1/LSTMCell"
SENTENCE = ("fly", "to", "Boston")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"options\.json: found '\{', expected the options of ELMo: Invalid JSON"),
        ("[]", r"options\.json: found \[\], expected"),
        ("{}", r"options\.json: char_cnn: found no such key, expected"),
        ("\xff", "expected the options of ELMo"),
    ],
)
def test_options_that_are_none(tmp_path: Path, text: str, message: str) -> None:
    options, weights = write_elmo(tmp_path)
    options.write_bytes(text.encode("latin-1"))
    with pytest.raises(CheckpointError, match=message):
        ElmoFeatures(options, weights)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"activation": "gelu"}, "char_cnn/activation: found 'gelu', expected .*'relu' or 'tanh'"),
        ({"filters": []}, "char_cnn/filters"),
        ({"filters": [[1, 2, 3]]}, "char_cnn/filters/0"),
        ({"filters": [[51, 2]]}, "found a filter of 51 characters, expected at most the 50"),
        ({"max_characters_per_token": 2}, "max_characters_per_token: found 2"),
        ({"dim": "many"}, "lstm/dim: found 'many'"),
        ({"dim": 4}, "lstm/dim: found 4, expected at least projection_dim's 5"),
        ({"cell_clip": 0}, "lstm/cell_clip: found 0"),
        ({"use_skip_connections": 1}, "use_skip_connections: found 1"),
    ],
)
def test_options_that_cannot_be(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    options, weights = write_elmo(tmp_path)
    options.write_text(json.dumps(official_options(**changes)))
    with pytest.raises(CheckpointError, match=message):
        ElmoFeatures(options, weights)


def test_options_that_lack_a_key(tmp_path: Path) -> None:
    options, weights = write_elmo(tmp_path)
    lacking = official_options()
    del lacking["lstm"]["projection_dim"]
    options.write_text(json.dumps(lacking))
    with pytest.raises(CheckpointError, match=r"options\.json: lstm/projection_dim: found no such key"):
        ElmoFeatures(options, weights)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    options, weights = write_elmo(tmp_path)
    with pytest.raises(CheckpointError, match=r"none\.json: cannot be read"):
        ElmoFeatures(tmp_path / "none.json", weights)
    with pytest.raises(CheckpointError, match=r"none\.hdf5: found .*No such file"):
        ElmoFeatures(options, tmp_path / "none.hdf5")


@pytest.mark.parametrize("name", sorted(random_weights(official_options())))
@pytest.mark.parametrize("damage", ["missing", "shape"])
def test_every_dataset_must_be_there_and_have_its_shape(tmp_path: Path, name: str, damage: str) -> None:
    options, weights = write_elmo(tmp_path)
    with h5py.File(weights, "a") as file:
        shape = file[name].shape
        del file[name]
        if damage == "shape":
            file[name] = np.zeros((*shape[:-1], shape[-1] + 1), dtype=np.float32)
    found = "no such dataset" if damage == "missing" else rf"float32 of shape \[.*{shape[-1] + 1}\]"
    with pytest.raises(CheckpointError, match=rf"weights\.hdf5: {name}: found {found}, expected .*{shape[-1]}\]"):
        ElmoFeatures(options, weights)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.full((36,), np.nan, dtype=np.float32), "found values that are not finite"),
        (np.zeros((36,), dtype=np.int32), "found int32 of shape"),
        (np.array([b"x"] * 36), "found .S1 of shape"),
        (None, "found no such dataset"),  # a group of that name
    ],
)
def test_datasets_that_are_not_numbers(tmp_path: Path, values: np.ndarray | None, message: str) -> None:
    options, weights = write_elmo(tmp_path)
    with h5py.File(weights, "a") as file:
        del file[f"{CELL}/B"]
        if values is None:
            file.create_group(f"{CELL}/B")
        else:
            file[f"{CELL}/B"] = values
    with pytest.raises(CheckpointError, match=message):
        ElmoFeatures(options, weights)


def test_data_of_other_files_is_not_followed(tmp_path: Path) -> None:
    options, weights = write_elmo(tmp_path)
    with h5py.File(tmp_path / "other.hdf5", "w") as file:
        file["B"] = np.zeros(36, dtype=np.float32)
    (tmp_path / "raw").write_bytes(bytes(36 * 4))
    with h5py.File(weights, "a") as file:
        del file[f"{CELL}/B"]
        file[f"{CELL}/B"] = h5py.ExternalLink("other.hdf5", "B")
    with pytest.raises(CheckpointError, match="found data in another file"):
        ElmoFeatures(options, weights)
    with h5py.File(weights, "a") as file:
        del file[f"{CELL}/B"]
        file.create_dataset(f"{CELL}/B", (36,), "f4", external=[(tmp_path / "raw", 0, 36 * 4)])
    with pytest.raises(CheckpointError, match="found data in another file"):
        ElmoFeatures(options, weights)


def test_a_compression_that_hdf5_would_need_a_plug_in_for_is_refused(tmp_path: Path) -> None:
    options, weights = write_elmo(tmp_path)
    with h5py.File(weights, "a") as file:
        del file[f"{CELL}/B"]
        # h5py brings this one along, but to HDF5 it is as foreign as any.
        file.create_dataset(f"{CELL}/B", data=np.zeros(36, dtype=np.float32), compression="lzf")
    with pytest.raises(CheckpointError, match="or of a foreign compression, expected floats"):
        ElmoFeatures(options, weights)


def test_compressed_and_wider_numbers_are_read(tmp_path: Path) -> None:
    options, weights = write_elmo(tmp_path)
    (expected,) = ElmoFeatures(options, weights).compute([SENTENCE])
    with h5py.File(weights, "a") as file:
        values = file["char_embed"][...]
        del file["char_embed"]
        file.create_dataset("char_embed", data=values.astype(np.float64), compression="gzip", shuffle=True)
    (found,) = ElmoFeatures(options, weights).compute([SENTENCE])
    np.testing.assert_array_equal(found, expected)


def test_a_file_cut_short_or_of_another_kind(tmp_path: Path) -> None:
    options, weights = write_elmo(tmp_path)
    whole = weights.read_bytes()
    for content in (whole[: len(whole) // 2], b"", b"not HDF5 at all"):
        weights.write_bytes(content)
        with pytest.raises(CheckpointError, match=r"weights\.hdf5: found .*, expected a whole HDF5 file"):
            ElmoFeatures(options, weights)


def test_without_h5py_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = write_elmo(tmp_path)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(CheckpointError, match=r"pip install 'handful\[elmo\]'"):
        ElmoFeatures(*files)
