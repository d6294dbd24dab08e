"""`handful tune` as a user runs it, with the checkpoint that comes with the package."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

BOT = (
    "nlu:\n"
    "- intent: fly\n  examples: |\n    - fly to [Rome](city)\n    - a flight to [New York](city) please\n"
    "    - i want to fly to [Oslo](city)\n    - get me to [San Jose](city)\n    - we need a plane to [Rio](city)\n"
    "- intent: dine\n  examples: |\n    - a table at [Casa Verde](place)\n    - book [The Golden Fork](place) for me\n"
    "    - dinner at [Chez Panisse](place)\n    - we want to eat at [Joe's](place)\n"
)


@pytest.fixture
def flights(tmp_path: Path) -> Path:
    file = tmp_path / "flights.yml"
    file.write_text(BOT, encoding="utf-8")
    return file


def test_a_bot_is_tuned_used_grown_and_put_back(flights: Path, run: Run):
    tuned = run("tune", str(flights), "--folds", "2", "--steps", "3")
    assert tuned.code == 0, tuned.err
    folder = flights.with_name("flights.yml.tuned")
    first = tuned.out.splitlines()
    assert "Held-out examples, cross-validated (9 of them)" in first[0]
    if "does not help" in tuned.out:
        assert not folder.exists()
        pytest.fail("three steps no longer help this bot: take one that they help")
    about = json.loads((folder / "tuning.json").read_text(encoding="utf-8"))
    assert about["after"]["slot_f1"] + about["after"]["intent_accuracy"] > (
        about["before"]["slot_f1"] + about["before"]["intent_accuracy"]
    )
    assert (about["steps"], about["folds"], about["seed"], len(about["examples"])) == (3, 2, 0, 9)

    text = "could we fly to San Francisco"
    fresh = run("parse", str(flights), text, "--json")
    plain = run("parse", str(flights), text, "--json", "--no-tuned")
    assert fresh.err == ""
    assert json.loads(fresh.out) != json.loads(plain.out)
    assert json.loads(fresh.out)["slots"][0]["value"] == "San Francisco"

    weights = {file.name for file in folder.glob("*.safetensors")}
    again = run("tune", str(flights), "--folds", "2", "--steps", "3")
    assert again.code == 0
    assert {file.name for file in folder.glob("*.safetensors")} == weights, "named by their content: the same weights"

    flights.write_text(BOT + "- intent: sing\n  examples: |\n    - sing a song\n    - sing for me\n", encoding="utf-8")
    grown = run("parse", str(flights), "sing something", "--json")
    assert json.loads(grown.out)["intent"]["name"] == "sing"
    assert "its examples have changed since it was tuned (2 new): `handful tune" in grown.err

    undone = run("tune", str(flights), "--undo")
    assert undone.code == 0
    assert not folder.exists()
    assert run("tune", str(flights), "--undo").code == 2, "there is none any more"


def test_a_bot_that_is_the_folder_one_is_in(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch):
    rows = {"seq.in": "fly to rome\nhello there\n", "seq.out": "O O B-city\nO O\n", "label": "fly\ngreet\n"}
    (tmp_path / "mine").mkdir()
    for name, text in rows.items():
        (tmp_path / "mine" / name).write_text(text)
    monkeypatch.chdir(tmp_path / "mine")
    parsed = run("parse", ".", "fly to oslo", "--json")
    assert parsed.code == 0, parsed.err
    assert json.loads(parsed.out)["intent"]["name"] == "fly"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["{tmp}/none.yml"], 1, "none.yml"),
        (["{lonely}"], 2, "there is nothing to tune by"),
        (["{bot}", "--folds", "1"], 2, "folds"),
        (["{bot}", "--seconds", "1", "--steps", "400"], 1, "seconds were used up"),
    ],
)
def test_what_cannot_be_tuned_is_told_in_a_line(
    words: list[str], code: int, told: str, flights: Path, tmp_path: Path, run: Run
):
    lonely = tmp_path / "lonely.yml"
    lonely.write_text("nlu:\n- intent: a\n  examples: |\n    - hello\n- intent: b\n  examples: |\n    - bye\n")
    done = run("tune", *(word.format(tmp=tmp_path, bot=flights, lonely=lonely) for word in words))
    assert done.code == code
    assert told in done.err
    assert "Traceback" not in done.err
    assert not flights.with_name("flights.yml.tuned").exists()
