"""Import and export: every format, nothing of the server's own, and all or nothing."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from handful.data.reading import FORMATS
from handful.serve.settings import ServeSettings
from serve.api.conftest import Serve

RASA_YAML = """nlu:
- intent: fly
  examples: |
    - to [Oslo](city)
    - hi
- lookup: city
  examples: |
    - Oslo
"""
FILES: dict[str, str | Mapping[str, str]] = {
    "rasa-yaml": RASA_YAML,
    "rasa-json": json.dumps(
        {"rasa_nlu_data": {"common_examples": [
            {"text": "to Oslo", "intent": "fly", "entities": [{"start": 3, "end": 7, "entity": "city"}]}
        ]}}
    ),
    "snips-json": json.dumps(
        {"intents": {"fly": {"utterances": [{"data": [
            {"text": "to "}, {"text": "Oslo", "entity": "city", "slot_name": "city"}
        ]}]}}, "entities": {"city": {}}, "language": "en"}
    ),
    "snips-yaml": "type: intent\nname: fly\nslots:\n- name: city\n  entity: place\nutterances:\n- to [city](Oslo)\n",
    "dialogflow": {
        "agent/intents/fly.json": json.dumps({"name": "fly"}),
        "agent/intents/fly_usersays_en.json": json.dumps(
            [{"data": [{"text": "to "}, {"text": "Oslo", "alias": "city", "meta": "@city"}]}]
        ),
    },
    "luis": json.dumps(
        {"luis_schema_version": "3.2.0", "utterances": [
            {"text": "to Oslo", "intent": "fly", "entities": [{"entity": "city", "startPos": 3, "endPos": 6}]}
        ]}
    ),
    "wit": json.dumps(
        {"utterances": [{"text": "to Oslo", "intent": "fly", "traits": [], "entities": [
            {"entity": "city:city", "start": 3, "end": 7, "body": "Oslo", "entities": []}
        ]}]}
    ),
    "seq": {"seq.in": "to Oslo\n", "seq.out": "O B-city\n", "label": "fly\n"},
    "conll": "# intent: fly\nto O\nOslo B-city\n",
    "jsonl": json.dumps({"tokens": ["to", "Oslo"], "slots": ["O", "B-city"], "intent": "fly"}) + "\n",
    "top": "to Oslo\tto Oslo\t[IN:fly to [SL:city Oslo ] ]\n",
}  # fmt: skip


def zipped(files: Mapping[str, str | bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def imported(client: TestClient, content: str | bytes | Mapping[str, str], bot: str = "b", **params: Any) -> Any:
    body = zipped(content) if isinstance(content, Mapping) else content
    return client.post(f"/v1/bots/{bot}/import", content=body, params=params)


@pytest.fixture
def empty(serve: Serve) -> TestClient:
    client = serve()
    client.post("/v1/bots", json={"name": "b"})
    return client


@pytest.mark.parametrize("name", list(FILES))
def test_every_format_comes_in(empty: TestClient, name: str):
    content = FILES[name]
    done = imported(empty, content)
    assert done.status_code == 200, done.json()["message"]
    (example,) = [e for e in done.json()["examples"] if e["slots"]]
    assert (example["intent"].lower(), example["text"]) == ("fly", "to Oslo")
    assert example["slots"][0]["slot"] == "city"
    assert (example["slots"][0]["start"], example["slots"][0]["end"]) == (3, 7)
    assert imported(empty, content, format=name, mode="replace").json()["version"] == 3


def test_the_formats_that_there_are_are_told(empty: TestClient):
    told = empty.get("/v1/formats").json()["formats"]
    assert [row["name"] for row in told] == [known.name for known in FORMATS]
    assert {row["name"] for row in told if row["writes"]} == {"rasa-yaml", "seq", "conll", "jsonl"}


@pytest.mark.parametrize("name", ["rasa-yaml", "seq", "conll", "jsonl"])
def test_what_goes_out_comes_in_again(empty: TestClient, name: str):
    imported(empty, RASA_YAML)
    out = empty.get("/v1/bots/b/export", params={"format": name})
    assert out.status_code == 200
    assert out.headers["content-disposition"].startswith('attachment; filename="b.')
    empty.post("/v1/bots", json={"name": "copy"})
    back = imported(empty, out.content, "copy", format=name)
    assert [(e["intent"], e["marked"]) for e in back.json()["examples"]] == [("fly", "to [Oslo](city)"), ("fly", "hi")]


def test_adding_joins_and_replacing_replaces(empty: TestClient):
    imported(empty, RASA_YAML)
    other = "nlu:\n- intent: greet\n  examples: |\n    - hey\n- lookup: city\n  examples: |\n    - Rome\n"
    assert imported(empty, other).json()["version"] == 3
    text = empty.get("/v1/bots/b/export").text
    assert ("- Oslo" in text, "- Rome" in text, "- hey" in text) == (True, True, True)
    assert imported(empty, other, mode="replace").json()["version"] == 4
    text = empty.get("/v1/bots/b/export").text
    assert ("- Oslo" in text, "- Rome" in text, "[Oslo]" in text) == (False, True, False)
    old = empty.get("/v1/bots/b/export", params={"version": 2}).text
    assert "to [Oslo](city)" in old


def test_problems_name_the_senders_file_and_line_and_nothing_is_lost(empty: TestClient):
    imported(empty, RASA_YAML)
    broken = RASA_YAML + "- intent: x\n  examples: |\n    - a [b\n    - [c]\n"
    refused = imported(empty, broken, file="my bots/flights.yml")
    assert refused.status_code == 422
    problems = refused.json()["details"]["problems"]
    assert [(problem["file"], problem["line"]) for problem in problems] == [("flights.yml", 11), ("flights.yml", 12)]
    assert refused.json()["message"].startswith("flights.yml:11: ")
    assert empty.get("/v1/bots/b").json()["version"] == 2
    assert imported(empty, "what is this", file="a.txt").status_code == 422
    assert imported(empty, b"\xff\xfe\x00").status_code == 422
    assert imported(empty, b"").status_code == 422
    assert imported(empty, RASA_YAML, format="yaml").status_code == 422
    assert imported(empty, RASA_YAML, bot="nobody").status_code == 404


@pytest.mark.parametrize(
    "text",
    [
        "include:\n- {secret}\n" + RASA_YAML,
        "include:\n- ../../../../../../../..{secret}\n" + RASA_YAML,
        "settings:\n  encoder: {secret}\n" + RASA_YAML,
        "settings:\n  checkpoint: {secret}\n" + RASA_YAML,
        "settings:\n  runtime: torch\n" + RASA_YAML,
    ],
)
def test_no_file_of_the_server_can_be_reached(empty: TestClient, text: str, tmp_path: Path):
    secret = tmp_path / "secret.yml"
    secret.write_text("nlu:\n- intent: secret\n  examples: |\n    - the treasure is here\n", encoding="utf-8")
    refused = imported(empty, text.format(secret=secret))
    assert refused.status_code == 422
    assert "treasure" not in refused.text
    assert empty.get("/v1/bots/b").json()["version"] == 1


@pytest.mark.parametrize("name", ["../../{}", "{}", "..\\..\\{}", "a/../../../{}"])
def test_a_zip_writes_nowhere_but_in_its_own_folder(empty: TestClient, name: str, tmp_path: Path):
    target = name.format(tmp_path / "escaped.yml")
    done = imported(empty, zipped({target: RASA_YAML}))
    assert done.status_code == 200, "by its own name it is a file like any other"
    assert not list(tmp_path.iterdir())


def test_a_zip_that_is_a_bomb_or_damaged_is_refused(serve: Serve):
    client = serve(ServeSettings(most_import=1_000_000))
    client.post("/v1/bots", json={"name": "b"})
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("seq.in", b"a" * 30_000_000)
    assert len(packed.getvalue()) < 100_000
    assert imported(client, packed.getvalue()).status_code == 413
    assert imported(client, zipped({"seq.in": "a\n"})[:-30]).status_code == 422
    assert imported(client, zipped({})).status_code == 422
    assert imported(client, zipped({f"f{number}": "" for number in range(501)})).status_code == 422


def test_yaml_that_multiplies_itself_is_bounded(empty: TestClient):
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    for number in range(1, 12):
        before = "a" if number == 1 else f"a{number - 1}"
        lines.append(f"a{number}: &a{number} [{', '.join([f'*{before}'] * 10)}]")
    bomb = "nlu:\n- intent: fly\n  metadata:\n    " + "\n    ".join(lines) + "\n  examples: |\n    - hi\n"
    refused = imported(empty, bomb)
    assert refused.status_code == 422


def test_an_expression_that_runs_away_is_refused(empty: TestClient):
    wild = RASA_YAML + "- regex: city\n  examples: |\n    - (a+)+$\n"
    refused = imported(empty, wild)
    assert refused.status_code == 422
    assert "the regular expression 'city' takes ever so long" in refused.json()["message"]


def test_what_a_file_cannot_hold_is_told(empty: TestClient):
    assert empty.get("/v1/bots/b/export").status_code == 422, "there is nothing to write"
    imported(empty, RASA_YAML)
    empty.post("/v1/bots/b/intents", json={"name": "later", "description": "one day"})
    out = empty.get("/v1/bots/b/export")
    assert out.headers["x-handful-not-written"] == (
        "the intents without examples: later; descriptions of what has no example"
    )
    assert imported(empty, out.content, mode="replace").status_code == 200


def test_a_corrected_example_keeps_what_its_file_said_of_it(empty: TestClient):
    text = "nlu:\n- intent: fly\n  examples:\n  - text: to Oslo\n    metadata: {seen: 7}\n"
    (example,) = imported(empty, text).json()["examples"]
    empty.put(f"/v1/bots/b/examples/{example['id']}", json={"intent": "fly", "marked": "to [Oslo](city)"})
    out = empty.get("/v1/bots/b/export").text
    assert "seen: 7" in out
    assert "[Oslo](city)" in out


@pytest.mark.parametrize("number", [".nan", ".inf"])
def test_metadata_that_no_database_keeps_is_refused(empty: TestClient, number: str):
    text = f"nlu:\n- intent: fly\n  examples:\n  - text: to Oslo\n    metadata: {{seen: {number}}}\n"
    assert imported(empty, text).status_code == 422
    assert empty.get("/v1/bots/b").json()["version"] == 1


def test_zips_as_people_make_them(empty: TestClient):
    made_on_a_mac = zipped({"bot.yml": RASA_YAML, "__MACOSX/._bot.yml": b"\0\1", "._bot.yml": b"\0"})
    assert imported(empty, made_on_a_mac).status_code == 200
    twice = io.BytesIO()
    with zipfile.ZipFile(twice, "w") as archive:
        archive.writestr("../seq.in", "a\n")
        archive.writestr("seq.in", "b\n")
    assert "two files" in imported(empty, twice.getvalue()).json()["message"]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("seq.in", "a b c d e f g " * 100)
    damaged = bytearray(packed.getvalue())
    damaged[50:60] = b"\xff" * 10
    assert imported(empty, bytes(damaged)).status_code == 422
    with zipfile.ZipFile(packed := io.BytesIO(), "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("seq.in", "a\n")
    assert imported(empty, packed.getvalue()).status_code == 422


def test_a_renamed_intent_keeps_its_place(empty: TestClient):
    for name in ("a", "b", "c"):
        empty.post("/v1/bots/b/intents", json={"name": name, "examples": [{"text": name}]})
    empty.patch("/v1/bots/b/intents/a", json={"name": "z"})
    assert [intent["name"] for intent in empty.get("/v1/bots/b").json()["intents"]] == ["z", "b", "c"]
    assert [e["intent"] for e in empty.get("/v1/bots/b/examples").json()["examples"]] == ["z", "b", "c"]


def test_a_long_list_of_what_is_not_written_is_cut(empty: TestClient):
    imported(empty, RASA_YAML)
    for number in range(60):
        empty.post("/v1/bots/b/intents", json={"name": f"an intent with a long name and the number {number}"})
    assert len(empty.get("/v1/bots/b/export").headers["x-handful-not-written"]) < 1100
