from __future__ import annotations

from pathlib import Path

import pytest

from handful.data.document import Document
from handful.data.formats.dialogflow import read
from handful.types import Slot

BOOK = """[
  {"id": "p1", "data": [{"text": "please ", "meta": "@sys.ignore", "userDefined": false}, {"text": "book "},
            {"text": "court two", "alias": "court", "meta": "@court", "userDefined": true}, {"text": " "},
            {"text": "tonight", "alias": "when", "meta": "@sys.date-time", "userDefined": false}],
   "isTemplate": false, "count": 0, "updated": 1},
  {"id": "p2", "data": [{"text": "book @court:court"}], "isTemplate": true},
  {"id": "p3", "data": [{"text": "a game of squash"}], "isTemplate": false, "colour": "blue"}
]
"""
EXPORT = {
    "agent.json": "{}",
    "notes.txt": "ours",
    "intents/book.json": '{"name": "book court", "responses": []}',
    "intents/book_usersays_en.json": BOOK,
    "intents/book_usersays_de.json": "[]",
    "intents/hello_usersays_en.json": '[{"id": "p4", "data": [{"text": "hello"}], "isTemplate": false}]',
    "intents/Fallback.json": '{"name": "Fallback"}',
    "entities/court.json": '{"name": "court", "isRegexp": false}',
    "entities/court_entries_en.json": '[{"value": "court two", "synonyms": ["court two", "centre court"]},\n'
    '{"value": "@sys.number:no", "synonyms": []}]',
    "entities/court_entries_de.json": "[]",
    "entities/member.json": '{"name": "member", "isRegexp": true}',
    "entities/member_entries_en.json": '[{"value": "M[0-9]+", "synonyms": ["M[0-9]+"]}]',
}


@pytest.fixture
def export(tmp_path, written) -> Path:
    for name, content in EXPORT.items():
        written(f"export/{name}", content)
    return tmp_path / "export"


def phrase(*chunks: str, more: str = "") -> str:
    return '[\n{"data": [' + ", ".join(chunks) + "]" + more + "}\n]"


def test_an_export_is_read_whole(export, sentence):
    assert read(export) == Document(
        utterances=(
            sentence("please book court two tonight", "book court", Slot("court", 2, 4), Slot("when", 4, 5)),
            sentence("a game of squash", "book court"),
            sentence("hello", "hello"),
        ),
        synonyms={"court two": ("centre court",)},
        lookups={"court": ("court two",)},
        regexes={"member": ("M[0-9]+",)},
        slot_entities={("book court", "court"): "court", ("book court", "when"): "sys.date-time"},
    )


def test_what_is_not_read_is_listed(export):
    warnings = [str(warning).removeprefix(f"{export}/") for warning in read(export).warnings]
    assert warnings == [
        "intents/Fallback.json: 'Fallback' has no examples in 'en': it is not read",
        "intents/book_usersays_de.json: the language 'de' is not read, 'en' is",
        "intents: the files NAME.json give only names: what else they say is not used",
        "notes.txt: is not used",
        "entities/court_entries_de.json: the language 'de' is not read, 'en' is",
        "entities: the files NAME.json give only names: what else they say is not used",
        "intents/book_usersays_en.json:6: $[1]: a template is not read: it has no words for its slots",
        "intents/book_usersays_en.json:7: $[2].colour: the key 'colour' is not used",
        "entities/court_entries_en.json:2: $[1]: '@sys.number:no' is made of other entities: it is not read",
    ]


def test_the_folder_of_intents_has_the_same_utterances(export):
    alone = read(export / "intents")
    assert alone.utterances == read(export).utterances
    assert alone.lookups == {}


def test_one_file_is_read_with_its_intents_name(export):
    assert {utterance.intent for utterance in read(export / "intents/book_usersays_en.json").utterances} == {
        "book court"
    }


def test_the_only_language_is_read(written, sentence):
    file = written("a_usersays_pt-BR.json", phrase('{"text": "bom dia"}'))
    assert read(file.parent).utterances == (sentence("bom dia", "a"),)


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(written, as_windows_saves):
    windows = written("windows/book_usersays_en.json", as_windows_saves(BOOK))
    assert read(windows) == read(written("unix/book_usersays_en.json", BOOK))


