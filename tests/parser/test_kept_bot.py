"""A bot that is saved beside what its model has seen, and loaded again."""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path

import pytest

from handful.errors import ConfigError
from handful.parser.bot import load_bot, starter_bot
from handful.parser.parser import Parser
from handful.parser.ready import read_ready, ready_folder
from learners.made_up import SUPPORT, made_up
from parser.grown import Counting, assert_equal, bot_of

NEW = ("how much is a ticket to [Riga](city)", "what does a ticket to [Bonn](city) cost")
ASKED = ("how much is a ticket to Lisbon", "play jazz", "will it rain in Oslo", "send 20 euros to Maria", "xyzzy", "")


@cache
def shipped() -> Parser:
    """Not to be changed."""
    return Parser.of(starter_bot())


@pytest.fixture
def starter() -> Parser:
    """One's own, with the same model; what is known of the examples is known already."""
    return shipped().with_examples(shipped().bot.document.utterances)


@pytest.fixture
def small() -> Parser:
    return Parser(bot_of(*SUPPORT), made_up())


def test_a_bot_that_was_saved_and_loaded_parses_equal(starter: Parser, tmp_path: Path):
    starter.add(*NEW, intent="price")
    starter.remove(intent="track_parcel")
    assert starter.save(tmp_path / "bot.yml") == []
    loaded = Parser.load(tmp_path / "bot.yml")
    assert loaded.bot.document == starter.bot.document
    assert loaded.parse_many(ASKED) == starter.parse_many(ASKED), "in every field, to the last digit"


def test_a_loaded_bot_encodes_nothing_of_its_examples(tmp_path: Path):
    model = Counting(made_up())
    parser = Parser(bot_of(*SUPPORT), model, identity="made up 0")
    parser.save(tmp_path / "bot.yml")
    model.seen, model.labels = [], []
    ready = read_ready(ready_folder(tmp_path / "bot.yml"), "made up 0")
    assert ready is not None
    again = Parser(load_bot(tmp_path / "bot.yml"), model, identity="made up 0", ready=ready)
    asked = ["fly to rome", "a b", "now"]
    assert again.parse_many(asked) == parser.parse_many(asked)
    assert model.labels == []
    assert model.seen == [tuple(text.split()) for text in asked] * 2, "the sentences that were asked for, no example"


def test_a_file_that_was_edited_after_saving_is_believed(tmp_path: Path):
    """What was kept of examples that are still there is used; the confidences are set anew."""
    model, file = Counting(made_up()), tmp_path / "bot.yml"
    Parser(bot_of(*SUPPORT), model, identity="m").save(file)
    file.write_text(file.read_text(encoding="utf-8").replace("a b now", "b b b"), encoding="utf-8")
    model.seen, model.labels = [], []
    ready = read_ready(ready_folder(file), "m")
    edited = Parser(load_bot(file), model, identity="m", ready=ready)
    assert (model.seen, model.labels) == ([("b", "b", "b")], [])
    assert_equal(edited.parse_many(["b b"]), Parser(load_bot(file), made_up()).parse_many(["b b"]))


def test_what_was_kept_for_another_model_is_not_used(starter: Parser, tmp_path: Path, recwarn: pytest.WarningsRecorder):
    file = tmp_path / "bot.yml"
    starter.save(file)
    about = tmp_path / "bot.yml.ready" / "ready.json"
    content = json.loads(about.read_text(encoding="utf-8"))
    about.write_text(json.dumps({**content, "model": "another", "calibration": {}}), encoding="utf-8")
    assert Parser.load(file).parse_many(ASKED) == starter.parse_many(ASKED)
    assert not recwarn.list


@pytest.mark.parametrize("damage", ["cut json", "cut arrays", "no arrays", "other sentences", "no field", "a list"])
def test_what_is_damaged_is_told_and_made_anew(starter: Parser, tmp_path: Path, damage: str):
    file = tmp_path / "bot.yml"
    starter.save(file)
    folder = tmp_path / "bot.yml.ready"
    about, (arrays,) = folder / "ready.json", folder.glob("*.npz")
    content = json.loads(about.read_text(encoding="utf-8"))
    match damage:
        case "cut json":
            about.write_bytes(about.read_bytes()[:500])
        case "cut arrays":
            arrays.write_bytes(arrays.read_bytes()[:5000])
        case "no arrays":
            arrays.unlink()
        case "other sentences":
            about.write_text(json.dumps({**content, "sentences": [["a"], *content["sentences"][1:]]}))
        case "no field":
            del content["rejection"]
            about.write_text(json.dumps(content))
        case _:
            about.write_text("[]")
    with pytest.warns(UserWarning, match=r"bot\.yml\.ready: is not used, and can be removed: "):
        loaded = Parser.load(file)
    assert_equal(loaded.parse_many(ASKED), starter.parse_many(ASKED))
    loaded.save(file)
    assert Parser.load(file).parse_many(ASKED) == loaded.parse_many(ASKED)
    assert len(list(folder.iterdir())) == 2, "what is old is cleared away"


def test_saving_over_an_older_bot_leaves_one_set_of_arrays(small: Parser, tmp_path: Path):
    small.save(tmp_path / "bot.yml")
    small.add("la la", intent="sing")
    small.save(tmp_path / "bot.yml")
    assert len(list((tmp_path / "bot.yml.ready").glob("*.npz"))) == 1
    assert len(list((tmp_path / "bot.yml.ready").iterdir())) == 2


def test_examples_that_are_gone_are_not_kept(small: Parser, tmp_path: Path):
    small.add("a secret", intent="other")
    small.remove(text="a secret")
    small.save(tmp_path / "bot.yml")
    assert "secret" not in (tmp_path / "bot.yml.ready" / "ready.json").read_text(encoding="utf-8")


def test_only_yaml_is_saved(small: Parser, tmp_path: Path):
    with pytest.raises(ConfigError, match=r"found the ending '\.json', expected \.yml or \.yaml"):
        small.save(tmp_path / "bot.json")
    assert list(tmp_path.iterdir()) == []


def test_a_copy_of_a_bots_file_alone_is_enough(starter: Parser, tmp_path: Path):
    starter.save(tmp_path / "bot.yml")
    shutil.copy(tmp_path / "bot.yml", tmp_path / "other.yml")
    assert_equal(Parser.load(tmp_path / "other.yml").parse_many(ASKED), starter.parse_many(ASKED))
