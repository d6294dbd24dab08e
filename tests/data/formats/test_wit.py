from __future__ import annotations

import pytest

from handful.data.document import Document
from handful.data.formats.wit import read
from handful.types import Slot

GOOD = """{"utterances": [
  {"text": "send the red box from Oslo to Rome", "intent": "ship", "traits": [{"trait": "urgent"}],
   "entities": [
     {"entity": "city:target", "start": 30, "end": 34, "body": "Rome", "entities": []},
     {"entity": "wit$location:location", "start": 22, "end": 26, "body": "Oslo", "entities": []},
     {"entity": "parcel:parcel", "start": 9, "end": 16, "body": "red box"}]},
  {"text": "where is it", "intent": "track", "entities": [], "traits": [], "colour": "blue"},
  {"text": "the box 📦 today", "intent": "track", "entities": [
     {"entity": "day", "start": 10, "end": 15, "body": "today"}]}
]}
"""


def utterance(*entities: str, text: str = '"ship it to Rome"', intent: str = '"intent": "ship"') -> str:
    item = f'{{"text": {text}, {intent}, "entities": [{", ".join(entities)}]}}'
    return f'{{"utterances": [\n{item}\n]}}'


def city(start: object = 11, end: object = 15, body: str = "Rome", name: str = "city:to", nested: str = "[]") -> str:
    return f'{{"entity": "{name}", "start": {start}, "end": {end}, "body": "{body}", "entities": {nested}}}'


def test_a_file_is_read_whole(written, sentence):
    document = read(written("wit.json", GOOD))
    assert document == Document(
        utterances=(
            sentence(
                "send the red box from Oslo to Rome",
                "ship",
                Slot("parcel", 2, 4),
                Slot("wit$location", 5, 6),
                Slot("city", 7, 8, role="target"),
            ),
            sentence("where is it", "track"),
            sentence("the box 📦 today", "track", Slot("day", 3, 4)),
        )
    )
    assert [str(warning).partition("wit.json:")[2] for warning in document.warnings] == [
        "2: $.utterances[0].traits: the traits are not used",
        "7: $.utterances[1].colour: the key 'colour' is not used",
    ]


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(written, as_windows_saves):
    assert read(written("windows.json", as_windows_saves(GOOD))) == read(written("unix.json", GOOD))


@pytest.mark.parametrize(
    ("content", "place", "words"),
    [
        ("", "wit.json:", ["the file is empty"]),
        ("3", "wit.json:1:", ["found 3, expected a mapping"]),
        ("{}", "wit.json:1:", ["'utterances' is missing"]),
        ('{\n"utterances": []}', "wit.json:2:", ["found no utterances"]),
        ('{\n"utterances": "a"}', "wit.json:2:", ["the text 'a', expected a list of utterances"]),
        ('{"utterances": [\n{"text": "a",\n"text": "b"}]}', "wit.json:2:", ["'text' stands twice"]),
        (b'{\n"utterances": ["\x80"]}', "wit.json:2:", ["0x80", "expected UTF-8"]),
        ('{"utterances": [\n{"text": "a" "b"}]}', "wit.json:2:", ["not JSON"]),
        (utterance(intent='"traits": []'), "wit.json:2:", ["$.utterances[0]", "'intent' is missing"]),
        (utterance(intent='"intent": null'), "wit.json:2:", ["found nothing, expected an intent's name"]),
        (utterance(text="[]"), "wit.json:2:", ["a list of 0, expected text"]),
        (
            utterance(intent='"intent": "ship", "traits": "urgent"'),
            "wit.json:2:",
            ["expected a list of traits"],
        ),
        (utterance('{"entity": "city", "start": 11, "end": 15}'), "wit.json:2:", ["'body' is missing"]),
        (utterance(city(body="Oslo")), "wit.json:2:", ["the body 'Oslo', expected 'Rome'", "11 to 15"]),
        (utterance(city(end=16)), "wit.json:2:", ["start 11 and end 16", "15 characters"]),
        (utterance(city(start=15)), "wit.json:2:", ["start 15 and end 15"]),
        (utterance(city(start='"11"')), "wit.json:2:", ["the text '11', expected a whole number"]),
        (utterance(city(end=14, body="Rom")), "wit.json:2:", ["cuts the word 'Rome' (characters 11 to 15)"]),
        (
            utterance(city(), city(start=8, body="to Rome", name="trip")),
            "wit.json:2:",
            ["'trip' on 'to Rome'", "'city' on 'Rome'", "overlap"],
        ),
        (utterance(city(nested=f"[{city()}]")), "wit.json:2:", ["inside 'city'", "handful has flat slots"]),
        (utterance(city(name="city:")), "wit.json:2:", ["'city:', expected 'name:role'"]),
        (utterance(city(name="city:to:from")), "wit.json:2:", ["'city:to:from', expected 'name:role'"]),
    ],
)
def test_a_broken_file_is_refused_with_its_place(written, refusal, content, place, words):
    message = refusal(read, written("wit.json", content))
    for expected in (place, *words):
        assert expected in message
