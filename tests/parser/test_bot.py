from __future__ import annotations

from collections import Counter
from pathlib import Path

from handful.data.document import Document
from handful.parser.bot import Bot, load_bot, starter_bot, starter_text
from handful.parser.check import findings
from handful.types import Slot, Utterance
from handful.words import split_words


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


def test_words_with_two_values_are_told():
    twice = [Utterance.from_words(["May"], "plan", [Slot("month", 0, 1, value=value)]) for value in ("05", "5")]
    (told,) = [told for told in findings(Bot("x", Document(tuple(twice)))) if "several values" in told]
    assert told.startswith("“may” in the slot 'month' has several values: '05', '5'")


def document(*utterances: tuple[str, str], **sections) -> Document:
    return Document(tuple(Utterance.from_words(text.split(), intent) for text, intent in utterances), **sections)


def test_what_is_odd_about_a_bot_is_told():
    bot = Bot(
        "x",
        document(
            ("hi there", "greet"), ("Hi there", "bye"), ("hello", "greet"), ("hello", "greet"), ("ok", "Bye"),
            regexes={"zip": ("x",)},
        ),
    )  # fmt: skip
    told = "\n".join(findings(bot))
    assert "the same text under 'greet', 'bye': “hi there”" in told
    assert "2 times the same example in 'greet': “hello”" in told
    assert "one example only: 'bye', 'Bye'" in told
    assert "intents that differ only by case: 'bye', 'Bye'" in told
    assert "regular expressions are read and kept, but do not help to find slots yet: 'zip'" in told


def test_one_intent_and_differing_slots_are_told():
    same = [
        Utterance.from_words(["to", "rome"], "fly", [Slot("city", 1, 2)]),
        Utterance.from_words(["to", "rome"], "fly"),
    ]
    told = "\n".join(findings(Bot("x", Document(tuple(same)))))
    assert "there is one intent, 'fly'" in told
    assert "the same text with different slots in 'fly'" in told


def test_brackets_the_wrong_way_round_are_told():
    utterance = Utterance("to city:snips/city", split_words("to city:snips/city"), "fly", (Slot("Boston", 1, 6),))
    assert any("are the brackets the other way round?" in told for told in findings(Bot("x", Document((utterance,)))))
