from __future__ import annotations

import pytest

from handful.data.document import Document
from handful.data.formats.snips_json import read
from handful.types import Slot

GOOD = """{
  "language": "en",
  "intents": {
    "order_drink": {"utterances": [
      {"data": [{"text": "a "}, {"text": "large", "slot_name": "size", "entity": "volume"}, {"text": " "},
                {"text": "green tea", "slot_name": "drink", "entity": "beverage"}]},
      {"data": [{"text": "just water", "taste": "flat"}]}
    ]},
    "call_staff": {"utterances": [{"data": [{"text": "waiter!"}]}]},
    "pay": {"utterances": []}
  },
  "entities": {
    "beverage": {
      "data": [{"value": "tea", "synonyms": ["cuppa", "tea"]}, {"value": "water", "synonyms": []}],
      "use_synonyms": true, "automatically_extensible": true, "matching_strictness": 1.0
    },
    "volume": {
      "data": [{"value": "large", "synonyms": ["big"]}],
      "use_synonyms": false, "automatically_extensible": false, "matching_strictness": 0.8
    },
    "snips/number": {}
  }
}
"""


def utterance(*chunks: str) -> str:
    return '{"intents": {"order": {"utterances": [\n{"data": [' + ", ".join(chunks) + "]}\n]}}}"


def entity(text: str) -> str:
    return '{"intents": {"hi": {"utterances": [{"data": [{"text": "hi"}]}]}}, "entities": {\n"drink": ' + text + "}}"


def test_a_file_is_read_whole(written, sentence):
    document = read(written("data.json", GOOD))
    assert document == Document(
        utterances=(
            sentence("a large green tea", "order_drink", Slot("size", 1, 2), Slot("drink", 2, 4)),
            sentence("just water", "order_drink"),
            sentence("waiter!", "call_staff"),
        ),
        synonyms={"tea": ("cuppa",)},
        lookups={"beverage": ("tea", "water"), "volume": ("large",)},
        slot_entities={("order_drink", "size"): "volume", ("order_drink", "drink"): "beverage"},
    )


def test_what_is_not_used_is_listed(written):
    warnings = [str(warning).partition("data.json:")[2] for warning in read(written("data.json", GOOD)).warnings]
    assert warnings == [
        "7: $.intents.order_drink.utterances[1].data[0].taste: the key 'taste' is not used",
        "10: $.intents.pay: the intent 'pay' has no utterances: it is not read",
        "19: $.entities.volume.automatically_extensible: 'automatically_extensible' is not used: "
        "values outside the list can be found too",
        "19: $.entities.volume.matching_strictness: 'matching_strictness' is not used",
        "18: $.entities.volume.data[0].synonyms: the synonyms of 'large' are not read: 'use_synonyms' is false",
    ]


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(written, as_windows_saves):
    assert read(written("windows.json", as_windows_saves(GOOD))) == read(written("unix.json", GOOD))


@pytest.mark.parametrize(
    ("content", "place", "words"),
    [
        ("\n", "data.json:", ["the file is empty"]),
        ('{"entities": {}}', "data.json:1:", ["'intents' is missing", "'entities'"]),
        ('{\n"intents": []}', "data.json:2:", ["a list of 0, expected a mapping of intents"]),
        ('{\n"intents": {}}', "data.json:2:", ["found no utterances"]),
        ('{"intents": {\n"a": {}}}', "data.json:2:", ["$.intents.a", "'utterances' is missing"]),
        ('{"intents": {\n"a": 1,\n"a": 2}}', "data.json:1:", ["$.intents", "'a' stands twice"]),
        (b'{"intents":\n\n"\xff"}', "data.json:3:", ["0xff", "expected UTF-8"]),
        (utterance('{"text": 5}'), "data.json:2:", ["data[0].text", "found 5, expected text"]),
        (utterance('{"value": "tea"}'), "data.json:2:", ["'text' is missing"]),
        (utterance('{"text": "  "}'), "data.json:2:", ["expected at least one word"]),
        (utterance(), "data.json:2:", ["expected at least one word"]),
        (
            utterance('{"text": "tea", "slot_name": "drink"}'),
            "data.json:2:",
            ["'slot_name' without 'entity'"],
        ),
        (utterance('{"text": "tea", "entity": "drink"}'), "data.json:2:", ["'entity' without 'slot_name'"]),
        (
            utterance('{"text": " ", "slot_name": "a", "entity": "b"}'),
            "data.json:2:",
            ["the words of the slot"],
        ),
        (
            utterance('{"text": "green te", "slot_name": "drink", "entity": "drink"}', '{"text": "a"}'),
            "data.json:2:",
            ["'drink' covers 'green te'", "cuts the word 'tea' (characters 6 to 9)"],
        ),
        (
            utterance(
                '{"text": "tea", "slot_name": "first", "entity": "drink"}',
                '{"text": " or "}',
                '{"text": "pie", "slot_name": "first", "entity": "food"}',
            ),
            "data.json:2:",
            ["data[2]", "the slot 'first' with the entity 'food', expected 'drink'"],
        ),
        (entity('{"data": [{"synonyms": ["a"]}]}'), "data.json:2:", ["drink.data[0]", "'value' is missing"]),
        (entity('{"data": [{"value": "tea", "synonyms": "cuppa"}]}'), "data.json:2:", ["a list of synonyms"]),
        (entity('{"data": [], "use_synonyms": "yes"}'), "data.json:2:", ["'yes', expected true or false"]),
        (entity('{"matching_strictness": "high"}'), "data.json:2:", ["'high'", "a number from 0 to 1"]),
    ],
)
def test_a_broken_file_is_refused_with_its_place(written, refusal, content, place, words):
    message = refusal(read, written("data.json", content))
    for expected in (place, *words):
        assert expected in message


def test_a_slot_may_hold_another_entity_in_another_intent(written):
    def intent(name: str, entity: str) -> str:
        chunk = f'{{"text": "this", "slot_name": "what", "entity": "{entity}"}}'
        return f'"{name}": {{"utterances": [{{"data": [{chunk}]}}]}}'

    content = f'{{"intents": {{{intent("eat", "food")}, {intent("sip", "drink")}}}}}'
    slot_entities = read(written("data.json", content)).slot_entities
    assert slot_entities == {("eat", "what"): "food", ("sip", "what"): "drink"}
