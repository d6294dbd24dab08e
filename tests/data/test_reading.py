from __future__ import annotations

import json
from pathlib import Path

import pytest

from handful.data.reading import FORMATS, detect, format_named, read_document
from handful.errors import ConfigError, DataError

CONTENT = {
    "rasa-yaml": "version: '3.1'\nnlu:\n- intent: a\n  examples: |\n    - hi\n",
    "rasa-json": json.dumps({"rasa_nlu_data": {"common_examples": [{"text": "hi", "intent": "a"}]}}),
    "snips-json": json.dumps({"intents": {"a": {"utterances": [{"data": [{"text": "hi"}]}]}}, "entities": {}}),
    "snips-yaml": "type: intent\nname: a\nutterances:\n- hi\n",
    "luis": json.dumps({"luis_schema_version": "7.0.0", "utterances": [{"text": "hi", "intent": "a", "entities": []}]}),
    "wit": json.dumps({"utterances": [{"text": "hi", "intent": "a", "entities": []}]}, indent=1),
    "conll": "# intent: a\nhi O\n",
    "jsonl": '{"tokens": ["hi"], "slots": ["O"], "intent": "a"}\n',
    "top": "hi\thi\t[IN:a hi ]\n",
    "released": '{"text_u": "hi", "intent": "a", "slots": "O"}\n',
}


@pytest.mark.parametrize("name", CONTENT)
def test_content_tells_the_format_whatever_the_file_is_called(tmp_path: Path, name: str):
    file = tmp_path / "export.txt"
    file.write_text(CONTENT[name], encoding="utf-8")
    assert detect(file).name == name
    (utterance,) = read_document(file).utterances
    assert (utterance.text, utterance.intent) == ("hi", "a")


def test_every_format_is_detected_by_some_test():
    assert {known.name for known in FORMATS} - set(CONTENT) == {"seq", "dialogflow"}


def test_folders(tmp_path: Path):
    intents = tmp_path / "agent" / "intents"
    intents.mkdir(parents=True)
    (intents / "a_usersays_en.json").write_text('[{"id": "1", "data": [{"text": "hi"}]}]')
    assert detect(tmp_path / "agent").name == "dialogflow"
    assert detect(intents).name == "dialogflow"
    assert detect(intents / "a_usersays_en.json").name == "dialogflow"
    (tmp_path / "seq.in").write_text("hi\n")
    assert detect(tmp_path).name == "seq"


@pytest.mark.parametrize("content", ['"nlu":\n- intent: a\n', "  nlu:\n  - intent: a\n", "{nlu: [{intent: a}]}\n"])
def test_yaml_may_quote_indent_or_flow(tmp_path: Path, content: str):
    file = tmp_path / "bot.yml"
    file.write_text(content)
    assert detect(file).name == "rasa-yaml"


def test_a_comment_with_an_intent_makes_it_conll_whatever_its_tags(tmp_path: Path):
    file = tmp_path / "x"
    file.write_text("# intent: a\nhi S-x\n")
    with pytest.raises(DataError, match="x:2: found the tag 'S-x'"):
        read_document(file)


def test_several_rows_of_json_are_json_lines(tmp_path: Path):
    file = tmp_path / "x.json"
    file.write_text(CONTENT["jsonl"] * 2)
    assert detect(file).name == "jsonl"


@pytest.mark.parametrize(
    ("content", "candidates"),
    [
        ('{"rasa_nlu_data": {}, "luis_schema_version": "7"}', "rasa-json and luis"),
        ('{"intents": {}, "utterances": []}', "snips-json and wit"),
        ('{"tokens": [], "text_u": ""}', "jsonl and released"),
        ("type: intent\nname: a\nnlu:\n- x\n", "rasa-yaml and snips-yaml"),
    ],
)
def test_an_ambiguous_file_is_an_error_that_lists_the_candidates(tmp_path: Path, content: str, candidates: str):
    file = tmp_path / "x"
    file.write_text(content)
    with pytest.raises(DataError, match=f"this could be {candidates}: say which with --format"):
        detect(file)


def test_an_ambiguous_folder_lists_the_candidates(tmp_path: Path):
    (tmp_path / "seq.in").write_text("hi\n")
    (tmp_path / "a_usersays_en.json").write_text("[]")
    with pytest.raises(DataError, match="this could be seq and dialogflow"):
        detect(tmp_path)


def test_the_format_can_be_said(tmp_path: Path):
    file = tmp_path / "x"
    file.write_text('{"utterances": [{"text": "hi", "intent": "a", "entities": []}], "intents": {}}')
    assert read_document(file, "wit").utterances[0].intent == "a"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("\njust some text\n", "x:1: found the text 'just some text', which is no format that handful knows"),
        ('{"rasa_nlu_dta": 1}', "found a mapping with the keys 'rasa_nlu_dta', which is no format"),
        ('{"a": 1\n', "x:2: not JSON"),
        ("[1, 2]", "found a list of 2, which is no format"),
        ("<xml/>", "found the text '<xml/>', which is no format"),
        ("a word\t\n", "which is no format"),
        ("nul:\n- intent: a\n", "found the text 'nul:'"),
    ],
)
def test_what_is_no_format_lists_those_there_are(tmp_path: Path, content: str, message: str):
    file = tmp_path / "x"
    file.write_text(content)
    with pytest.raises(DataError) as caught:
        detect(file)
    assert message in str(caught.value)


def test_one_of_three_parallel_files_names_the_folder(tmp_path: Path):
    for name in ("seq.in", "seq.out", "label"):
        (tmp_path / name).write_text("hi\n")
    with pytest.raises(DataError, match="give their folder"):
        detect(tmp_path / "seq.in")


def test_a_misspelt_format_is_told_with_the_right_one():
    with pytest.raises(ConfigError, match="did you mean 'rasa-yaml'"):
        format_named("rasa-yml")


def test_repair_needs_tags(tmp_path: Path):
    file = tmp_path / "bot.yml"
    file.write_text(CONTENT["rasa-yaml"])
    with pytest.raises(ConfigError, match="has none"):
        read_document(file, repair=True)
