from __future__ import annotations

import json

import pytest

from handful.data.document import Document
from handful.data.formats.rasa_json import read
from handful.types import Slot

GOOD = """{
  "rasa_nlu_data": {
    "common_examples": [
      {"text": "wake me at six", "intent": "set_alarm",
       "entities": [{"start": 11, "end": 14, "value": "6:00", "entity": "time", "role": "to", "group": "1"}]},
      {"text": "good night", "intent": "goodbye", "metadata": {"source": "log"}, "colour": "blue"},
      {"text": "sing in Köln", "intent": "play", "entities": [{"start": 8, "end": 12, "entity": "city"}]}
    ],
    "entity_synonyms": [{"value": "Cologne", "synonyms": ["Köln", "Koeln"]}],
    "lookup_tables": [{"name": "city", "elements": ["Cologne", "Bonn"]}],
    "regex_features": [{"name": "time", "pattern": "[0-9]+:[0-9]+"}]
  }
}
"""


def example(item: str) -> str:
    return f'{{"rasa_nlu_data": {{"common_examples": [\n{item}\n]}}}}'


def annotated(*entities: str) -> str:
    return example('{"text": "wake me at six", "intent": "set_alarm", "entities": [' + ", ".join(entities) + "]}")


def test_a_file_is_read_whole(written, sentence):
    document = read(written("data.json", GOOD))
    assert document == Document(
        utterances=(
            sentence("wake me at six", "set_alarm", Slot("time", 3, 4, "6:00", "to", "1")),
            sentence("good night", "goodbye"),
            sentence("sing in Köln", "play", Slot("city", 2, 3)),
        ),
        synonyms={"Cologne": ("Köln", "Koeln")},
        lookups={"city": ("Cologne", "Bonn")},
        regexes={"time": ("[0-9]+:[0-9]+",)},
        example_metadata={1: {"source": "log"}},
    )
    (warning,) = document.warnings
    assert str(warning).endswith("data.json:6: $.rasa_nlu_data.common_examples[1].colour: the key 'colour' is not used")


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(written, as_windows_saves):
    assert read(written("windows.json", as_windows_saves(GOOD))) == read(written("unix.json", GOOD))


@pytest.mark.parametrize(
    ("content", "place", "words"),
    [
        ("", "data.json:", ["the file is empty"]),
        ("[]", "data.json:1:", ["found a list of 0, expected a mapping"]),
        ('{\n"rasa_nlu_data": {"common_examples": []}}', "data.json:2:", ["found no examples"]),
        ('{"rasa_nlu_data": {\n"common_examples": 5}}', "data.json:2:", ["found 5, expected a list"]),
        ('{"common_examples": []}', "data.json:1:", ["'rasa_nlu_data' is missing", "'common_examples'"]),
        ('{\n"rasa_nlu_data": {,\n}}', "data.json:2:", ["not JSON", "column 19"]),
        (b'{"rasa_nlu_data":\n"\xe9"}', "data.json:2:", ["0xe9", "expected UTF-8"]),
        (example('{"text": "a", "text": "b"}'), "data.json:2:", ["'text' stands twice"]),
        (example('{"text": "good night"}'), "data.json:2:", ["common_examples[0]", "'intent' is missing"]),
        (example('{"text": " ", "intent": "a"}'), "data.json:2:", ["empty text"]),
        (
            example('{"text": "?", "intent": ["a"]}'),
            "data.json:2:",
            ["a list of 1, expected an intent's name"],
        ),
        (annotated('{"start": 11, "end": 14}'), "data.json:2:", ["entities[0]", "'entity' is missing"]),
        (annotated('{"start": "11", "end": 14, "entity": "t"}'), "data.json:2:", ["'11'", "a whole number"]),
        (annotated('{"start": true, "end": 14, "entity": "t"}'), "data.json:2:", ["True", "a whole number"]),
        (
            annotated('{"start": 5, "end": 6, "entity": "t"}'),
            "data.json:2:",
            ["cuts the word 'me'", "5 to 7"],
        ),
        (annotated('{"start": 11, "end": 99, "entity": "t"}'), "data.json:2:", ["11 to 99", "14 characters"]),
        (
            annotated('{"start": 0, "end": 7, "entity": "a"}', '{"start": 5, "end": 10, "entity": "b"}'),
            "data.json:2:",
            ["'a' on 'wake me'", "'b' on 'me at'", "overlap"],
        ),
        (
            '{"rasa_nlu_data": {"common_examples": [],\n"lookup_tables": [{"name": "a", "elements": "c"}]}}',
            "data.json:2:",
            ["lookup_tables[0].elements", "found 'c'", "expected a list of values"],
        ),
    ],
)
def test_a_broken_file_is_refused_with_its_place(written, refusal, content, place, words):
    message = refusal(read, written("data.json", content))
    for expected in (place, *words):
        assert expected in message


def test_every_bad_example_is_named_at_once(written, refusal):
    message = refusal(read, written("data.json", example('{"text": "a"},\n{"intent": "b"},\n{"text": 3}')))
    assert [line.split(": ")[0].rsplit(":", 1)[1] for line in message.splitlines()] == ["2", "3", "4"]


def test_a_large_file_names_its_last_line(written, refusal):
    good = ",\n".join(['{"text": "good night", "intent": "goodbye"}'] * 3000)
    message = refusal(read, written("data.json", example(f'{good},\n{{"text": "good night"}}')))
    assert "data.json:3002: $.rasa_nlu_data.common_examples[3000]: the key 'intent' is missing" in message


def test_patterns_python_cannot_read_and_empty_lists_are_listed_and_left_out(written):
    data = {
        "common_examples": [{"text": "hi", "intent": "greet"}],
        "regex_features": [{"name": "zip", "pattern": "(\\d{5"}, {"name": "ok", "pattern": "a+"}],
        "entity_synonyms": [{"value": "NYC", "synonyms": [], "note": "x"}],
    }
    found = read(written("x.json", json.dumps({"rasa_nlu_data": data})))
    assert found.regexes == {"ok": ("a+",)}
    assert found.synonyms == {}
    told = "\n".join(str(problem) for problem in found.warnings)
    assert "is not a regular expression" in told
    assert "'NYC' has no synonyms that can be used" in told
    assert "the key 'note' is not used" in told
