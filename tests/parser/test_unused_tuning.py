"""Earlier versions tuned a bot's weights into a folder beside its file: that is told, and left alone."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from handful.parser.bot import load_bot
from handful.parser.parser import Parser
from handful.places import beside
from learners.made_up import made_up

BOT = "nlu:\n- intent: fly\n  examples: |\n    - fly to [Rome](city)\n- intent: greet\n  examples: |\n    - hi\n"
TOLD = r"bot\.yml\.tuned: is no longer used, and can be removed: bots need no tuning now$"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "bot.yml"
    file.write_text(BOT, encoding="utf-8")
    (tmp_path / "bot.yml.tuned").mkdir()
    (tmp_path / "bot.yml.tuned" / "tuning.json").write_text("{", encoding="utf-8")
    return file


def test_a_tuned_folder_is_told_once_where_the_parser_is_loaded(file: Path):
    with pytest.warns(UserWarning, match=TOLD) as told:
        parser = Parser.load(file, learner="prototypes")
    assert [warning.filename for warning in told] == [__file__]
    assert parser.parse("fly to Oslo").intent == "fly"
    assert (file.with_name("bot.yml.tuned") / "tuning.json").read_text(encoding="utf-8") == "{", "left in place"


def test_a_bot_without_one_is_told_nothing(file: Path):
    file.rename(file.with_name("other.yml"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_bot(file.with_name("other.yml"))


def test_it_does_not_go_with_a_bot_that_is_saved_elsewhere(file: Path):
    with pytest.warns(UserWarning, match=TOLD):
        parser = Parser(load_bot(file), made_up())
    parser.save(file.with_name("other.yml"))
    assert not file.with_name("other.yml.tuned").exists()


def test_bots_of_the_same_stem_and_bots_that_are_folders_have_folders_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert len({beside(tmp_path / name, "ready") for name in ("b.yml", "b.json", "b", "b.x")}) == 4
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path / "folder")
    assert beside(Path(), "ready") == tmp_path / "folder.ready"
    assert beside(Path(".."), "ready") == tmp_path.with_name(f"{tmp_path.name}.ready")
