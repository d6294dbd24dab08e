from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from handful.data.formats.files import read_lines, read_text, write_text
from handful.errors import DataError, HandfulError


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "the file is empty"),
        (b" \n\t\n", "the file is empty"),
        (b"ok\nb\xe9b\xe9\n", "file.txt:2: found the byte 0xe9, expected UTF-8"),
        (b"\xef\xbb\xbfok\nb\xe9\n", "file.txt:2: found the byte 0xe9"),
        ("hi".encode("utf-16"), "UTF-16"),
        (b"one\ntw\0o\n", "file.txt:2: found a NUL"),
        (b"one\rtwo\n", "file.txt:1: found a carriage return"),
    ],
)
def test_odd_bytes_are_refused_with_their_line(tmp_path: Path, raw: bytes, message: str):
    file = tmp_path / "file.txt"
    file.write_bytes(raw)
    with pytest.raises(DataError, match=message):
        read_text(file)


def test_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path):
    file = tmp_path / "file.txt"
    file.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n\r\n")
    assert read_lines(file) == ["one", "two"]


def test_only_a_newline_ends_a_line(tmp_path: Path):
    file = tmp_path / "file.txt"
    file.write_text("one\u2028still one\x0bstill\ntwo", encoding="utf-8")
    assert len(read_lines(file)) == 2


def test_missing_files_and_folders_are_told(tmp_path: Path):
    with pytest.raises(DataError, match="no such file"):
        read_text(tmp_path / "nothing")
    with pytest.raises(DataError, match="found a folder"):
        read_text(tmp_path)


def test_writing_replaces_the_whole_file_and_leaves_no_scraps(tmp_path: Path):
    file = tmp_path / "new" / "file.txt"
    write_text(file, "one\n")
    write_text(file, "two\n")
    assert file.read_text() == "two\n"
    assert [child.name for child in file.parent.iterdir()] == ["file.txt"]


def test_a_target_that_cannot_be_written_is_told(tmp_path: Path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(HandfulError, match="cannot be written"):
        write_text(tmp_path / "file" / "below", "text")


def test_a_link_stays_a_link_and_what_it_points_to_is_written(tmp_path: Path):
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("old\n")
    link.symlink_to(real)
    write_text(link, "new\n")
    assert link.is_symlink()
    assert real.read_text() == "new\n"


def test_what_is_no_file_is_not_replaced(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for target in (pipe, tmp_path):
        with pytest.raises(HandfulError, match="found a folder or a device"):
            write_text(target, "text")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
