"""`handful test` as a bot-builder runs it, with the checkpoint that comes with the package."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from handful.cli.show_report import print_report
from handful.report.assessment import assess
from handful.report.report import Against, Report
from report.parses import case

Run = Callable[..., Any]

BOT = (
    "nlu:\n"
    "- intent: fly\n  examples: |\n    - fly to [Rome](city)\n    - a flight to [New York](city) please\n"
    "    - i want to fly to [Oslo](city)\n    - get me to [San Jose](city)\n    - we need a plane to [Rio](city)\n"
    "- intent: dine\n  examples: |\n    - a table at [Casa Verde](place)\n    - book [The Golden Fork](place) for me\n"
    "    - dinner at [Chez Panisse](place)\n    - we want to eat at [Joe's](place)\n"
)
HELD = (
    "nlu:\n"
    "- intent: fly\n  examples: |\n    - fly me to [Lima](city)\n    - fly to [Rome](city)\n"
    "- intent: sing\n  examples: |\n    - sing a [sad](mood) song\n"
)


@pytest.fixture
def flights(tmp_path: Path) -> Path:
    file = tmp_path / "flights.yml"
    file.write_text(BOT, encoding="utf-8")
    return file


@pytest.fixture
def held(tmp_path: Path) -> Path:
    file = tmp_path / "held.yml"
    file.write_text(HELD, encoding="utf-8")
    return file


def test_a_bot_is_asked_for_its_own_examples(flights: Path, run: Run):
    done = run("test", str(flights), "--folds", "3")
    assert done.code == 0, done.err
    assert "flights, asked for its own examples, cross-validated in 3 folds (seed 0)" in done.out
    for part in ("intent accuracy", "slot F1", "all right", "Intents, the worst first", "Slots, the worst first"):
        assert part in done.out


def test_json_alone_on_stdout_and_the_same_for_the_same_seed(flights: Path, run: Run):
    first = run("test", str(flights), "--json", "-", "--seed", "3")
    assert first.code == 0, first.err
    told = json.loads(first.out)
    assert told["format"] == 1
    assert told["asked"] == {"mode": "cross-validation", "folds": 5, "seed": 3, "utterances": 9}
    assert sum(row["support"] for row in told["intents"]) == 9
    assert run("test", str(flights), "--json", "-", "--seed", "3").out == first.out


def test_what_the_bot_does_not_know_is_told_and_is_wrong(flights: Path, held: Path, run: Run):
    done = run("test", str(flights), "--against", str(held), "--json", "-")
    assert done.code == 0, done.err
    assert "1 intent of the file is unknown to the bot and can only be wrong, in 1 utterance: 'sing'" in done.err
    assert "1 slot of the file is unknown to the bot and can only be wrong, in 1 utterance: 'mood'" in done.err
    assert "1 of the 3 utterances are examples of the bot" in done.err
    told = json.loads(done.out)
    assert told["asked"] == {"mode": "against", "file": str(held), "utterances": 3}
    assert len(told["notes"]) == 3
    sung = next(error for error in told["errors"] if error["gold"]["intent"] == "sing")
    assert len(sung["nearest"]) == 3
    assert {near["intent"] for near in sung["nearest"]} <= {"fly", "dine"}
    assert next(row for row in told["slots"] if row["name"] == "mood")["recall"] == 0.0


def test_a_page_and_a_file_of_json_are_written(flights: Path, held: Path, tmp_path: Path, run: Run):
    files = tmp_path / "out.json", tmp_path / "out.html"
    done = run("test", str(flights), "--against", str(held), "--json", str(files[0]), "--html", str(files[1]))
    assert done.code == 0, done.err
    assert all(f"{file}: written" in done.err for file in files)
    told = json.loads(files[0].read_text(encoding="utf-8"))
    page = files[1].read_text(encoding="utf-8")
    assert f"{100 * told['scores']['intent_accuracy']:.1f} %" in page
    assert "sing a " in page
    assert "we need a plane to Rio" in page, "every example is on the map"


def test_without_the_extra_a_page_is_refused_before_the_work(
    flights: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "vl_convert", None)  # as Python marks what cannot be imported
    done = run("test", str(flights), "--html", str(tmp_path / "out.html"))
    assert done.code == 2
    assert "(vl_convert): pip install 'handful[report]'" in done.err
    assert not (tmp_path / "out.html").exists()
    assert run("test", str(flights), "--folds", "2", "--json", "-").code == 0, "the rest needs no extra"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["{tmp}/none.yml"], 1, "none.yml"),
        (["{bot}", "--against", "{tmp}/none.yml"], 1, "none.yml"),
        (["{bot}", "--against", "{held}", "--folds", "3"], 2, "expected one of them"),
        (["{bot}", "--folds", "1"], 2, "folds"),
        (["{bot}", "--repair"], 2, "name it with --against"),
        (["{bot}", "--json", "{bot}"], 2, "this file is read, and would be lost"),
        (["{bot}", "--against", "{held}", "--html", "{held}"], 2, "this file is read, and would be lost"),
        (["{bot}", "--html", "{tmp}"], 2, "found a folder"),
        (["{bot}", "--html", "-"], 2, "expected its name"),
        (["{bot}", "--html", "{tmp}/a", "--json", "{tmp}/a"], 2, "expected two files"),
        (["{lonely}"], 2, "there is nothing to ask for"),
    ],
)
def test_what_cannot_be_asked_is_told_in_a_line(
    words: list[str], code: int, told: str, flights: Path, held: Path, tmp_path: Path, run: Run
):
    lonely = tmp_path / "lonely.yml"
    lonely.write_text("nlu:\n- intent: a\n  examples: |\n    - hello\n- intent: b\n  examples: |\n    - bye\n")
    done = run("test", *(word.format(tmp=tmp_path, bot=flights, held=held, lonely=lonely) for word in words))
    assert done.code == code
    assert told in done.err
    assert "Traceback" not in done.err
    assert flights.read_text(encoding="utf-8") == BOT


def test_tags_that_need_mending_are_mended_on_demand(flights: Path, tmp_path: Path, run: Run):
    tagged = tmp_path / "tagged.conll"
    tagged.write_text("# intent: fly\nfly O\nto O\nLima I-city\n", encoding="utf-8")
    assert "--repair mends this" in run("test", str(flights), "--against", str(tagged)).err
    done = run("test", str(flights), "--against", str(tagged), "--repair", "--json", "-")
    assert done.code == 0, done.err
    assert json.loads(done.out)["slots"][0]["name"] == "city"


def test_the_untrained_method_is_asked_the_same_way(flights: Path, run: Run, tmp_path: Path):
    page = tmp_path / "out.html"
    done = run("test", str(flights), "--learner", "prototypes", "--html", str(page), "--json", "-")
    assert done.code == 0, done.err
    assert json.loads(done.out)["bot"]["learner"] == "prototypes"
    assert "Method: prototypes" in page.read_text(encoding="utf-8")


def test_a_bot_of_many_intents_is_shown_in_part(capsys: pytest.CaptureFixture[str]):
    near = case("hi [0](number)", "intent0", "hi 0", "intent0")
    cases = [case(f"hi [{n}](number)", f"intent{n}", f"hi {n}", f"intent{n + 1}", n / 40) for n in range(40)]
    print_report(Report("many", 40, 1, 80, "joint_spans", Against("held.yml"), assess([*cases, near])), 3)
    shown = capsys.readouterr().out
    assert "many, asked for the utterances of held.yml" in shown
    assert "… and 26 more, --json has all" in shown, "intents: 41 rows, 15 of them shown"
    assert "… and 30 more, --json has all" in shown, "pairs"
    assert "… and 38 more, --json has all" in shown, "errors, of which 41"
    assert "  meant intent39: hi [39](number)\n   said intent40 98%: hi 39\n" in shown, "the surest first"


def test_what_was_rejected_though_guessed_right_is_told(capsys: pytest.CaptureFixture[str]):
    cases = [case("hi", "greet", "hi", "greet", 0.4, rejected=True), case("yo", "greet", "yo", "fly", rejected=True)]
    print_report(Report("shy", 1, 0, 2, "x", Against("held.yml"), assess(cases)), 1)
    told = dict(re.findall(r"│ +(.*?) +│ +(\d+) │", capsys.readouterr().out))
    assert (told["rejected"], told["though guessed right"]) == ("2", "1")


def test_names_that_look_like_markup_are_shown_as_they_are(capsys: pytest.CaptureFixture[str]):
    print_report(Report("[b]", 1, 0, 2, "x", Against("[i]"), assess([case("x", "[red]", "x", "[/red]")])), 1)
    shown = capsys.readouterr().out
    assert "[b], asked for the utterances of [i]" in shown
    assert shown.count("[red]") == shown.count("[/red]") == 3
