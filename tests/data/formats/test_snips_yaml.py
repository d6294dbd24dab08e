from __future__ import annotations

import pytest

from handful.data.document import Document
from handful.data.formats.snips_yaml import read
from handful.types import Slot

GOOD = r"""
---
type: intent
name: plan_trip
colour: blue
slots:
- name: to
  entity: town
utterances:
- a trip to [to](Sankt Gallen) [when:snips/datetime](next week)
- '[by](train) from [from:town](Bern) \[cheap\]'
- 'go by [by:vehicle](bus \(night line\))'
- off
---
type: entity
name: town
values:
- Bern
- [Sankt Gallen, St. Gallen, SG]
---
type: entity
name: vehicle
use_synonyms: no
values:
- [bus, coach]
- 66
"""


def intent(utterance: str, slots: str = "") -> str:
    return f"type: intent\nname: trip\n{slots}utterances:\n- hello\n- {utterance}\n"


def test_a_file_is_read_whole(written, sentence):
    document = read(written("data.yaml", GOOD))
    assert document == Document(
        utterances=(
            sentence("a trip to Sankt Gallen next week", "plan_trip", Slot("to", 3, 5), Slot("when", 5, 7)),
            sentence("train from Bern [cheap]", "plan_trip", Slot("by", 0, 1), Slot("from", 2, 3)),
            sentence("go by bus (night line)", "plan_trip", Slot("by", 2, 7)),
            sentence("off", "plan_trip"),
        ),
        synonyms={"Sankt Gallen": ("St. Gallen", "SG")},
        lookups={"town": ("Bern", "Sankt Gallen"), "vehicle": ("bus", "66")},
        slot_entities={
            ("plan_trip", "to"): "town",
            ("plan_trip", "when"): "snips/datetime",
            ("plan_trip", "from"): "town",
            ("plan_trip", "by"): "vehicle",
        },
    )
    assert [str(warning).partition("data.yaml:")[2] for warning in document.warnings] == [
        "5: the key 'colour' is not used",
        "25: the synonyms of 'bus' are not read: 'use_synonyms' is false",
    ]


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(written, as_windows_saves):
    content = intent("to [to:town](Bern)")
    assert read(written("windows.yaml", as_windows_saves(content))) == read(written("unix.yaml", content))


def test_a_slot_without_an_entity_is_its_own(written):
    document = read(written("data.yaml", intent("to [town](Bern)")))
    assert document.slot_entities == {("trip", "town"): "town"}


@pytest.mark.parametrize(
    ("marked", "text"),
    [
        (r"to \[Bern\]", "to [Bern]"),
        (r"C:\temp \\ x", r"C:\temp \ x"),
        ("(now) or (never)", "(now) or (never)"),
        (r"[a:b](x\\)", "x\\"),
    ],
)
def test_escapes_are_plain_text(written, marked, text):
    assert read(written("data.yaml", intent(f"'{marked}'"))).utterances[1].text == text


@pytest.mark.parametrize(
    ("marked", "words"),
    [
        ("to [town Bern", "a '[' without its ']' at character 4 of 'to [town Bern'"),
        ("to Bern] now", "a ']' without its '[' at character 8"),
        ("to [town:a [b](Bern)", "a '[' inside another at character 4"),
        ("to [town](New [x](York))", "'[town](' without its ')', or with a bracket among its words"),
        ("to [town](Bern", "'[town](' without its ')'"),
        ("to [town:place] now", "'[town:place]' without its words"),
        ("to [to(wn)](Bern)", "a name in square brackets that holds round ones"),
        ("go by [by:vehicle](bus (night))", "with a bracket among its words"),
    ],
)
def test_a_stray_bracket_is_shown_with_its_escape(written, refusal, marked, words):
    message = refusal(read, written("data.yaml", intent(f'"{marked}"')))
    assert "data.yaml:5: found " in message
    assert words in message
    assert f"'{marked}'" in message
    assert r"escaped as \[" in message


SLOTS = "slots:\n- {name: to, entity: town}\n"


@pytest.mark.parametrize(
    ("content", "place", "words"),
    [
        ("", "data.yaml:", ["the file is empty"]),
        ("# nothing\n", "data.yaml:", ["only comments"]),
        ("- a\n", "data.yaml:1:", ["a list of 1, expected a mapping with the keys 'type' and 'name'"]),
        ("name: a\n", "data.yaml:1:", ["'type' is missing"]),
        ("type: intent\nutterances: [a]\n", "data.yaml:1:", ["'name' is missing"]),
        ("name: a\ntype: story\n", "data.yaml:2:", ["'story', expected 'intent' or 'entity'"]),
        ("type: intent\nname: a\nutterances: []\n", "data.yaml:3:", ["the intent 'a' has no utterances"]),
        ("type: intent\nname: a\nname: b\n", "data.yaml:3:", ["'name' stands twice"]),
        ("type: entity\nname: a\nvalues: [b]\n", "data.yaml:1:", ["found no utterances"]),
        ("type: entity\nname: a\nvalues:\n- []\n", "data.yaml:4:", ["a list of 0, expected a value"]),
        ("type: entity\nname: a\nvalues:\n- [x, {y: z}]\n", "data.yaml:4:", ["a mapping with the keys 'y'"]),
        ("type: entity\nname: a\nuse_synonyms: 3\n", "data.yaml:3:", ["found 3, expected true or false"]),
        ("type: intent\nname: a\nutterances: &x [*x]\n", "data.yaml:3:", ["an alias"]),
        (b"type: intent\nname: \xe9\n", "data.yaml:2:", ["0xe9", "expected UTF-8"]),
        (
            intent("hi") + "---\n" + intent("ho"),
            "data.yaml:8:",
            ["the intent 'trip' stands twice", "data.yaml:2"],
        ),
        (intent("remind me: now"), "data.yaml:5:", ["'remind me'", "in quotes, if it has a colon"]),
        (intent("[to](Bern) now"), "data.yaml:5:", ["not YAML"]),
        (intent("to [to:town](Ber)n"), "data.yaml:5:", ["cuts the word 'Bern' (characters 3 to 7)"]),
        (intent("to [to:](Bern)"), "data.yaml:5:", ["'[to:](Bern)'", "expected [slot:entity](words)"]),
        (intent("to [](Bern)"), "data.yaml:5:", ["'[](Bern)'", "expected [slot:entity](words)"]),
        (intent("to [to]( )"), "data.yaml:5:", ["'[to]( )'", "expected [slot:entity](words)"]),
        (intent("to [to:city](Bern)", SLOTS), "data.yaml:7:", ["the entity 'city', expected 'town'"]),
        (intent("hi", "slots:\n- {name: to}\n"), "data.yaml:4:", ["'entity' is missing"]),
    ],
)
def test_a_broken_file_is_refused_with_its_place(written, refusal, content, place, words):
    message = refusal(read, written("data.yaml", content))
    for expected in (place, *words):
        assert expected in message


def test_a_folder_is_not_a_file(tmp_path, refusal):
    assert "found a folder, expected a file" in refusal(read, tmp_path)
