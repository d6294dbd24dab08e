from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted_server import Answer, Server, files_in, get, serving, sha256

from handful.data.download import AlreadyThere, FileDone
from handful.data.sources import Archive, DataFile, DataSet, verify
from handful.errors import DownloadError

MEMBERS = {"train.tsv": b"train\n" * 999, "test.tsv": b"test\n" * 99}
ZIPPED = DataSet(
    *("toy", "", "", ""),
    files=tuple(DataFile(f"toy/{name}", None, sha256(content)) for name, content in MEMBERS.items()),
    archive=Archive("toy/all.zip", "https://example.invalid/all.zip", largest_member=10_000),
)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving({}) as running:
        yield running


def zip_of(entries: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in entries.items():
            opened.writestr(name, content)
    return packed.getvalue()


TRAIN, TEST = MEMBERS["train.tsv"], MEMBERS["test.tsv"]


@pytest.mark.parametrize(
    "entries",
    [
        {"a/train.tsv": TRAIN, "a/test.tsv": TEST, "a/other": b"not wanted"},
        {"../../train.tsv": TRAIN, "/test.tsv": TEST},
        {"old/train.tsv": b"another", "new/train.tsv": TRAIN, "test.tsv": TEST, "__MACOSX/._test.tsv": b""},
    ],
    ids=["folder", "evil paths", "same base name twice"],
)
def test_members_are_picked_by_base_name(entries: dict[str, bytes], server: Server, tmp_path: Path):
    directory = tmp_path / "deep" / "data"
    server.files = {"/all.zip": zip_of(entries)}
    events = get(ZIPPED, directory, server)
    assert files_in(tmp_path) == {"deep/data/toy/train.tsv": TRAIN, "deep/data/toy/test.tsv": TEST}
    assert events[-2:] == [FileDone("toy/train.tsv"), FileDone("toy/test.tsv")]


def test_a_broken_zip_transfer_is_resumed(server: Server, tmp_path: Path):
    server.files = {"/all.zip": zip_of(MEMBERS)}
    server.script = [Answer(stop_after=100)]
    get(ZIPPED, tmp_path, server)
    assert server.ranges == [None, "bytes=100-"]
    assert verify(ZIPPED, tmp_path) == []


def test_only_the_members_that_lack_are_written(server: Server, tmp_path: Path):
    server.files = {"/all.zip": zip_of({"train.tsv": b"changed upstream", "test.tsv": TEST})}
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy/train.tsv").write_bytes(TRAIN)
    assert get(ZIPPED, tmp_path, server)[0] == AlreadyThere("toy/train.tsv")
    assert verify(ZIPPED, tmp_path) == []


@pytest.mark.parametrize(
    ("packed", "told"),
    [
        (zip_of({"train.tsv": TRAIN}), "the zip has no member named test.tsv"),
        (zip_of({"train.tsv": TRAIN, "test.tsv": b"?"}), f"test.tsv in the zip has sha256 {sha256(b'?')}"),
        (zip_of({"train.tsv": TRAIN, "test.tsv": bytes(10_001)}), "test.tsv in the zip is larger than 10000"),
        (zip_of(MEMBERS)[:-30], "the zip is damaged"),
        (b"<html>Please log in</html>", "the zip is damaged"),
    ],
    ids=["missing", "changed", "too large", "cut", "no zip"],
)
def test_a_bad_zip_is_told_and_leaves_nothing(packed: bytes, told: str, server: Server, tmp_path: Path):
    server.files = {"/all.zip": packed}
    with pytest.raises(DownloadError, match=f"/all.zip: not the file expected: {told}.*toy/test.tsv by hand"):
        get(ZIPPED, tmp_path, server)
    assert files_in(tmp_path) == {}
    assert len(server.seen) == 2
