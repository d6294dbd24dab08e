from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from handful.errors import DataError, HandfulError
from handful.training.results import file_record, read_records

RECORD: dict[str, Any] = {
    "row": "(w,w)",
    "encoder": "all-MiniLM-L6-v2",
    "mode": "paper",
    "corpus": "atis",
    "split": "test",
    "u_max": 20,
    "train_u_max": 20,
    "train_seed": 0,
    "episode_seed": 0,
    "decoding": "joint",
}


def test_no_file_has_no_records(tmp_path: Path):
    assert read_records(tmp_path / "results.json") == []


def test_a_measurement_takes_the_place_of_the_same_one_and_of_no_other(tmp_path: Path):
    path = tmp_path / "new" / "results.json"
    file_record(RECORD | {"slot_f1": 1.0}, path)
    file_record(RECORD | {"slot_f1": 2.0, "note": "again"}, path)
    assert read_records(path) == [RECORD | {"slot_f1": 2.0, "note": "again"}]
    for key, value in RECORD.items():
        other = RECORD | {key: f"{value} and more" if isinstance(value, str) else value + 1}
        file_record(other, path)
        assert other in read_records(path)
        assert RECORD | {"slot_f1": 2.0, "note": "again"} in read_records(path), f"{key} tells records apart"
    without = {key: value for key, value in RECORD.items() if key not in {"train_u_max", "train_seed"}}
    file_record(without, path)  # a learner that is not trained
    assert len(read_records(path)) == len(RECORD) + 2


def test_records_are_sorted_one_a_line_whatever_the_order_of_filing(tmp_path: Path):
    records = [
        RECORD | {"corpus": corpus, "row": row} for corpus in ("top", "atis", "snips") for row in ("b", "a", "ä")
    ]
    for record in records:
        file_record(record, tmp_path / "one.json")
    for record in reversed(records):
        file_record(record, tmp_path / "other.json")
    text = (tmp_path / "one.json").read_text(encoding="utf-8")
    assert text == (tmp_path / "other.json").read_text(encoding="utf-8")
    found = [(record["row"], record["corpus"]) for record in read_records(tmp_path / "one.json")]
    assert found == sorted(found)
    lines = text.splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("[", "]", len(records) + 2)
    assert '"row": "ä"' in text
    assert [json.loads(line.removesuffix(",")) for line in lines[1:-1]] == read_records(tmp_path / "one.json")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "the file is empty"),
        (b"[{", "not JSON: "),
        (b"[" * 100_000, "not JSON: "),
        (b"{}", "expected a list of results"),
        (b"[1]", "expected a list of results"),
        (b'["\xff"]', "expected UTF-8"),
    ],
)
def test_a_file_of_something_else_is_refused_and_stays(content: bytes, told: str, tmp_path: Path):
    path = tmp_path / "results.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"results\.json.*{told}"):
        file_record(RECORD, path)
    assert path.read_bytes() == content


def test_a_folder_is_refused(tmp_path: Path):
    with pytest.raises(DataError, match="found a folder, expected a file"):
        file_record(RECORD, tmp_path)


def test_a_folder_that_cannot_be_is_told(tmp_path: Path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(HandfulError, match="file: cannot be written: "):
        file_record(RECORD, tmp_path / "file" / "results.json")


def test_two_that_file_at_once_keep_each_others_records(tmp_path: Path):
    path, together = tmp_path / "results.json", Barrier(2)

    def file_many(seed: int) -> None:
        together.wait()
        for u_max in range(30):
            file_record(RECORD | {"train_seed": seed, "u_max": u_max}, path)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(file_many, [0, 1]))
    assert len(read_records(path)) == 60
