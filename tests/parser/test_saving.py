"""What is not lost when a bot is saved, and what a user may get wrong in Python."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from handful.errors import ConfigError, HandfulError
from handful.learners.joint_spans import JointSpansLearner
from handful.parser.bot import Bot, load_bot, starter_bot
from handful.parser.models import model_for
from handful.parser.parser import Parser
from handful.parser.source import Source
from learners.made_up import SUPPORT, made_up

BOT = (
    "nlu:\n- intent: fly\n  examples: |\n    - fly to [Rome](city)\n    - to [Oslo](city)\n"
    "- intent: greet\n  examples: |\n    - hi\n    - hello\n"
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "bot.yml").write_text(BOT, encoding="utf-8")
    return tmp_path / "bot.yml"


def read(file: Path) -> Parser:
    """With a made-up network, as `Parser.of` does with a real one."""
    parser = Parser(load_bot(file), made_up())
    parser._source = Source.of(file)
    return parser


def test_a_file_that_has_changed_since_it_was_read_is_not_overwritten(file: Path):
    parser = read(file)
    parser.add("bye", intent="leave")
    file.write_text(f"{BOT}- intent: sing\n  examples: |\n    - la la\n", encoding="utf-8")
    with pytest.raises(HandfulError, match="has changed since it was read"):
        parser.save(file)
    assert "sing" in file.read_text(encoding="utf-8")
    parser.save(file.with_name("other.yml"))
    assert "leave" in file.with_name("other.yml").read_text(encoding="utf-8")


def test_a_file_that_has_more_in_it_than_a_bot_is_not_overwritten(file: Path):
    file.write_text(f"{BOT}responses:\n  utter_hi:\n  - text: hi\n", encoding="utf-8")
    parser = read(file)
    with pytest.raises(ConfigError, match=r"more in it than a bot \(the section 'responses' is not used\)"):
        parser.save(file)
    assert "utter_hi" in file.read_text(encoding="utf-8")
    assert parser.save(file.with_name("other.yml")) == []


def test_a_bot_can_be_saved_again_and_again(file: Path):
    parser = read(file)
    for number in range(3):
        parser.add(f"bye {number}", intent="leave")
        parser.save(file)
    assert len(load_bot(file).document.utterances) == 7


def test_a_ready_folder_that_cannot_be_written_is_told_and_the_bot_is_saved(file: Path):
    file.with_name("bot.yml.ready").write_text("in the way")
    parser = read(file)
    parser.add("bye", intent="leave")
    with pytest.warns(UserWarning, match=r"bot\.yml\.ready: cannot be written"):
        parser.save(file)
    assert "leave" in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("wrong", [5, -0.1, "of", None, float("nan")])
def test_a_threshold_that_is_none_is_refused(wrong: object):
    parser = Parser(starter_bot(), made_up())
    with pytest.raises(ConfigError, match="expected auto, off, or a number from 0 to 1"):
        parser.threshold = wrong  # pyright: ignore[reportAttributeAccessIssue]
    assert parser.threshold == "auto"


def test_what_is_no_text_is_refused():
    parser = Parser(starter_bot(), made_up())
    for wrong in ("hello", [None], [5]):
        with pytest.raises(ConfigError, match="expected texts to parse"):
            parser.parse_many(wrong)  # pyright: ignore[reportArgumentType]
    for wrong in (5, ["a", "b"], None):
        with pytest.raises(ConfigError, match="expected an example"):
            parser.add(wrong, intent="x")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("typo", [{"runtime": "int4"}, {"learner": "protoypes"}])
def test_typos_are_told(typo: dict[str, str]):
    with pytest.raises(ConfigError, match=r"found the (runtime|learner) '.*', expected"):
        model_for(starter_bot().settings, **typo)  # pyright: ignore[reportArgumentType]


def test_vectors_are_those_of_their_sentences_while_examples_are_added(monkeypatch: pytest.MonkeyPatch):
    """An example that is added while vectors are computed must not push them to other sentences."""
    learner = made_up()
    parser = Parser(Bot("b", starter_bot().document), learner)
    asked = ["fly to rome", "a b now"]
    expected = parser.sentence_vectors(asked)
    real, adding = JointSpansLearner.see, threading.Event()

    def slow(self: JointSpansLearner, sentences):
        if len(sentences) == 2 and not adding.is_set():
            adding.set()
            parser.add("fly to rome", intent=SUPPORT[0].intent)
        return real(self, sentences)

    monkeypatch.setattr(JointSpansLearner, "see", slow)
    assert parser.sentence_vectors(asked) == pytest.approx(expected)
    assert adding.is_set()
