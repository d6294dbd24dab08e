"""Everything that is wrong with a bot's file and odd about it, at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from handful.cli import main
from handful.errors import DataError
from handful.parser.bot import Bot
from handful.parser.check_file import check_file
from handful.types import Prediction, Ranking

PARTS = {
    "bot.yml": "include:\n- fly.yml\n- greet.yml\nsettings:\n  treshold: 1\nstories: []\n",
    "fly.yml": "nlu:\n- intent: fly\n  examples: |\n    - to [Rome](city)\n    - at 9[am](time)\n    - see Rome\n",
    "greet.yml": "nlu:\n- intent: greet\n  examples: |\n    - hello\n    - hello\n    - [x\n",
}


@pytest.fixture
def bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in PARTS.items():
        Path(name).write_text(text)
    return Path("bot.yml")


def test_errors_of_all_files_and_oddities_of_what_is_whole(bot: Path):
    checked = check_file(bot)
    assert [str(finding.place) for finding in checked.errors] == ["bot.yml:5", "fly.yml:5", "greet.yml:6"]
    assert [str(finding).split(";")[0] for finding in checked.oddities] == [
        "bot.yml:6: the section 'stories' is not used",
        "fly.yml:6: “rome” is the slot 'city' in line 4 and plain in “see Rome”",
        "greet.yml:5: 2 times the same example in 'greet': “hello” (see line 4)",
    ]


def test_a_broken_bot_is_not_parsed_with_and_a_whole_one_is(bot: Path):
    asked: list[Bot] = []

    def all_greet(about: Bot) -> list[Prediction]:
        asked.append(about)
        return [Prediction(Ranking(("greet",), (1.0,)), (), (), ()) for _ in about.document.utterances]

    check_file(bot, predict=all_greet)
    assert asked == []
    bot.write_text(
        "nlu:\n- intent: a\n  examples: |\n    - x\n    - y\n- intent: greet\n  examples: |\n    - z\n    - w\n"
    )
    (finding,) = check_file(bot, predict=all_greet).oddities
    assert str(finding).startswith("bot.yml:4: 'a' and 'greet' are hard to tell apart: 2 of 2 examples")
    assert [about.name for about in asked] == ["bot"]


def test_findings_without_a_line_have_the_file(tmp_path: Path):
    file = tmp_path / "x.jsonl"
    file.write_text('{"tokens": ["hi"], "slots": ["O"], "intent": "a"}\n')
    assert {str(finding.place) for finding in check_file(file).oddities} == {str(file)}


def test_a_file_with_nothing_whole_has_errors_alone(tmp_path: Path):
    file = tmp_path / "bot.yml"
    file.write_text("nlu:\n- intent: a\n  examples: |\n" + "    - [x\n" * 30)
    checked = check_file(file)
    assert (checked.bot, len(checked.errors), checked.oddities) == (None, 30, ())


def test_what_is_no_format_is_an_error_as_everywhere(tmp_path: Path):
    with pytest.raises(DataError, match="there is no such file"):
        check_file(tmp_path / "none.yml")


def test_the_example_of_the_page_on_bot_files_is_a_bot(tmp_path: Path):
    page = Path(__file__).parents[2] / "docs" / "bot-files.md"
    file = tmp_path / "bot.yml"
    file.write_text(page.read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0], encoding="utf-8")
    (tmp_path / "smalltalk").mkdir()
    (tmp_path / "smalltalk" / "greetings.yml").write_text("nlu:\n- intent: greet\n  examples: |\n    - hi\n    - ho\n")
    (tmp_path / "cities.yml").write_text("nlu:\n- lookup: city\n  examples: |\n    - Lima\n")
    checked = check_file(file)
    assert checked.errors == ()
    (missing,) = checked.oddities
    assert "the setting 'checkpoint' names" in missing.message


def run(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[str], str]:
    with pytest.raises(SystemExit) as ended:
        main(["check", *words])
    printed = capfd.readouterr()
    return int(ended.value.code or 0), printed.err.splitlines(), printed.out


def test_the_command_tells_all_of_it_and_ends_with_1(bot: Path, capfd: pytest.CaptureFixture[str]):
    code, told, summary = run(capfd, "bot.yml")
    assert code == 1
    assert [line.split(":")[0] for line in told] == ["error"] * 3 + ["warning"] * 3
    assert told[0] == "error: bot.yml:5: found the setting 'treshold', which is unknown; did you mean 'threshold'?"
    assert summary == "bot.yml: 3 errors, 3 to look at\n"


def test_more_than_twenty_errors_are_told_too(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    file = tmp_path / "bot.yml"
    file.write_text("nlu:\n- intent: a\n  examples: |\n" + "    - [x\n" * 30)
    code, told, _ = run(capfd, str(file))
    assert (code, len(told)) == (1, 30)


def test_strict_makes_oddities_an_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    file = tmp_path / "bot.yml"
    file.write_text(
        "nlu:\n- intent: a\n  examples: |\n    - hello\n    - hi there\n"
        "- intent: b\n  examples: |\n    - fly me to rome\n"
    )
    assert run(capfd, str(file))[0] == 0
    assert run(capfd, str(file), "--strict")[0] == 1
    file.write_text(file.read_text() + "    - a flight to oslo\n")
    assert run(capfd, str(file), "--strict") == (0, [], f"{file}: 2 intents, 0 slots, 4 examples; nothing odd\n")
