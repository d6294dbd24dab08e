from __future__ import annotations

import re
from pathlib import Path

import pytest

from handful.data.sources import DATA_SETS, Archive, DataFile, DataSet, named, sum_of, verify
from handful.errors import ConfigError

FILES = [file for data_set in DATA_SETS for file in data_set.files]
ANY_SUM = "0" * 64


@pytest.mark.parametrize("data_set", DATA_SETS, ids=lambda data_set: data_set.name)
def test_the_pinned_sums_are_those_of_the_files(data_set: DataSet, data_dir: Path):
    assert verify(data_set, data_dir) == []


def test_names_and_paths_are_unique():
    names = [data_set.name for data_set in DATA_SETS]
    paths = [file.path for file in FILES]
    assert len(set(names)) == len(names) == 5
    assert len(set(paths)) == len(paths) == 31


def test_every_file_lies_in_the_folder_of_its_data_set():
    for data_set in DATA_SETS:
        assert all(file.path.startswith(f"{data_set.name}/") for file in data_set.files)


def test_every_address_is_pinned_to_a_commit():
    urls = [file.url for file in FILES if file.url] + [d.archive.url for d in DATA_SETS if d.archive]
    pinned = re.compile(r"https://raw\.githubusercontent\.com/[\w-]+/[\w-]+/[0-9a-f]{40}/[\w./]+")
    assert len(set(urls)) == len(urls) == 29
    assert [url for url in urls if not pinned.fullmatch(url)] == []


@pytest.mark.parametrize("path", ["/etc/passwd", "../outside", "snips/../../outside", ""])
def test_a_path_that_leaves_the_directory_is_refused(path: str):
    with pytest.raises(ValueError, match="below the data directory"):
        DataFile(path, None, ANY_SUM)


@pytest.mark.parametrize("sha256", ["", "0" * 63, "G" * 64, "A" * 64])
def test_a_malformed_sum_is_refused(sha256: str):
    with pytest.raises(ValueError, match="not a sha256 sum"):
        DataFile("a", None, sha256)


def test_a_file_needs_an_address_or_an_archive():
    with pytest.raises(ValueError, match="no archive for 'a'"):
        DataSet("d", "", "", "", (DataFile("d/a", None, ANY_SUM),))


def test_members_of_an_archive_need_distinct_base_names():
    files = (DataFile("d/x/a", None, ANY_SUM), DataFile("d/y/a", None, ANY_SUM))
    with pytest.raises(ValueError, match="share a name"):
        DataSet("d", "", "", "", files, Archive("d/z.zip", "https://example.org/z.zip"))


def test_an_unknown_name_lists_the_known_ones():
    assert named("snips").name == "snips"
    with pytest.raises(ConfigError, match=r"'snip'.*'snips', 'atis', 'top'"):
        named("snip")


def test_verify_names_what_is_missing_and_what_differs(tmp_path: Path):
    (tmp_path / "good").write_bytes(b"good")
    (tmp_path / "bad").write_bytes(b"bad")
    good = sum_of(tmp_path / "good")
    files = tuple(DataFile(name, f"https://example.org/{name}", good) for name in ("good", "bad", "gone"))
    assert verify(DataSet("d", "", "", "", files), tmp_path) == [
        f"bad: sha256 is {sum_of(tmp_path / 'bad')}, expected {good}",
        "gone: missing",
    ]
