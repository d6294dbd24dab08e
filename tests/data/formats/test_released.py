from __future__ import annotations

import json
from pathlib import Path

import pytest

from handful.data.formats import released
from handful.errors import DataError
from handful.types import Slot


def read(tmp_path: Path, text: str, slots: str):
    file = tmp_path / "test.json"
    file.write_text(json.dumps({"text_u": text, "intent": "Get Weather", "slots": slots}) + "\n")
    return released.read(file)


def test_fillers_are_dropped(tmp_path: Path):
    found = read(tmp_path, "rain in Oslo", "O, O, B-Get Weather city, F, F")
    assert found.utterances[0].slots == (Slot("Get Weather city", 2, 3),)
    assert found.warnings == ()


def test_a_run_of_a_bare_label_is_one_span(tmp_path: Path):
    found = read(tmp_path, "rain in New York today", "O, O, CATION, CATION, TE TIME")
    assert found.utterances[0].slots == (Slot("CATION", 2, 4), Slot("TE TIME", 4, 5))


def test_missing_tags_are_read_as_o_and_told(tmp_path: Path):
    found = read(tmp_path, "# 1 bar", "F, O, O")
    assert len(found.utterances[0].words) == 3
    assert "3 words and 2 tags" in str(found.warnings[0])


@pytest.mark.parametrize("tags", ["B-x, S-city", "B-x, city"])
def test_tags_of_no_known_kind_are_an_error(tmp_path: Path, tags: str):
    with pytest.raises(DataError, match="expected O, B-label or I-label"):
        read(tmp_path, "in Oslo", tags)


def test_an_i_that_continues_nothing_is_mended_and_listed(tmp_path: Path):
    found = read(tmp_path, "in Oslo", "O, I-city")
    assert found.utterances[0].slots == (Slot("city", 1, 2),)
    assert "mended to 'B-city'" in str(found.warnings[0])


def test_too_many_tags_are_an_error(tmp_path: Path):
    with pytest.raises(DataError, match=r"test\.json:1: found 1 words and 2 tags"):
        read(tmp_path, "rain", "O, O")