def test_languages_without_english_are_listed(written, refusal):
    written("a_usersays_fr.json", "[]")
    folder = written("a_usersays_de.json", "[]").parent
    assert "found the languages 'de', 'fr', expected 'en'" in refusal(read, folder)


def test_a_second_id_anywhere_in_the_export_is_refused(export, written, refusal):
    written("export/intents/late_usersays_en.json", phrase('{"text": "hi"}', more=', "id": "p1"'))
    message = refusal(read, export)
    assert "late_usersays_en.json:2: $[0].id: found the id 'p1' a second time" in message
    assert "book_usersays_en.json:2: $[0].id" in message


def test_the_problems_of_all_files_are_told_at_once(export, written, refusal):
    written("export/intents/book_usersays_en.json", "{}")
    written("export/intents/hello_usersays_en.json", "")
    written("export/entities/court_entries_en.json", '[\n{"value": 3}]')
    message = refusal(read, export)
    assert "book_usersays_en.json:1: $: found an empty mapping, expected a list of training phrases" in message
    assert "hello_usersays_en.json: the file is empty" in message
    assert "court_entries_en.json:2: $[0].value: found 3, expected a value" in message


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing", "nothing there, expected the folder of an export"),
        ("missing_usersays_en.json", "there is no such file"),
        ("export/agent.json", "a file of another name, expected the folder of an export"),
        ("export/entities", "found no training phrases, expected files NAME_usersays_en.json"),
    ],
)
def test_a_path_that_is_no_export_is_refused(export, refusal, name, words):
    path = export.parent / name
    message = refusal(read, path)
    assert message.startswith(f"{path}: ")
    assert words in message


COURT = '{"text": "court", "alias": "what", "meta": "@court"}'


@pytest.mark.parametrize(
    ("content", "place", "words"),
    [
        ("\n", "a_usersays_en.json:", ["the file is empty"]),
        ("[]", "a_usersays_en.json:", ["found no training phrases"]),
        ('[\n{"id": "1"}]', "a_usersays_en.json:2:", ["$[0]", "'data' is missing"]),
        ('[\n{"data": "hi"}]', "a_usersays_en.json:2:", ["the text 'hi', expected a list of chunks"]),
        ('[\n{"id": "1", "id": "2"}]', "a_usersays_en.json:2:", ["'id' stands twice"]),
        (b'[\n{"data": "\xfc"}]', "a_usersays_en.json:2:", ["0xfc", "expected UTF-8"]),
        (phrase('{"alias": "a", "meta": "@b"}'), "a_usersays_en.json:2:", ["'text' is missing"]),
        (phrase('{"text": null}'), "a_usersays_en.json:2:", ["found nothing, expected text"]),
        (phrase('{"text": "hi", "alias": "a"}'), "a_usersays_en.json:2:", ["'alias' without 'meta'"]),
        (phrase('{"text": "hi", "meta": "@b"}'), "a_usersays_en.json:2:", ["'meta' without 'alias'"]),
        (
            phrase('{"text": "hi"}', more=', "isTemplate": 1'),
            "a_usersays_en.json:2:",
            ["1, expected true or false"],
        ),
        (phrase('{"text": "hi"}', more=', "id": 7'), "a_usersays_en.json:2:", ["found 7, expected an id"]),
        (
            phrase(COURT, '{"text": "s"}'),
            "a_usersays_en.json:2:",
            ["cuts the word 'courts' (characters 0 to 6)"],
        ),
    ],
)
def test_a_broken_file_is_refused_with_its_place(written, refusal, content, place, words):
    message = refusal(read, written("a_usersays_en.json", content))
    for expected in (place, *words):
        assert expected in message


def test_a_parameter_of_two_types_keeps_the_first_and_says_so(written):
    content = phrase(COURT, '{"text": " "}', COURT.replace("@court", "@hall"))
    found = read(written("a_usersays_en.json", content))
    assert list(found.slot_entities.values()) == ["court"]
    assert "a_usersays_en.json:2: $[0].data[2]: the parameter 'what' is of the type 'hall' here" in str(
        found.warnings[-1]
    )
