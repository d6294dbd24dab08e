from __future__ import annotations

import pytest

from handful.data.formats.markup import parse_example, write_example
from handful.types import Slot


@pytest.mark.parametrize(
    ("marked", "text", "slots"),
    [
        ("fly to [Boston](city)", "fly to Boston", [Slot("city", 2, 3)]),
        ("[New York](city) to [Rome](city)", "New York to Rome", [Slot("city", 0, 2), Slot("city", 3, 4)]),
        ('to [NYC]{"entity": "city", "value": "New York"}', "to NYC", [Slot("city", 1, 2, "New York")]),
        (
            'from [Rome]{"entity": "city", "role": "from", "group": "1"}',
            "from Rome",
            [Slot("city", 1, 2, None, "from", "1")],
        ),
        ("to [NYC](city:New York)", "to NYC", [Slot("city", 1, 2, "New York")]),
        ("to [NYC](city:NYC)", "to NYC", [Slot("city", 1, 2)]),
        ("[Boston](city)-based", "Boston-based", [Slot("city", 0, 1)]),
        (r"press \[enter\] now", "press [enter] now", []),
        (r"C:\temp and \\[x](drive)", "C:\\temp and \\x", [Slot("drive", 6, 7)]),
        ("[ Boston ](city)", " Boston ", [Slot("city", 0, 1)]),
        ("call me (maybe) {now}", "call me (maybe) {now}", []),
    ],
)
def test_annotated_lines(marked: str, text: str, slots: list[Slot]):
    found = parse_example(marked, "book")
    assert found.text == text
    assert list(found.slots) == slots
    assert parse_example(write_example(found), "book") == found


@pytest.mark.parametrize(
    ("marked", "message"),
    [
        ("fly to [Boston(city)", r"a '\[' without its '\]' at character 8"),
        ("fly to Boston](city)", r"a '\]' without its '\['"),
        ("fly to [Boston](city", r"a '\(' without its '\)'"),
        ("fly to [Boston] (city)", "without a slot"),
        ("fly to [Boston]", "without a slot"),
        ("fly to [](city)", "without words"),
        ("fly to [  ](city)", "without words"),
        ("fly to [Boston]()", r"expected '\(slot\)'"),
        ("fly to [Boston](city:)", r"expected '\(slot\)' or '\(slot:value\)'"),
        ("fly to [[Boston](city) area](place)", "an annotation inside an annotation"),
        ("a 9[am](time) call", "cuts the word '9am'"),
        ('to [NYC]{"entity": "city"', "is not JSON"),
        ('to [NYC]{"value": "x"}', "without its 'entity'"),
        ('to [NYC]{"entity": "city", "rolle": "to"}', "the key 'rolle'"),
        ('to [NYC]{"entity": "city", "value": 5}', "found 5 as the value"),
        ('to [NYC]{"entity": "city", "entity": "x"}', "stands twice"),
        ('to [NYC][{"entity": "city"}, {"entity": "place"}]', "several entities"),
        ("   ", "at least one word"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(marked: str, message: str):
    with pytest.raises(ValueError, match=message):
        parse_example(marked, "book")
