"""Records are read from a folder, and what is wrong with them is told with its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from figures.made import details, projected, raw, written
from handful.errors import ConfigError, DataError
from handful.figures.records import read_results


def test_lists_of_records_are_found_in_every_folder_and_other_json_is_left_alone(tmp_path: Path):
    written(tmp_path, [raw(), raw(split="dev")], "a/b/c.json")
    written(tmp_path, [raw(row="proto")], "d.json")
    (tmp_path / "speeds.json").write_text('{"speed": 1}', encoding="utf-8")
    (tmp_path / "other.json").write_text("[1, 2]", encoding="utf-8")
    found = read_results(tmp_path)
    assert [record.row for record in found.records] == ["(w,w)", "proto"]
    assert (found.left_out, found.files, found.projection) == (1, 2, None)


def test_faults_of_all_files_are_told_with_file_and_pointer(tmp_path: Path):
    first = written(tmp_path, [raw(), raw(intent_accuracy={"mean": "high"})], "a.json")
    second = written(tmp_path, [raw(details=details(calibration=[[1, 0.5, 1]]))], "b.json")
    third = tmp_path / "c.json"
    third.write_text("{", encoding="utf-8")
    with pytest.raises(DataError) as raised:
        read_results(tmp_path)
    told = str(raised.value)
    assert f"{first}: 1.intent_accuracy.mean: " in told
    assert f"{second}: 0.details.calibration: found 1 bins, expected 10" in told
    assert f"{third}: not JSON: " in told


def test_a_bin_cannot_have_more_right_than_queries(tmp_path: Path):
    bins = [[0, 0.0, 0]] * 9 + [[2, 1.9, 3]]
    written(tmp_path, [raw(details=details(calibration=bins))])
    with pytest.raises(DataError, match=r"bin 9: found 3 right and confidences of 1\.9 together"):
        read_results(tmp_path)


def test_figure_2_names_the_point_that_is_wrong(tmp_path: Path):
    written(tmp_path, [raw()])
    panels = [{"name": "CE", "points": [[0, 0, 0, 0], [0, 0, 9, 0]]}]
    (tmp_path / "figure2.json").write_text(json.dumps(projected(panels=panels)), encoding="utf-8")
    with pytest.raises(DataError, match=r"figure2.json: panel 'CE', point 1: found intent 9 of split 0"):
        read_results(tmp_path)


def test_no_folder_and_no_records_are_told(tmp_path: Path):
    with pytest.raises(ConfigError, match="found no folder of results here"):
        read_results(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="found no result records"):
        read_results(tmp_path)


@pytest.mark.parametrize("character", ["\0", "\x07", "\ud800", "\uffff"])
def test_names_that_no_figure_can_show_are_refused(tmp_path: Path, character: str):
    path = written(tmp_path, [raw(row=f"a{character}b"), raw(details=details(slots={character: [1, 1, 1]}))])
    with pytest.raises(DataError) as raised:
        read_results(tmp_path)
    assert f"{path}: 0.row: found the character U+{ord(character):04X}" in str(raised.value)
    assert f"{path}: 1.details.slots." in str(raised.value)
