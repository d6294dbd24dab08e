"""A bot that is saved beside what its model has seen, and loaded again."""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from handful.errors import ConfigError
from handful.learners import span_decoding
from handful.learners.bot_heads import BotHeads, EncodedSupport, fit_heads
from handful.parser.bot import load_bot
from handful.parser.parser import Parser
from handful.parser.ready import read_ready, ready_folder
from handful.runtime.folder import read_arrays
from handful.types import Slot
from learners.made_up import SUPPORT, made_up, utterance
from parser.grown import Counting, assert_equal, bot_of

NEW = ("how much is a ticket to [Riga](city)", "what does a ticket to [Bonn](city) cost")
ASKED = ("how much is a ticket to Lisbon", "play jazz", "will it rain in Oslo", "xyzzy", "")
# As few as make a bot whose heads are fitted: each change of it is held out and fitted anew.
TRAVEL = (
    utterance("fly to rome", "fly", Slot("city", 2, 3)),
    utterance("a flight to oslo tomorrow", "fly", Slot("city", 3, 4), Slot("date", 4, 5)),
    utterance("will it rain in paris today", "weather", Slot("city", 4, 5), Slot("date", 5, 6)),
    utterance("is it cold in lima", "weather", Slot("city", 4, 5)),
    utterance("play some music", "play"),
    utterance("put on a song", "play"),
)


@cache
def shipped() -> Parser:
    """Not to be changed."""
    return Parser.of(bot_of(*TRAVEL))


@pytest.fixture
def travel() -> Parser:
    """One's own, with the same model; what is known of the examples is known already."""
    return Parser(shipped().bot, shipped().learner, identity=shipped().identity, ready=shipped().ready)


@pytest.fixture
def small() -> Parser:
    return Parser(bot_of(*SUPPORT), made_up())


def test_a_bot_that_was_saved_and_loaded_parses_equal(travel: Parser, tmp_path: Path):
    travel.add(*NEW, intent="price")
    travel.remove(intent="play")
    assert travel.save(tmp_path / "bot.yml") == []
    loaded = Parser.load(tmp_path / "bot.yml")
    assert loaded.bot.document == travel.bot.document
    assert loaded.parse_many(ASKED) == travel.parse_many(ASKED), "in every field, to the last digit"


def test_a_loaded_bot_encodes_nothing_of_its_examples(tmp_path: Path):
    model = Counting(made_up())
    parser = Parser(bot_of(*SUPPORT), model, identity="made up 0")
    parser.save(tmp_path / "bot.yml")
    model.seen, model.slot_names = [], []
    ready = read_ready(ready_folder(tmp_path / "bot.yml"), "made up 0")
    assert ready is not None
    again = Parser(load_bot(tmp_path / "bot.yml"), model, identity="made up 0", ready=ready)
    asked = ["fly to rome", "a b", "now"]
    assert again.parse_many(asked) == parser.parse_many(asked)
    assert model.slot_names == []
    assert model.seen == [tuple(text.split()) for text in asked] * 2, "the sentences that were asked for, no example"


