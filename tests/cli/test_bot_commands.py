"""`handful parse` with its options, and `handful export`, as a user runs them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def starter(run: Run, tmp_path: Path) -> Path:
    file = tmp_path / "starter.yml"
    assert run("demo", "--save", str(file)).code == 0
    return file


# -- explaining --------------------------------------------------------------------------------------------------------


def test_explain_tells_neighbours_slots_and_the_runner_up(run: Run, starter: Path):
    ran = run("parse", str(starter), "--explain", "send 35 dollars to Johanna")
    assert ran.code == 0
    lines = [line.strip() for line in ran.out.splitlines()]
    assert lines[0] == "send [35 dollars](amount) to [Johanna](person)"
    assert any(line.startswith("like ") and "send_money, 0." in line for line in lines)
    assert any(line.startswith("amount = 35 dollars: like “") and "(amount, 0." in line for line in lines)
    assert any(line.startswith("not ") and "(log-odds +" in line and "; words: " in line for line in lines)
    assert any(line.startswith("its nearest ") for line in lines)


def test_explain_gives_json_lines_too(run: Run, starter: Path):
    texts = ("send 35 dollars to Johanna", "", "play jazz")
    ran = run("parse", str(starter), "--explain", "--json", *texts)
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert [row["parse"]["text"] for row in rows] == list(texts)
    plain = [json.loads(line) for line in run("parse", str(starter), "--json", *texts).out.splitlines()]
    for row, parse in zip(rows, plain, strict=True):
        assert row["parse"]["intent"]["name"] == parse["intent"]["name"]
        assert [slot["value"] for slot in row["parse"]["slots"]] == [slot["value"] for slot in parse["slots"]]
    assert rows[0]["nearest"][0]["intent"] == "send_money"
    assert rows[0]["slots"][0]["nearest"][0]["slot"] == "amount"
    assert rows[0]["runner_up"]["words"]
    assert (rows[1]["nearest"], rows[1]["runner_up"]) == ([], None)


# -- rejecting ---------------------------------------------------------------------------------------------------------


def told(run: Run, bot: Path, text: str, *words: str) -> dict[str, Any]:
    ran = run("parse", str(bot), "--json", text, *words)
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


@pytest.mark.parametrize(("threshold", "rejected"), [("off", False), ("0", False), ("1", True), ("1.0", True)])
def test_a_threshold_is_taken_before_the_bots_own(run: Run, starter: Path, threshold: str, rejected: bool):
    found = told(run, starter, "play jazz", "--threshold", threshold)
    assert found["rejected"] is rejected
    assert found["intent"]["name"] == ("nlu_fallback" if rejected else "play_music")
    assert found["intent_ranking"][0]["name"] == "play_music", "what it would have been"
    starter.write_text(starter.read_text(encoding="utf-8") + "\nsettings:\n  threshold: 1.0\n", encoding="utf-8")
    assert told(run, starter, "play jazz")["rejected"] is True
    assert told(run, starter, "play jazz", "--threshold", threshold)["rejected"] is rejected


@pytest.mark.parametrize("threshold", ["1.5", "-0.1", "nan", "inf", "of", "", "0,5", "AUTO"])
def test_a_threshold_that_is_none_is_told(run: Run, bot: Path, threshold: str):
    ran = run("parse", str(bot), "hi", f"--threshold={threshold}")
    assert ran.code == 2
    assert f"--threshold: found {threshold!r}, expected auto, off, or a number from 0 to 1" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_sentence_that_is_rejected_is_shown_so(run: Run, starter: Path):
    text = "the mitochondria is the powerhouse of the cell"
    found = told(run, starter, text)
    assert (found["rejected"], found["intent"]["name"]) == (True, "nlu_fallback")
    assert 0.5 < found["intent"]["confidence"] <= 1
    shown = run("parse", str(starter), text).out
    assert "nlu_fallback   in scope " in shown
    assert f"else {found['intent_ranking'][0]['name']}" in shown, "what it would have been"
    assert "nlu_fallback" not in run("parse", str(starter), text, "--threshold", "off").out


# -- runtimes ----------------------------------------------------------------------------------------------------------


def test_torch_says_the_same(run: Run, starter: Path):
    asked = (starter, "play jazz in the kitchen")
    found, expected = (told(run, *asked, "--runtime", name) for name in ("torch", "int8"))
    assert found["intent"]["name"] == expected["intent"]["name"] == "play_music"
    assert [(slot["label"], slot["value"]) for slot in found["slots"]] == [("genre", "jazz"), ("room", "kitchen")]
    for mine, its in zip(found["slots"], expected["slots"], strict=True):
        assert mine["confidence"] == pytest.approx(its["confidence"], abs=0.02)
    assert found != expected, "not to four digits of everything: these are two runtimes"


def test_a_runtime_that_is_none_is_told(run: Run, bot: Path):
    ran = run("parse", str(bot), "hi", "--runtime", "tensorrt")
    assert ran.code == 2
    assert "tensorrt" in ran.err


# -- exporting ---------------------------------------------------------------------------------------------------------


def test_a_bot_is_exported_once(run: Run, bot: Path, tmp_path: Path):
    out = tmp_path / "out"
    first = run("export", str(bot), str(out))
    assert first.code == 0, first.err
    assert f"{out}: " in first.out.replace("\n", "")
    assert "parse.py" in first.out
    before = {file: file.stat().st_mtime_ns for file in out.rglob("*")}
    again = run("export", str(bot), str(out))
    assert again.code == 2
    assert f"{out}: is already there and was left as it is" in again.err
    assert {file: file.stat().st_mtime_ns for file in out.rglob("*")} == before


def test_folders_on_the_way_are_made_and_a_file_on_the_way_is_told(run: Run, bot: Path, tmp_path: Path):
    assert run("export", str(bot), str(tmp_path / "new" / "deep" / "out")).code == 0
    assert (tmp_path / "new" / "deep" / "out" / "parse.py").is_file()
    ran = run("export", str(bot), str(bot / "out"))
    assert ran.code == 1
    assert f"{bot / 'out'}: cannot be written: " in ran.err
    assert "Traceback" not in ran.err


def test_a_mistake_in_the_bot_leaves_no_folder(run: Run, bot: Path, tmp_path: Path):
    bot.write_text(bot.read_text().replace("](city)", "](city"))
    ran = run("export", str(bot), str(tmp_path / "out"))
    assert ran.code == 1
    assert f"{bot}:4: " in ran.err
    assert [file.name for file in tmp_path.iterdir()] == [bot.name]
    missing = run("export", str(tmp_path / "nothing.yml"), str(tmp_path / "out"))
    assert "there is no such file" in missing.err


def test_an_exported_bot_is_parsed_with(run: Run, bot: Path, tmp_path: Path):
    assert run("export", str(bot), str(tmp_path / "out")).code == 0
    assert told(run, tmp_path / "out", "fly to Paris") == told(run, bot, "fly to Paris")
    assert told(run, tmp_path / "out", "fly to Paris", "--threshold", "1")["rejected"] is True
