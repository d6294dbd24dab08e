"""Any text is parsed; lookup tables and regular expressions have their say."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from handful.data.document import Document
from handful.errors import HandfulError
from handful.parser.bot import Bot, starter_bot
from handful.parser.parser import Parse, Parser


@cache
def shipped() -> Parser:
    """Not to be changed."""
    return Parser.of(starter_bot())


# -- any text ----------------------------------------------------------------------------------------------------------

ODD = (
    "",
    " \t\r\n",
    "?!…",
    "...",
    "😀",
    "👩‍👩‍👧‍👦 play jazz 👍🏿",
    "Málaga São José",
    unicodedata.normalize("NFD", "weather in Málaga and São José"),
    "\u0301\u0301",
    "京都の天気は？",
    "מה מזג האוויר בתל אביב",
    "\u202bplay jazz\u202c",
    "send\u00a035\u00a0euros\u00a0to\u00a0Maria",
    "play\njazz\r\nin the\tkitchen\x0b\x0c",
    "play\u2028jazz\u200b now",
    "SEND 35 DOLLARS TO JOHANNA",
    "send  35   dollars    to  Johanna  ",
    "x" * 10_000,
    "ß" * 10_000,
    "京" * 3_000,
    "!" * 2_000,
    "play jazz " * 1_000,
    "e" + "\u0301" * 10_000,
    "😀\u200d" * 3_000,
    "play \ud800 jazz",
    "\x00play\x00jazz",
    "[jazz](genre)",
    "\ufeffplay jazz",
)


def assert_sound(parser: Parser, text: str, found: Parse) -> None:
    assert found.text == text
    assert 0 <= found.confidence <= 1
    assert 0 <= found.in_scope <= 1
    reached = 0
    for slot in found.slots:
        assert reached <= slot.start < slot.end <= len(text)
        reached = slot.end
        written = text[slot.start : slot.end]
        assert slot.value == parser.bot.canonical_value(slot.label, written)
        assert slot.value in (written, "2", "12:00"), "as it was written, or what a synonym of the bot says"
        assert written == written.strip()
        assert 0 <= slot.confidence <= 1
    if not found.words:
        assert (found.intent, found.slots) == (None, ())
    json.dumps(found.as_json())


@pytest.mark.parametrize("text", ODD, ids=lambda text: ascii(text[:12]))
def test_odd_texts_are_parsed(text: str):
    assert_sound(shipped(), text, shipped().parse(text))


def test_odd_texts_are_parsed_together_as_alone():
    short = [text for text in ODD if len(text) < 100]
    assert_equal_enough(shipped().parse_many(short), [shipped().parse(text) for text in short])


def assert_equal_enough(found: Sequence[Parse], expected: Sequence[Parse]) -> None:
    for mine, its in zip(found, expected, strict=True):
        assert (mine.text, mine.intent) == (its.text, its.intent)
        assert [(s.label, s.value) for s in mine.slots] == [(s.label, s.value) for s in its.slots]
        assert mine.confidence == pytest.approx(its.confidence, abs=1e-3)


def test_casing_and_spacing_are_those_of_the_input():
    found = shipped().parse("SEND  35\u00a0 DOLLARS\tto JOHANNA")
    assert {slot.label: slot.value for slot in found.slots} == {"amount": "35\u00a0 DOLLARS", "person": "JOHANNA"}


def test_an_accent_is_the_same_however_it_is_written():
    composed, apart = (
        shipped().parse(unicodedata.normalize(form, "will it rain in Málaga tomorrow")) for form in ("NFC", "NFD")
    )
    assert composed.intent == apart.intent == "check_weather"
    assert [slot.label for slot in composed.slots] == [slot.label for slot in apart.slots] == ["city", "date"]
    assert apart.slots[0].value == unicodedata.normalize("NFD", "Málaga")


def test_a_word_of_too_many_pieces_is_refused_clearly():
    """Marks that are joined are one word to us and many pieces to the encoder."""
    with pytest.raises(HandfulError, match="word 1 has 1000 pieces, more than the encoder's"):
        shipped().parse("!\u200d" * 1_000)


@settings(deadline=None, max_examples=150)
@given(st.text(max_size=60))
@example("\u200d")
@example("0\u0301\u200d😀")
def test_any_text_is_parsed(text: str):
    try:
        found = shipped().parse(text)
    except HandfulError:
        return
    assert_sound(shipped(), text, found)


# -- tables and expressions --------------------------------------------------------------------------------------------


def with_tables(**fields: object) -> Parser:
    document = shipped().bot.document
    changed = Document(document.utterances, synonyms=document.synonyms, **fields)  # pyright: ignore
    return Parser(Bot("tables", changed), shipped().learner, ready=shipped().ready)


def slots_of(parser: Parser, text: str) -> dict[str, str]:
    return {slot.label: slot.value for slot in parser.parse(text).slots}


def test_a_lookup_table_makes_a_slot_win():
    text = "put on rush please"
    assert "artist" not in slots_of(shipped(), text)
    assert slots_of(with_tables(lookups={"artist": ("Rush",)}), text)["artist"] == "rush"
    assert "artist" not in slots_of(with_tables(lookups={"artist": ("Nobody Else",)}), text)


def test_a_regular_expression_makes_a_slot_win():
    text = "where is my parcel QX-77-1"
    assert slots_of(shipped(), text).get("shop") != "QX-77-1"
    assert slots_of(with_tables(regexes={"shop": ("[A-Z]{2}-[0-9]{2}-[0-9]",)}), text)["shop"] == "QX-77-1"


def test_a_match_is_no_order(monkeypatch: pytest.MonkeyPatch):
    """A word that is in a table is still decided by the whole sentence."""
    text, parser = "play jazz in the kitchen", with_tables(lookups={"genre": ("kitchen",)})
    assert slots_of(parser, text) == slots_of(shipped(), text) == {"genre": "jazz", "room": "kitchen"}
    monkeypatch.setattr("handful.learners.span_decoding.HINT_BONUS", 30.0)
    assert slots_of(parser, text)["genre"] == "kitchen", "the match was heard, and outvoted"
