"""A bot that an earlier version tuned, as each command meets it: one line says so, and the folder stays."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.conftest import Ran
from serve.running import Running

Run = Callable[..., Ran]
TOLD = "is no longer used, and can be removed: bots need no tuning now"


@pytest.fixture
def tuned(bot: Path) -> Path:
    folder = bot.with_name("bot.yml.tuned")
    folder.mkdir()
    (folder / "tuning.json").write_text("{}", encoding="utf-8")
    return folder


def test_a_user_sees_one_line_and_the_parse(bot: Path, tuned: Path, shell):
    plain = shell("parse", str(bot), "fly to Lisbon", "--learner", "prototypes")
    assert plain.returncode == 0
    told = [line for line in plain.stderr.decode().splitlines() if "tun" in line.removeprefix("warning: ")]
    assert told == [f"warning: {tuned}: {TOLD}"]
    assert b"fly to Lisbon" in plain.stdout or b"Lisbon" in plain.stdout
    assert (tuned / "tuning.json").read_text(encoding="utf-8") == "{}"


@pytest.mark.parametrize(
    "words",
    [
        ["parse", "{bot}", "hi", "--learner", "prototypes"],
        ["check", "{bot}", "--no-model"],
        ["test", "{bot}", "--folds", "2", "--learner", "prototypes"],
        ["suggest", "{bot}", "--pool", "{pool}", "--learner", "prototypes"],
        ["export", "{bot}", "{tmp}/out"],
    ],
    ids=lambda words: words[0],
)
def test_every_command_says_it_once(words: list[str], bot: Path, tuned: Path, tmp_path: Path, run: Run):
    pool = tmp_path / "pool.txt"
    pool.write_text("take me to Paris\n", encoding="utf-8")
    ran = run(*(word.format(bot=bot, tmp=tmp_path, pool=pool) for word in words))
    assert ran.code == 0, ran.err
    assert ran.err.count(TOLD) == 1
    assert f"warning: {tuned}: {TOLD}" in ran.err.splitlines()
    assert (tuned / "tuning.json").exists()


def test_a_server_of_several_processes_says_it_once(bot: Path, tuned: Path, tmp_path: Path):
    with Running(None, tmp_path / "log", "--bot", str(bot), "--processes", "2", model=True) as server:
        assert server.client.post("/model/parse", content=b'{"text": "fly to Rome"}').json()["intent"]["name"] == "fly"
        assert server.stop(signal.SIGTERM) == 0
        assert server.log.count(TOLD) == 1


def test_a_bot_that_is_the_folder_one_is_in(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch):
    rows = {"seq.in": "fly to rome\nhello there\n", "seq.out": "O O B-city\nO O\n", "label": "fly\ngreet\n"}
    (tmp_path / "mine").mkdir()
    for name, text in rows.items():
        (tmp_path / "mine" / name).write_text(text)
    (tmp_path / "mine.tuned").mkdir()
    monkeypatch.chdir(tmp_path / "mine")
    parsed = run("parse", ".", "fly to oslo", "--json", "--learner", "prototypes")
    assert parsed.code == 0, parsed.err
    assert '"name": "fly"' in parsed.out
    assert f"{tmp_path / 'mine.tuned'}: {TOLD}" in parsed.err
