from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

LIGHT = """
import sys
from handful.cli import main
try:
    main(sys.argv[1:])
except SystemExit as ended:
    assert not ended.code, ended.code
heavy = {"torch", "transformers", "sentence_transformers", "sklearn", "scipy"} & set(sys.modules)
print("HEAVY", sorted(heavy))
"""


COMMANDS = (
    ["--help"],
    ["parse", "-h"],
    ["evaluate", "-h"],
    ["train", "-h"],
    ["sweep", "-h"],
    ["data", "-h"],
    ["data", "list"],
    ["--version"],
)


@pytest.mark.parametrize("words", COMMANDS)
def test_help_imports_nothing_heavy(words: list[str]):
    ran = subprocess.run([sys.executable, "-c", LIGHT, *words], capture_output=True, text=True, check=True)
    assert "HEAVY []" in ran.stdout


def test_importing_the_package_imports_nothing_heavy():
    program = "import sys, handful; print(sorted({'torch', 'transformers', 'numpy', 'yaml'} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_parse_and_evaluate_take_the_same_learners():
    from handful.cli import bots, evaluate
    from handful.training.shipped import READY

    assert get_args(get_type_hints(bots.parse)["learner"]) == READY
    named_or_none = get_args(get_type_hints(evaluate.evaluate)["learner"])
    assert [get_args(choice) for choice in named_or_none] == [READY, ()]


def test_parse_shows_intent_slots_and_confidences(run, bot: Path):
    ran = run("parse", str(bot), "fly to Paris", "hello there")
    assert ran.code == 0
    assert "fly to [Paris](city)" in ran.out
    assert "city = Paris" in ran.out
    assert "greet" in ran.out
    assert "%" in ran.out


def test_parse_gives_json_lines(run, bot: Path):
    ran = run("parse", str(bot), "--json", "fly to Paris", "hello")
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert [row["intent"]["name"] for row in rows] == ["fly", "greet"]
    (slot,) = rows[0]["slots"]
    assert (slot["label"], slot["value"], slot["start"], slot["end"]) == ("city", "Paris", 7, 12)
    assert 0 < slot["confidence"] <= 1


def test_parse_reads_sentences_from_stdin_one_a_line(shell, bot: Path):
    ran = shell("parse", str(bot), "--json", stdin="fly to Paris\r\n\nhello 😀".encode())
    assert ran.returncode == 0, ran.stderr
    names = [json.loads(line)["intent"]["name"] for line in ran.stdout.decode().splitlines()]
    assert names == ["fly", None, "greet"]


def test_a_pipe_that_waits_is_answered_at_once(bot: Path):
    with subprocess.Popen(
        [sys.executable, "-m", "handful", "parse", str(bot), "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for text, intent in ((b"fly to Paris\n", "fly"), (b"hello\n", "greet")):
            process.stdin.write(text)
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["intent"]["name"] == intent
        process.stdin.close()
        assert process.wait(30) == 0


def test_bytes_that_are_no_text_are_told_with_their_line(shell, bot: Path):
    ran = shell("parse", str(bot), stdin=b"hello\nb\xe9\n")
    assert ran.returncode == 1
    assert b"error: <stdin>:2: found the byte 0xe9" in ran.stderr
    assert b"Traceback" not in ran.stderr


def test_a_reader_that_goes_away_is_no_error(bot: Path):
    command = f'yes hello | head -2000 | "{sys.executable}" -m handful parse "{bot}" | head -1'
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120, check=True)
    assert "Traceback" not in ran.stderr
    assert "error" not in ran.stderr
    assert ran.stdout.strip()


def test_check_counts_and_tells_what_is_odd(run, bot: Path):
    assert "2 intents, 1 slots, 4 examples; nothing odd" in run("check", str(bot)).out
    bot.write_text(bot.read_text() + "- intent: thanks\n  examples: |\n    - hello\n    - hi there\n")
    ran = run("check", str(bot))
    assert ran.code == 0
    assert "the same text under 'greet', 'thanks'" in ran.err
    assert "'thanks' and 'greet' are hard to tell apart" in ran.err
    assert "2 to look at" in ran.out
    assert "1 to look at" in run("check", str(bot), "--no-model").out


def test_check_tells_every_error_at_once(run, bot: Path):
    bot.write_text(bot.read_text().replace("](city)", "](city"))
    ran = run("check", str(bot))
    assert ran.code == 1
    assert f"{bot}:4: " in ran.err
    assert f"{bot}:5: " in ran.err
    assert all(line.startswith("error: ") for line in ran.err.splitlines())


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["parse", "nothing.yml", "hi"], 1, "nothing.yml: there is no such file"),
        (["parse", "{bot}", "hi", "--format", "rasa-yml"], 2, "did you mean 'rasa-yaml'?"),
        (["parse", "{bot}", "hi", "--format", "wit"], 1, "not JSON"),
        (["parse", "{bot}", "hi", "--learner", "prototype"], 2, "prototype"),
        (["evaluate", "--data", "snip"], 2, "did you mean 'snips'?"),
        (["evaluate", "--data", "atis", "--data-dir", "{tmp}"], 2, "`handful data get atis`"),
        (["evaluate", "--data", "atis", "--episodes", "0"], 2, "Invalid value for '--episodes'"),
        (["evaluate"], 2, "name one with --data"),
        (["data", "stats", "sips"], 1, "did you mean 'snips'?"),
        (["data", "get", "imagenet"], 2, "there is no data set named 'imagenet'"),
        (["data", "convert", "{bot}", "{bot}"], 1, "already there and was left as it is"),
        (["data", "convert", "{bot}", "{tmp}/x.csv"], 2, "the ending names no format"),
        (["data", "convert", "{bot}", "{tmp}/x", "--to", "luis"], 2, "is read but not written"),
        (["demo", "--save", "{bot}"], 1, "already there and was left as it is"),
        (["evaluate", "--data", "atis", "--json", "{tmp}"], 2, "expected the path of a file"),
        (["evaluate", "--data", "atis", "--json", "{tmp}/no/x.json"], 2, "expected the path of a file"),
        (["check", "x" * 300], 1, "File name too long"),
        (["parse", "{bot}", "caf\udce9"], 2, "found bytes that are no UTF-8"),
        (["pasre", "x"], 2, "No such command"),
        (["tune", "{bot}"], 2, "No such command 'tune'"),
        (["parse"], 2, "Missing argument"),
    ],
)
def test_mistakes_are_told_in_a_line(run, bot: Path, tmp_path: Path, words: list[str], code: int, told: str):
    before = bot.read_bytes()
    ran = run(*(word.format(bot=bot, tmp=tmp_path) for word in words))
    assert ran.code == code
    assert told in ran.err
    assert len(ran.err.splitlines()) == 1
    assert "Traceback" not in ran.err
    assert bot.read_bytes() == before


