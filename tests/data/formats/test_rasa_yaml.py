from __future__ import annotations

from pathlib import Path

import pytest

from handful.data.formats import rasa_yaml
from handful.errors import DataError
from handful.types import Slot

GOOD = """\
version: "3.1"
nlu:
- intent: book_flight   # a comment
  metadata: {owner: travel}
  examples: |
    - fly to [Boston](city)
    - [Rome]{"entity": "city", "role": "from"} please

- intent: chitchat/greet
  examples:
  - text: |
      hello there
    metadata:
      mood: [good, 3]
  - text: "bye"
  - good evening
- intent: no
  examples: |
    - nope
- synonym: New York
  examples: |
    - NYC
    - big apple
- regex: zip
  examples: |
    - \\d{5}
- lookup: city
  examples: |
    - Boston
    - Rome
"""


def read(tmp_path: Path, text: str):
    file = tmp_path / "bot.yml"
    file.write_text(text, encoding="utf-8")
    return rasa_yaml.read(file)


def test_every_section_is_read(tmp_path: Path):
    found = read(tmp_path, GOOD)
    assert [(u.intent, u.text) for u in found.utterances] == [
        ("book_flight", "fly to Boston"),
        ("book_flight", "Rome please"),
        ("chitchat/greet", "hello there"),
        ("chitchat/greet", "bye"),
        ("chitchat/greet", "good evening"),
        ("no", "nope"),
    ]
    assert found.utterances[1].slots == (Slot("city", 0, 1, role="from"),)
    assert found.synonyms == {"New York": ("NYC", "big apple")}
    assert found.regexes == {"zip": ("\\d{5}",)}
    assert found.lookups == {"city": ("Boston", "Rome")}
    assert found.intent_metadata == {"book_flight": {"owner": "travel"}}
    assert found.example_metadata == {2: {"mood": ["good", 3]}}
    assert found.warnings == ()


def test_sections_that_say_nothing_of_language_are_listed(tmp_path: Path):
    found = read(tmp_path, GOOD + "stories:\n- story: x\n")
    assert [problem.message for problem in found.warnings] == ["the section 'stories' is not used"]


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(tmp_path: Path):
    file = tmp_path / "windows.yml"
    file.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert rasa_yaml.read(file) == read(tmp_path, GOOD)


def with_examples(*lines: str) -> str:
    return "nlu:\n- intent: a\n  examples: |\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", "bot.yml", "the file is empty"),
        ("# nothing\n", "bot.yml", "only comments"),
        ("- a\n- b\n", "bot.yml:1", "expected a mapping with the key 'nlu'"),
        ("version: '3.1'\n", "bot.yml:1", "the key 'nlu' is missing"),
        ("nlu: hello\n", "bot.yml:1", "expected a list of intents"),
        ("nlu: []\n", "bot.yml:1", "no examples"),
        ("nlu:\n- intent: a\n", "bot.yml:2", "'examples' is missing"),
        ("nlu:\n- intent:\n  examples: |\n    - hi\n", "bot.yml:2", "found nothing, expected the name"),
        ("nlu:\n- intent: a\n  regex: b\n  examples: |\n    - hi\n", "bot.yml:2", "intent and regex"),
        ("nlu:\n- intnet: a\n  examples: |\n    - hi\n", "bot.yml:2", "found none of"),
        ("nlu:\n- intent: a\n  example: |\n    - hi\n", "bot.yml:3", "the key 'example'"),
        ("nlu:\n- intent: a\n  examples: |\n    - hi\nnlu: []\n", "bot.yml:5", "'nlu' stands twice"),
        ("nlp: 1\n" + with_examples("- hi"), "bot.yml:1", "the key 'nlp'"),
        ("version: '4.0'\n" + with_examples("- hi"), "bot.yml:1", "found version '4.0'"),
        (with_examples("- hi", "hello"), "bot.yml:5", "a dash and a space"),
        (
            with_examples("- hi", "-5 degrees"),
            "bot.yml:5",
            "found '-5 degrees', expected a line that starts with a dash",
        ),
        (with_examples("- hi", "-", "- ho"), "bot.yml:5", "an empty example"),
        (with_examples("- hi", "", "- to [Rome(city)"), "bot.yml:6", "without its ']'"),
        (with_examples("- at 9[am](time)"), "bot.yml:4", "cuts the word '9am' (characters 3 to 6)"),
        ("nlu:\n- intent: a\n  examples: >\n    - hi\n    - ho\n", "bot.yml:3", "folded block"),
        ("nlu:\n- intent: a\n  examples:\n  - txt: hi\n", "bot.yml:4", "the key 'txt'"),
        ("nlu:\n- regex: r\n  examples: |\n    - ([a-z\n", "bot.yml:4", "not a regular expression"),
        ("nlu:\n- intent: a\n  examples: |\n    - hi\n  bad\n", "bot.yml:", "not YAML"),
        ("nlu:\n- intent: &x a\n  examples: *x\n", "bot.yml:3", "an alias"),
        ("nlu: !!python/object:os.system\n- x\n", "bot.yml:1", "the YAML tag"),
        ("nlu:\n- intent: !!binary aGk=\n  examples: |\n    - hi\n", "bot.yml:2", "the YAML tag"),
        ("a: 1\n---\nnlu: 2\n", "bot.yml:3", "second YAML document"),
        ("nlu:\n- intent: a\n  examples: |\n    - h\x07i\n", "bot.yml:4", "U+0007"),
    ],
)
def test_broken_files_are_told_with_their_line(tmp_path: Path, text: str, place: str, message: str):
    with pytest.raises(DataError) as caught:
        read(tmp_path, text)
    told = str(caught.value)
    assert place in told
    assert message in told


def test_everything_that_is_wrong_is_told_at_once(tmp_path: Path):
    with pytest.raises(DataError) as caught:
        read(tmp_path, with_examples("- [a](", "- fine", "- b]") + "  extra: 1\n")
    assert [problem.place.line for problem in caught.value.problems] == [7, 4, 6]


def test_one_intent_in_two_places_is_joined_but_has_one_metadata(tmp_path: Path):
    twice = "nlu:\n" + "- intent: a\n  metadata: {{x: {}}}\n  examples: |\n    - hi {}\n" * 2
    assert len(read(tmp_path, twice.format(1, "you", 1, "there")).utterances) == 2
    with pytest.raises(DataError, match=r"bot\.yml:7: the intent 'a' has other metadata before"):
        read(tmp_path, twice.format(1, "you", 2, "there"))
