"""The keys that Rasa does not have: schema, descriptions and settings."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.data.bot_settings import BotSettings
from handful.data.document import Document
from handful.data.formats import jsonl, rasa_yaml
from handful.data.reading import attempt_document, detect
from handful.errors import DataError
from handful.types import Slot, Utterance

NLU = """\
nlu:
- intent: fly
  examples: |
    - to [Rome](city) on [friday](date)
    - from [Oslo]{"entity": "city", "role": "from"}
- lookup: city
  examples: |
    - Oslo
"""
KEYS = """\
handful: 1
descriptions:
  fly: somebody wants to travel
  city: >
    a town
    or village
  city:from: where the journey begins
settings:
  threshold: 0.4
  encoder: some/encoder
  checkpoint: models/mine
  runtime: int8
"""


def read(folder: Path, text: str) -> Document:
    file = folder / "bot.yml"
    file.write_text(text, encoding="utf-8")
    return rasa_yaml.read(file)


def test_our_own_keys_are_read(tmp_path: Path):
    found = read(tmp_path, KEYS + NLU)
    assert found.descriptions == {
        "fly": "somebody wants to travel",
        "city": "a town or village",
        "city:from": "where the journey begins",
    }
    assert found.settings == BotSettings(0.4, "some/encoder", tmp_path / "models" / "mine", "int8")
    assert found.warnings == ()


def test_a_file_without_them_has_the_defaults(tmp_path: Path):
    found = read(tmp_path, NLU)
    assert (found.descriptions, found.settings) == ({}, BotSettings())
    assert read(tmp_path, "settings:\ndescriptions:\n" + NLU) == found, "a key with nothing in it says nothing"


@pytest.mark.parametrize(
    ("written", "expected"),
    [("auto", "auto"), ("off", "off"), ("'off'", "off"), ("0", 0.0), ("1.0", 1.0), ("1e-3", 0.001)],
)
def test_thresholds(tmp_path: Path, written: str, expected: object):
    assert read(tmp_path, f"settings: {{threshold: {written}}}\n{NLU}").settings.threshold == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [("minilm", "minilm"), ("org/name", "org/name"), ("./here", "here"), ("../there", "../there"), ("/abs", "/abs")],
)
def test_an_encoder_is_a_name_or_a_folder(tmp_path: Path, written: str, expected: str):
    found = read(tmp_path, f"settings:\n  encoder: {written}\n{NLU}").settings.encoder
    assert found == (tmp_path / expected if written[0] in "./" else expected)


def test_where_everything_stands_is_remembered(tmp_path: Path):
    found = read(tmp_path, KEYS + NLU)
    text = (tmp_path / "bot.yml").read_text().split("\n")
    assert [place.path for place in found.places] == [tmp_path / "bot.yml"] * 2
    lines = [place.line or 0 for place in found.places]
    assert [text[line - 1].strip()[:6] for line in lines] == ["- to [", "- from"]
    named = {name: text[(place.line or 0) - 1].strip() for name, place in found.named_places.items()}
    assert named["lookup", "city"] == "- lookup: city"
    assert named["intent", "fly"] == "- intent: fly"
    assert named["settings", "checkpoint"] == "checkpoint: models/mine"
    assert named["description", "fly"] == "fly: somebody wants to travel"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("handful: 2\nnew_key: 1\n", 1, "found schema 2, but this handful reads 1: upgrade handful"),
        ("handful: 0\n", 1, "found schema 0, expected 1"),
        ("handful: yes\n", 1, "expected the number of the schema, 1"),
        ("handfull: 1\n", 1, "found the key 'handfull', which is unknown; did you mean 'handful'?"),
        ("description:\n  fly: x\n", 1, "did you mean 'descriptions'?"),
        ("descriptions: [a]\n", 1, "found a list of 1, expected a mapping of labels and what they mean"),
        ("descriptions:\n  fly:\n", 2, "found nothing, expected what 'fly' means"),
        ("descriptions:\n  fly: '  '\n", 2, "found empty text, expected what 'fly' means"),
        ("descriptions:\n  fly: x\n  City: y\n", 3, "no intent or slot 'City' to describe; did you mean 'city'?"),
        ("descriptions:\n  zzz: y\n", 2, "no intent or slot 'zzz' to describe; there are city, city:from, date, fly"),
        ("settings: 3\n", 1, "found 3, expected a mapping"),
        ("settings:\n  treshold: 0.5\n", 2, "'treshold', which is unknown; did you mean 'threshold'?"),
        ("settings:\n  threshold: 50\n", 2, "found the threshold '50', expected auto, off, or a number from 0 to 1"),
        ("settings:\n  threshold: .nan\n", 2, "found the threshold '.nan'"),
        ("settings:\n  threshold: nan\n", 2, "found the threshold 'nan'"),
        ("settings:\n  threshold: [1]\n", 2, "found a list of 1, expected auto, off"),
        ("settings:\n  runtime: int4\n", 2, "found the runtime 'int4', expected int8 or torch"),
        ("settings:\n  encoder: {}\n", 2, "expected the name or the folder of an encoder"),
        ("settings:\n  checkpoint: ~nobody-has-this-name/x\n", 2, "found the folder '~nobody-has-this-name/x'"),
    ],
)
def test_mistakes_are_told_with_their_line(tmp_path: Path, text: str, line: int, message: str):
    with pytest.raises(DataError) as caught:
        read(tmp_path, text + NLU)
    (problem,) = caught.value.problems
    assert problem.place.line == line
    assert message in problem.message


def test_a_broken_example_is_not_blamed_on_the_descriptions(tmp_path: Path):
    with pytest.raises(DataError) as caught:
        read(tmp_path, KEYS + "nlu:\n- intent: fly\n  examples: |\n    - to [Rome](city\n  exmples: x\n")
    assert not any("to describe" in problem.message for problem in caught.value.problems)


def test_the_key_that_is_missing_and_the_one_that_is_misspelt_are_told_at_once(tmp_path: Path):
    with pytest.raises(DataError) as caught:
        read(tmp_path, NLU.replace("nlu:", "nul:") + "settings: {runtime: x}\n")
    told = str(caught.value)
    assert "did you mean 'nlu'?" in told
    assert "the key 'nlu' is missing" in told
    assert "found the runtime 'x'" in told


def test_what_is_whole_in_a_broken_file_can_be_had(tmp_path: Path):
    file = tmp_path / "bot.yml"
    file.write_text(NLU.replace("- to [Rome](city)", "- to [Rome](city") + "settings: {runtime: x}\n")
    reading = attempt_document(file)
    assert reading.document is not None
    assert [utterance.text for utterance in reading.document.utterances] == ["from Oslo"]
    assert [place.line for place in reading.document.places] == [5]
    assert sorted(problem.place.line or 0 for problem in reading.problems) == [4, 9]


def test_other_formats_are_whole_or_nothing(tmp_path: Path):
    file = tmp_path / "x.jsonl"
    file.write_text('{"tokens": ["hi"], "slots": ["O"], "intent": "a"}\n{"tokens": []}\n')
    assert attempt_document(file).document is None
    assert attempt_document(file).problems[0].place.line == 2
    file.write_text('{"tokens": ["hi"], "slots": ["O"], "intent": "a"}\n')
    assert attempt_document(file).problems == ()


@pytest.mark.parametrize(
    "wrong", [{"threshold": 1.5}, {"threshold": "on"}, {"threshold": float("nan")}, {"runtime": "onnx"}]
)
def test_settings_refuse_nonsense_at_birth(wrong: dict):
    with pytest.raises(ValueError, match="expected"):
        BotSettings(**wrong)


def test_formats_without_these_keys_list_them_as_lost(tmp_path: Path):
    utterance = Utterance.from_words(["hi"], "a")
    document = Document((utterance,), descriptions={"a": "b"}, settings=BotSettings("off"))
    assert jsonl.write(document, tmp_path / "x.jsonl") == ["descriptions", "settings"]


def test_a_checkpoint_beside_the_bot_is_written_relative_and_found_from_another_folder(tmp_path: Path):
    settings = BotSettings(checkpoint=tmp_path / "here" / "model", encoder=tmp_path / "here" / "encoder")
    document = Document((Utterance.from_words(["hi"], "a"),), settings=settings)
    for folder in ("here", "there"):
        rasa_yaml.write(document, tmp_path / folder / "bot.yml")
        assert rasa_yaml.read(tmp_path / folder / "bot.yml").settings == settings
    assert "checkpoint: ./model\n" in (tmp_path / "here" / "bot.yml").read_text()


def test_relative_paths_are_relative_to_the_file_that_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    document = Document((Utterance.from_words(["hi"], "a"),), settings=BotSettings(checkpoint=Path("runs/best")))
    rasa_yaml.write(document, Path("bots/bot.yml"))
    (tmp_path / "runs" / "best").mkdir(parents=True)
    found = rasa_yaml.read(Path("bots/bot.yml")).settings.checkpoint
    assert found is not None
    assert found.resolve() == (tmp_path / "runs" / "best").resolve()


NAMES = st.one_of(
    st.sampled_from(["no", "null", "on", "12", "- x", "#1", "é: ü", "a" * 1500, "<<", "="]),
    st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=8),
)
PROSE = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r\0"), min_size=1).filter(str.strip)
THRESHOLDS = st.one_of(st.sampled_from(["auto", "off"]), st.floats(0, 1))
FOLDERS = st.none() | st.sampled_from(["model", "a b/é: x", "#x"])


@settings(max_examples=150, deadline=None)
@given(NAMES, NAMES, PROSE, THRESHOLDS, FOLDERS, FOLDERS, st.none() | st.sampled_from(["int8", "torch"]))
def test_what_is_written_is_read_back(intent: str, slot: str, prose: str, threshold, encoder, checkpoint, runtime):
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "bot.yml"
        document = Document(
            (Utterance.from_words(["hi"], intent, [Slot(slot, 0, 1)]),),
            descriptions={intent: prose, slot: prose},
            settings=BotSettings(
                threshold,
                None if encoder is None else Path(name) / encoder,
                None if checkpoint is None else Path(name) / checkpoint,
                runtime,
            ),
        )
        assert rasa_yaml.write(document, file) == []
        assert detect(file).name == "rasa-yaml"
        assert rasa_yaml.read(file) == document