def test_a_file_that_was_edited_after_saving_is_believed(tmp_path: Path):
    """What was kept of examples that are still there is used; the confidences are set anew."""
    model, file = Counting(made_up()), tmp_path / "bot.yml"
    Parser(bot_of(*SUPPORT), model, identity="m").save(file)
    file.write_text(file.read_text(encoding="utf-8").replace("a b now", "b b b"), encoding="utf-8")
    model.seen, model.slot_names = [], []
    ready = read_ready(ready_folder(file), "m")
    edited = Parser(load_bot(file), model, identity="m", ready=ready)
    assert (model.seen, model.slot_names) == ([("b", "b", "b")], [])
    assert_equal(edited.parse_many(["b b"]), Parser(load_bot(file), made_up()).parse_many(["b b"]))


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The intents of each bot that heads are fitted to."""
    found: list[tuple[str, ...]] = []

    def counted(encoded: EncodedSupport, *rest: Any, **options: Any) -> BotHeads:
        found.append(tuple(encoded.shown.labels.intents))
        return fit_heads(encoded, *rest, **options)

    monkeypatch.setattr(span_decoding, "fit_heads", counted)
    return found


def test_a_bot_that_is_loaded_unchanged_is_not_fitted_again(tmp_path: Path, fits: list[tuple[str, ...]]):
    model, file = made_up(), tmp_path / "bot.yml"
    saved = Parser(bot_of(*SUPPORT), model, identity="m")
    saved.save(file)
    assert fits == [("Fly", "ask", "other")]
    fits.clear()
    loaded = Parser(load_bot(file), model, identity="m", ready=read_ready(ready_folder(file), "m"))
    assert loaded.parse_many(["fly to rome", "a b"]) == saved.parse_many(["fly to rome", "a b"])
    loaded.calibrate()
    assert fits == []
    same = loaded.with_bot(loaded.bot)
    assert_equal(same.parse_many(["fly to rome"]), saved.parse_many(["fly to rome"]))


@pytest.mark.parametrize(
    ("before", "after"),
    [("a b now", "a b b"), ("intent: ask", "intent: demand"), ("[boston](city)", "boston"), ("    - a b now\n", "")],
    ids=["text", "intent", "slot", "example"],
)
def test_a_bot_that_was_changed_is_fitted_again(tmp_path: Path, fits: list[tuple[str, ...]], before: str, after: str):
    model, file = made_up(), tmp_path / "bot.yml"
    Parser(bot_of(*SUPPORT, utterance("b b", "other")), model, identity="m").save(file)
    content = file.read_text(encoding="utf-8")
    assert before in content
    file.write_text(content.replace(before, after), encoding="utf-8")
    fits.clear()
    ready = read_ready(ready_folder(file), "m")
    changed = Parser(load_bot(file), model, identity="m", ready=ready)
    assert fits == [changed.bot.intents]
    asked = ["fly to rome", "a b"]
    assert_equal(changed.parse_many(asked), Parser(load_bot(file), model).parse_many(asked))


def test_a_folder_of_the_format_before_is_ignored_and_made_anew(tmp_path: Path, recwarn: pytest.WarningsRecorder):
    """It had no heads, and numbers of another kind."""
    model, file = made_up(), tmp_path / "bot.yml"
    parser = Parser(bot_of(*SUPPORT), model, identity="m")
    parser.save(file)
    about = ready_folder(file) / "ready.json"
    content = json.loads(about.read_text(encoding="utf-8"))
    for field in ("heads", "slots"):
        del content[field]
    about.write_text(json.dumps({**content, "format": 1, "labels": []}), encoding="utf-8")
    assert read_ready(ready_folder(file), "m") is None
    assert not recwarn.list
    again = Parser(load_bot(file), model, identity="m")
    again.save(file)
    ready = read_ready(ready_folder(file), "m")
    assert ready is not None
    assert ready.is_of(again.bot)
    assert len(list(ready_folder(file).iterdir())) == 2


def test_what_is_kept_is_in_half_precision(tmp_path: Path):
    Parser(bot_of(*SUPPORT), made_up(), identity="m").save(tmp_path / "bot.yml")
    (file,) = (tmp_path / "bot.yml.ready").glob("*.npz")
    assert {array.dtype for array in read_arrays(file).values()} == {np.dtype(np.float16)}


def test_what_was_kept_for_another_model_is_not_used(travel: Parser, tmp_path: Path, recwarn: pytest.WarningsRecorder):
    file = tmp_path / "bot.yml"
    travel.save(file)
    about = tmp_path / "bot.yml.ready" / "ready.json"
    content = json.loads(about.read_text(encoding="utf-8"))
    about.write_text(json.dumps({**content, "model": "another", "calibration": {}}), encoding="utf-8")
    assert Parser.load(file).parse_many(ASKED) == travel.parse_many(ASKED)
    assert not recwarn.list


@pytest.mark.parametrize("damage", ["cut json", "cut arrays", "no arrays", "other sentences", "no field", "a list"])
def test_what_is_damaged_is_told_and_made_anew(travel: Parser, tmp_path: Path, damage: str):
    file = tmp_path / "bot.yml"
    travel.save(file)
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
    assert_equal(loaded.parse_many(ASKED), travel.parse_many(ASKED))
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


def test_a_copy_of_a_bots_file_alone_is_enough(travel: Parser, tmp_path: Path):
    travel.save(tmp_path / "bot.yml")
    shutil.copy(tmp_path / "bot.yml", tmp_path / "other.yml")
    assert_equal(Parser.load(tmp_path / "other.yml").parse_many(ASKED), travel.parse_many(ASKED))