def test_debug_shows_the_traceback_wherever_it_stands(shell, tmp_path: Path):
    for words in (["--debug", "check", str(tmp_path / "x")], ["check", str(tmp_path / "x"), "--debug"]):
        ran = shell(*words)
        assert ran.returncode == 1
        assert b"Traceback" in ran.stderr


def test_the_demo_parses_sentences_of_ones_own(run):
    ran = run("demo", "transfer 12 euros to Carla")
    assert ran.code == 0
    assert "[12 euros](amount)" in ran.out


def test_the_starter_bot_can_be_saved_and_parsed(run, tmp_path: Path):
    file = tmp_path / "mine.yml"
    assert run("demo", "--save", str(file)).code == 0
    assert "7 intents" in run("check", str(file)).out


def test_conversion_there_and_back(run, bot: Path, tmp_path: Path):
    from handful.data.reading import read_document

    assert run("data", "convert", str(bot), str(tmp_path / "x.jsonl")).code == 0
    assert run("data", "convert", str(tmp_path / "x.jsonl"), str(tmp_path / "back.yml")).code == 0
    assert read_document(tmp_path / "back.yml") == read_document(bot)


def test_conversion_lists_what_is_lost_and_mended(run, tmp_path: Path):
    source = tmp_path / "x.conll"
    source.write_text("# intent: a\nhi I-x\n")
    refused = run("data", "convert", str(source), str(tmp_path / "y.jsonl"))
    assert refused.code == 1
    assert "--repair mends this" in refused.err
    mended = run("data", "convert", str(source), str(tmp_path / "y.jsonl"), "--repair")
    assert mended.code == 0
    assert "mended to 'B-x'" in mended.err
    bot = tmp_path / "b.yml"
    bot.write_text("nlu:\n- intent: a\n  examples: |\n    - hi, you\n- synonym: x\n  examples: |\n    - y\n")
    ran = run("data", "convert", str(bot), str(tmp_path / "folder"), "--to", "seq")
    assert "'seq' cannot hold synonyms" in ran.err
    assert "'seq' cannot hold the original spacing" in ran.err


def test_data_check_reads_files_and_folders(run, bot: Path):
    ran = run("data", "check", str(bot))
    assert (ran.code, ran.out.strip()) == (0, f"{bot}: 4 utterances, 0 warnings")


def test_data_get_refuses_a_mirror_that_is_no_address(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HANDFUL_MIRROR", "ftp://localhost")
    ran = run("data", "get", "clinc150", "--data-dir", str(tmp_path))
    assert ran.code == 1
    assert "must begin with http" in ran.err


@pytest.mark.parametrize(
    ("redirect", "code", "told"),
    [
        ("check BOT > /dev/full", 1, "No space left on device"),
        ("check BOT >&-", 0, ""),
        ("parse BOT <&-", 2, "there is no sentence: stdin is closed"),
    ],
)
def test_closed_and_full_streams(bot: Path, redirect: str, code: int, told: str):
    command = f'"{sys.executable}" -m handful {redirect.replace("BOT", str(bot))}'
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == code
    assert told in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_terminal_without_unicode_is_no_reason_to_fail(bot: Path):
    env = os.environ | {"PYTHONIOENCODING": "ascii"}
    for extra in ([], ["--json"]):
        command = [sys.executable, "-m", "handful", "parse", str(bot), "fly to Málaga", *extra]
        ran = subprocess.run(command, capture_output=True, text=True, env=env, timeout=120, check=False)
        assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["text"] == "fly to Málaga"


def test_check_counts_what_was_read_but_is_not_used(run, bot: Path):
    bot.write_text(bot.read_text() + "stories: []\n")
    assert "1 to look at" in run("check", str(bot)).out


def test_warnings_are_told_in_a_line_and_those_for_programmers_are_not(capsys: pytest.CaptureFixture[str]):
    from handful.cli.entry import _tell_warning

    for category in (RuntimeWarning, UserWarning, DeprecationWarning, FutureWarning):
        _tell_warning(category(f"of {category.__name__}"), category, "file.py", 1)
    assert capsys.readouterr().err.splitlines() == ["warning: of RuntimeWarning", "warning: of UserWarning"]
