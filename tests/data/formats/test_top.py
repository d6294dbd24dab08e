from __future__ import annotations

from pathlib import Path

import pytest

from handful.data.formats import top
from handful.errors import DataError
from handful.types import Slot, Utterance

FLAT = "Any traffic?\tAny traffic ?\t[IN:GET_TRAFFIC Any traffic ? ]"
SLOTS = "jam on I-5 now\tjam on I-5 now\t[IN:GET_TRAFFIC jam on [SL:ROAD I-5 ] [SL:WHEN now ] ]"
NESTED = "fly home\tfly home\t[IN:FLY fly [SL:TO [IN:GET_HOME home ] ] ]"


def read(tmp_path: Path, *rows: str):
    file = tmp_path / "x.tsv"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return top.read(file)


def test_trees_with_one_intent_are_read_and_the_others_counted(tmp_path: Path):
    found = read(tmp_path, FLAT, NESTED, SLOTS)
    assert found.utterances == (
        Utterance.from_words(["Any", "traffic", "?"], "GET_TRAFFIC"),
        Utterance.from_words(["jam", "on", "I-5", "now"], "GET_TRAFFIC", [Slot("ROAD", 2, 3), Slot("WHEN", 3, 4)]),
    )
    assert "x.tsv:2: 1 of 3 trees" in str(found.warnings[0])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("hi\t[IN:A hi ]", "found 2 columns, expected 3"),
        ("hi\thi\t[IN:A hi", "is not closed"),
        ("hi\thi\t[IN:A hi ] ]", "a ']' without its '['"),
        ("hi\thi\thi", "outside the tree"),
        ("hi\thi\t[IN:A ho ]", "are not the tokens"),
        ("hi\thi\t[SL:A hi ]", "outside the tree, expected one '[IN:NAME"),
        ("hi\thi\t[IN: hi ]", "found '[IN:'"),
        ("hi\thi\t[XX:A hi ]", "found '[XX:A'"),
        ("hi\thi\t[IN:A [SL:B [SL:C hi ] ] ]", "inside another slot"),
        ("hi\thi\t[IN:A hi [SL:B ] ]", "has no words"),
        ("hi\thi\t", "found no tree"),
    ],
)
def test_broken_rows(tmp_path: Path, row: str, message: str):
    with pytest.raises(DataError) as caught:
        read(tmp_path, FLAT, row, SLOTS)
    assert "x.tsv:2: " in str(caught.value)
    assert message in str(caught.value)


def test_a_file_of_nested_trees_only_is_refused(tmp_path: Path):
    with pytest.raises(DataError, match="exactly one intent"):
        read(tmp_path, NESTED)
