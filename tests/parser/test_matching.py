from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handful.data.document import Document
from handful.parser.bot import Bot
from handful.parser.matching import Matcher, matched_slots, runs_away
from handful.types import Slot, Utterance
from handful.words import split_words

EXAMPLE = Utterance.from_words(
    ["Rome", "to", "Oslo", "12345", "now"],
    "fly",
    [Slot("city", 0, 1, role="from"), Slot("city", 2, 3, role="to"), Slot("zip", 3, 4), Slot("when", 4, 5)],
)


def matcher(**sections) -> Matcher:
    return Matcher.of(Bot("x", Document((EXAMPLE,), **sections)))


def found(of: Matcher, text: str) -> list[tuple[str, str]]:
    words = split_words(text)
    return [
        (slot.key, text[words[slot.start].start : words[slot.end - 1].end]) for slot in matched_slots(of, text, words)
    ]


def test_a_table_speaks_of_every_role_of_its_slot():
    cities = matcher(lookups={"city": ("New York", "Rome")})
    assert found(cities, "from rome to NEW  york!") == [
        ("city:from", "rome"),
        ("city:to", "rome"),
        ("city:from", "NEW  york"),
        ("city:to", "NEW  york"),
    ]


def test_matches_are_slots_by_word():
    assert matched_slots(matcher(lookups={"when": ("right now",)}), "go right now", split_words("go right now")) == (
        Slot("when", 1, 3),
    )


@pytest.mark.parametrize(
    ("value", "text", "matches"),
    [
        ("now", "nowhere, know now", ["now"]),
        ("a b", "a b a b", ["a b", "a b"]),
        ("a-b", "a - b", ["a - b"]),
        ("STRASSE", "straße", ["straße"]),
        ("café", "cafe\u0301", ["cafe\u0301"]),
        ("京都", "去京都", ["京都"]),
        ("\u200d", "x", []),  # a value without words
        ("a a", "a a a", ["a a", "a a"]),  # overlapping ones are told, too
    ],
)
def test_whole_words_whatever_their_case_and_spacing(value: str, text: str, matches: list[str]):
    assert [words for _, words in found(matcher(lookups={"when": (value,)}), text)] == matches


def test_the_words_that_mean_a_known_value_are_known_too():
    cities = matcher(lookups={"when": ("today",)}, synonyms={"today": ("this very day",), "Rome": ("the city",)})
    assert found(cities, "this very day in the city") == [("when", "this very day")]


def test_expressions_match_whole_words_as_they_are_written():
    codes = matcher(regexes={"zip": (r"\d{5}", r"\s?[A-Z]{2}-\d+ ?")})
    assert found(codes, "12345 123456 AB-12 ab-12 x12345") == [("zip", "12345"), ("zip", "AB-12")]
    assert found(matcher(regexes={"zip": (r"(?i)[A-Z]{2}-\d+",)}), "ab-12") == [("zip", "ab-12")]


def test_expressions_that_match_nothing_much_are_no_match():
    assert found(matcher(regexes={"zip": (r"x*", r"\s+", r"^", r"\d*")}), "ab 12") == [("zip", "12")]


def test_a_table_and_an_expression_that_agree_are_told_once():
    both = matcher(lookups={"zip": ("12345", "12345")}, regexes={"zip": (r"\d+",)})
    assert found(both, "to 12345") == [("zip", "12345")]


def test_entity_types_name_the_slots_of_formats_that_have_them():
    typed = matcher(
        lookups={"place": ("Rome",)},
        regexes={"moment": ("now",)},
        slot_entities={("fly", "city"): "place", ("fly", "when"): "moment", ("other", "gone"): "place"},
    )
    assert found(typed, "Rome now") == [("city:from", "Rome"), ("city:to", "Rome"), ("when", "now")]


def test_what_speaks_of_no_slot_is_not_kept():
    nothing = matcher(lookups={"town": ("Rome",)}, regexes={"code": ("x",)})
    assert not nothing
    assert found(nothing, "Rome x") == []
    assert matcher(lookups={"city": ("Rome",)})


def test_large_tables_and_long_texts_take_no_time():
    values = tuple(f"the place number {n}" for n in range(10_000))
    large = matcher(lookups={"city": values}, regexes={"zip": (r"\d{5}", r"[a-z]+ .* x")})
    text = "go to the place number 777 or the place " * 250
    begun = time.thread_time()
    assert len(found(large, text[:10_000])) >= 400
    assert time.thread_time() - begun < 1


@given(st.lists(st.sampled_from(["a", "b", "A", "-"]), max_size=12), st.data())
def test_all_runs_of_words_of_a_table_are_found_and_no_others(words: list[str], data: st.DataObject):
    values = data.draw(st.lists(st.lists(st.sampled_from(["a", "b", "-"]), min_size=1, max_size=3), max_size=4))
    text = " ".join(words)
    slots = matched_slots(matcher(lookups={"zip": tuple(map(" ".join, values))}), text, split_words(text))
    folded = [word.lower() for word in words]
    spans = ((start, end) for start in range(len(words)) for end in range(start + 1, len(words) + 1))
    assert [(slot.start, slot.end) for slot in slots] == [span for span in spans if folded[slice(*span)] in values]


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(\w+\s?)*$", r"(1|1)*x", r"([a-z]+)*!", r"(.*)*z"])
def test_expressions_that_take_forever_are_known(pattern: str):
    assert runs_away(pattern)


@pytest.mark.parametrize(
    "pattern", [r"\d{5}", r"\d+(\.\d+)*", r"\w+(-\w+)+$", r"(\d+)+", r"^(\d{1,3}\.){3}\d{1,3}$", r".*.*x", "hi|ho"]
)
def test_ordinary_expressions_are_not_accused(pattern: str):
    assert not runs_away(pattern)
