from __future__ import annotations

import pytest

from handful.data.document import Document
from handful.data.formats.luis import read
from handful.types import Slot

GOOD = """{
  "luis_schema_version": "7.0.0", "versionId": "0.1", "name": "lamps", "desc": "", "culture": "en-us",
  "intents": [{"name": "dim"}, {"name": "None"}],
  "entities": [{"name": "level", "roles": ["target"], "children": []}],
  "hierarchicals": [{"name": "place", "children": ["inside", "outside"]}],
  "closedLists": [{"name": "lamp", "subLists": [{"canonicalForm": "spot", "list": ["spotlight", "beam"]},
                                                {"canonicalForm": "strip", "list": []}], "roles": []}],
  "regex_entities": [{"name": "code", "regexPattern": "L[0-9]+", "roles": []}],
  "patterns": [{"pattern": "dim {lamp}", "intent": "dim"}],
  "phraselists": [], "settings": [],
  "colour": "blue",
  "utterances": [
    {"text": "dim the beam to 40 %", "intent": "dim", "entities": [
      {"entity": "level", "startPos": 16, "endPos": 19, "role": "target", "children": []},
      {"entity": "lamp", "startPos": 8, "endPos": 11}]},
    {"text": "porch light", "intent": "dim", "entities": [
      {"entity": "place::outside", "startPos": 0, "endPos": 4}]},
    {"text": "tell me a joke", "intent": "None", "entities": []}
  ]
}
"""


def app(*entities: str, text: str = '"dim the beam"', intent: str = '"dim"', more: str = "") -> str:
    item = f'{{"text": {text}, "intent": {intent}, "entities": [{", ".join(entities)}]}}'
    return f'{{"luis_schema_version": "7.0.0", {more} "utterances": [\n{item}\n]}}'


def test_a_file_is_read_whole(written, sentence):
    document = read(written("app.json", GOOD))
    assert document == Document(
        utterances=(
            sentence("dim the beam to 40 %", "dim", Slot("lamp", 2, 3), Slot("level", 4, 6, role="target")),
            sentence("porch light", "dim", Slot("place::outside", 0, 1)),
            sentence("tell me a joke", "None"),
        ),
        synonyms={"spot": ("spotlight", "beam")},
        lookups={"lamp": ("spot", "strip")},
        regexes={"code": ("L[0-9]+",)},
    )
    assert [str(warning).partition("app.json:")[2] for warning in document.warnings] == [
        "11: $.colour: the key 'colour' is not used",
        "5: $.hierarchicals: the section 'hierarchicals' is not used",
        "9: $.patterns: the section 'patterns' is not used",
    ]


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(written, as_windows_saves):
    assert read(written("windows.json", as_windows_saves(GOOD))) == read(written("unix.json", GOOD))


def test_the_last_character_of_the_text_can_be_annotated(written, sentence):
    document = read(written("app.json", app('{"entity": "lamp", "startPos": 8, "endPos": 11}')))
    assert document.utterances == (sentence("dim the beam", "dim", Slot("lamp", 2, 3)),)


NESTED = '{"entity": "lamp", "startPos": 8, "endPos": 11, "children": [{"entity": "bulb"}]}'


@pytest.mark.parametrize(
    ("content", "place", "words"),
    [
        (" \n", "app.json:", ["the file is empty"]),
        ("[\n]", "app.json:1:", ["a list of 0, expected a mapping"]),
        ('{"utterances": []}', "app.json:1:", ["'luis_schema_version' is missing"]),
        ('{"luis_schema_version": "7.0.0"}', "app.json:1:", ["'utterances' is missing"]),
        ('{"luis_schema_version": "7.0.0",\n"utterances": []}', "app.json:2:", ["found no utterances"]),
        (
            '{"luis_schema_version": "7.0.0",\n"utterances": {}}',
            "app.json:2:",
            ["expected a list of utterances"],
        ),
        ('{\n"name": "a",\n"name": "b"}', "app.json:1:", ["'name' stands twice"]),
        (b'{\n"name": "\xc3"}', "app.json:2:", ["0xc3", "expected UTF-8"]),
        (app(text="null"), "app.json:2:", ["found nothing, expected text"]),
        (app(intent="7"), "app.json:2:", ["found 7, expected the name of an intent"]),
        (app('{"entity": "lamp", "startPos": 8}'), "app.json:2:", ["'endPos' is missing"]),
        (
            app('{"entity": "lamp", "startPos": 8.5, "endPos": 11}'),
            "app.json:2:",
            ["8.5, expected a whole number"],
        ),
        (
            app('{"entity": "lamp", "startPos": 8, "endPos": 12}'),
            "app.json:2:",
            ["endPos 12", "from 0 to 11"],
        ),
        (app('{"entity": "lamp", "startPos": 9, "endPos": 8}'), "app.json:2:", ["startPos 9 and endPos 8"]),
        (app('{"entity": "lamp", "startPos": -1, "endPos": 2}'), "app.json:2:", ["startPos -1"]),
        (app('{"entity": "lamp", "startPos": 8, "endPos": 10}'), "app.json:2:", ["cuts the word 'beam'"]),
        (
            app('{"entity": "a", "startPos": 0, "endPos": 6}', '{"entity": "b", "startPos": 4, "endPos": 11}'),
            "app.json:2:",
            ["'a' on 'dim the'", "'b' on 'the beam'", "overlap"],
        ),
        (app(NESTED), "app.json:2:", ["entities[0].children", "inside 'lamp'", "handful has flat slots"]),
        (app(more='"intents": [{"name": "glow"}],'), "app.json:2:", ["the intent 'dim'", "declares: 'glow'"]),
        (
            app('{"entity": "lamp", "startPos": 8, "endPos": 11}', more='"entities": [],'),
            "app.json:2:",
            ["the entity 'lamp'", "declares: none"],
        ),
        (
            app(more='"closedLists": [{"name": "a", "subLists": [{}]}],'),
            "app.json:1:",
            ["'canonicalForm' is missing"],
        ),
        (app(more='"regex_entities": [{"name": "a"}],'), "app.json:1:", ["'regexPattern' is missing"]),
    ],
)
def test_a_broken_file_is_refused_with_its_place(written, refusal, content, place, words):
    message = refusal(read, written("app.json", content))
    for expected in (place, *words):
        assert expected in message
