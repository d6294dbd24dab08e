"""What JSON and YAML have in common: places, strictness, and nothing that runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from handful.data.formats.json_tree import parse_json, read_json
from handful.data.formats.yaml_tree import read_yaml
from handful.errors import DataError

NESTED = """{
 "a": [1,
  {"b": "x"},
  {"b":
    "y"}],
 "c": {}
}"""


@pytest.mark.parametrize(
    ("pointer", "line"), [((), 1), (("a",), 2), (("a", 1), 3), (("a", 1, "b"), 3), (("a", 2, "b"), 5), (("c",), 6)]
)
def test_every_json_value_knows_its_line(pointer: tuple[str | int, ...], line: int):
    node = parse_json(NESTED, Path("x.json"))
    for step in pointer:
        node = node.value[step]
    assert node.place.line == line


def test_a_place_names_file_line_and_path():
    node = parse_json(NESTED, Path("x.json"), first_line=10).value["a"].value[2].value["b"]
    assert str(node.place) == "x.json:14: $.a[2].b"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ('{"a": 1,\n "a": 2}', "x.json:1: $", "the key 'a' stands twice"),
        ('{"a": {"b": 1,\n "b": 2}}', "x.json:1: $.a", "the key 'b' stands twice"),
        ('{"a":\n 1,}', "x.json:2", "not JSON"),
        ('{"a":\n NaN}', "x.json:2", "found NaN"),
        ('{"a":\n -Infinity}', "x.json:2", "found -Infinity"),
        ('{"a": 1,\n "b": ' + "9" * 5000 + "}", "x.json:2", "over a thousand digits"),
        ("[" * 100_000, "x.json:1", "nested too deeply"),
    ],
)
def test_what_is_no_json_is_told_with_its_line(tmp_path: Path, text: str, place: str, message: str):
    file = tmp_path / "x.json"
    file.write_text(text)
    with pytest.raises(DataError) as caught:
        read_json(file)
    assert f"{place}: " in str(caught.value)
    assert message in str(caught.value)


def test_half_a_character_is_no_text():
    node = parse_json('{"intent": "fl\\ud83dy"}', Path("x.json"))
    with pytest.raises(DataError, match=r"\$\.intent: found half a character"):
        node.need("intent").text()


def test_metadata_is_kept_to_a_sane_depth():
    deep = parse_json("[" * 60 + "]" * 60, Path("x.json"))
    with pytest.raises(DataError, match="nested too deeply to be kept"):
        deep.plain()
    assert parse_json("[[[1]]]", Path("x.json")).plain() == [[[1]]]


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("a: 1\nb:\n  c: 1\n  c: 2\n", "x.yml:4", "the key 'c' stands twice"),
        ("a:\n\t- b\n", "x.yml:2", "not YAML"),
        ("a: !!bool fly\n", "x.yml:1", "does not fit its YAML tag"),
        ('a: !!int ""\n', "x.yml:1", "does not fit its YAML tag"),
        ("a: !!map fly\n", "x.yml:1", "found the YAML tag"),
        ("a: &x [1]\nb: *x\n", "x.yml:2", "an alias"),
        ("? [a]\n: b\n", "x.yml:1", "as a key"),
    ],
)
def test_what_is_no_plain_yaml_is_told_with_its_line(tmp_path: Path, text: str, place: str, message: str):
    file = tmp_path / "x.yml"
    file.write_text(text)
    with pytest.raises(DataError) as caught:
        read_yaml(file)
    assert f"{place}: " in str(caught.value)
    assert message in str(caught.value)


def test_yaml_scalars_are_text_as_written(tmp_path: Path):
    file = tmp_path / "x.yml"
    file.write_text("a: no\nb: 3.10\nc: 2024-01-01\nd: ~\n")
    (root,) = read_yaml(file)
    assert [root.need(key).text() for key in "abc"] == ["no", "3.10", "2024-01-01"]
    with pytest.raises(DataError, match="found nothing, expected text"):
        root.need("d").text()
