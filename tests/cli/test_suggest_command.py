"""`handful suggest` as a user runs it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from handful.data.formats.rasa_yaml import read

Run = Callable[..., Any]


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    file = tmp_path / "said.txt"
    file.write_text(
        "fly to rome\nis there a flight to Lima\nIs there a flight to Lima\n\ngood evening\nwhat does a flight cost\n",
        encoding="utf-8",
    )
    return file


def test_what_to_annotate_is_shown_with_the_prediction_to_confirm(bot: Path, pool: Path, run: Run):
    done = run("suggest", str(bot), "--pool", str(pool))
    assert done.code == 0, done.err
    assert "is there a flight to [Lima](city)\n  fly" in done.out
    assert "good evening\n  greet" in done.out
    assert "fly to" not in done.out, "an example already"
    assert "3 sentences; left out: 1 examples already, 1 said before, 1 without words" in done.err


def test_as_many_as_are_wanted(bot: Path, pool: Path, run: Run):
    one, all_of_them = (run("suggest", str(bot), "--pool", str(pool), "--count", count).out for count in ("1", "9"))
    assert all_of_them.startswith(one)
    assert len(one) < len(all_of_them)


def test_a_file_to_edit_is_written_once(bot: Path, pool: Path, tmp_path: Path, run: Run):
    file = tmp_path / "next.yml"
    done = run("suggest", str(bot), "--pool", str(pool), "--output", str(file))
    assert done.code == 0, done.err
    assert "next.yml: 3 examples" in done.out
    written = read(file)
    assert {utterance.text for utterance in written.utterances} == {
        "is there a flight to Lima",
        "good evening",
        "what does a flight cost",
    }
    lima = next(utterance for utterance in written.utterances if "Lima" in utterance.text)
    assert [(slot.label, lima.slot_text(slot)) for slot in lima.slots] == [("city", "Lima")]

    before = file.read_bytes()
    again = run("suggest", str(bot), "--pool", str(pool), "--output", str(file))
    assert again.code == 1
    assert "already there" in again.err
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("lines", "code", "told"),
    [
        ("fly to rome\nhello\n", 1, "there is nothing to annotate"),
        ("", 1, "the file is empty"),
        (None, 1, "there is no such file"),
    ],
)
def test_a_pool_that_has_nothing(lines: str | None, code: int, told: str, bot: Path, tmp_path: Path, run: Run):
    file = tmp_path / "pool.txt"
    if lines is not None:
        file.write_text(lines, encoding="utf-8")
    done = run("suggest", str(bot), "--pool", str(file), "--output", str(tmp_path / "next.yml"))
    assert done.code == code
    assert told in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "next.yml").exists()
