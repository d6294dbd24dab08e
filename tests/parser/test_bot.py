from __future__ import annotations

from collections import Counter
from pathlib import Path

from handful.data.document import Document
from handful.parser.bot import Bot, load_bot, starter_bot, starter_text
from handful.parser.check import findings
from handful.types import Slot, Utterance


def test_the_starter_bot_is_worth_starting_from():
    bot = starter_bot()
    counts = Counter(u.intent for u in bot.document.utterances)
    assert len(bot.intents) >= 6
    assert len(bot.slots) >= 8
    assert min(counts.values()) >= 10
    assert bot.document.warnings == ()
    assert findings(bot) == []


def test_the_starter_bots_text_is_a_bot(tmp_path: Path):
    file = tmp_path / "mine.yml"
    file.write_text(starter_text(), encoding="utf-8")
    assert load_bot(file).document == starter_bot().document


def test_values_come_from_annotations_of_the_slot_and_from_synonyms():
    utterance = Utterance.from_words(["in", "May"], "plan", [Slot("month", 1, 2, value="05")])
    bot = Bot("x", Document((utterance,), synonyms={"Los Angeles": ("LA", "City of Angels")}))
    assert bot.canonical_value("month", "may") == "05"
    assert bot.canonical_value("person", "May") == "May", "a month's value is not a person's"
    assert bot.canonical_value("city", "city of angels") == "Los Angeles"
    assert bot.canonical_value("city", "Rome") == "Rome"


def test_descriptions_of_a_slot_are_those_of_its_roles():
    flight = Utterance.from_words(
        ["Rome", "to", "Oslo", "friday"],
        "fly",
        [Slot("city", 0, 1, role="from"), Slot("city", 2, 3, role="toTown"), Slot("date", 3, 4)],
    )
    written = {"city": "a place", "city:from": "where it begins", "date": "a day", "fly": "to travel"}
    assert Bot("x", Document((flight,), descriptions=written)).descriptions == {
        "city:from": "where it begins",
        "city:toTown": "a place to town",
        "date": "a day",
        "fly": "to travel",
    }
