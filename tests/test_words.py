from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handful.words import split_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("fly to Boston!", ["fly", "to", "Boston", "!"]),
        ("don't stop", ["don", "'", "t", "stop"]),
        ("at 9:30pm", ["at", "9", ":", "30pm"]),
        ("snake_case", ["snake", "_", "case"]),
        ("  \t two\u00a0words \n", ["two", "words"]),
        ("café", ["café"]),
        ("cafe\u0301 noir", ["cafe\u0301", "noir"]),
        ("naïve Straße", ["naïve", "Straße"]),
        ("我要去北京", ["我", "要", "去", "北", "京"]),
        ("カラオケ 2回", ["カ", "ラ", "オ", "ケ", "2", "回"]),
        ("서울 날씨", ["서울", "날씨"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("מזג האוויר", ["מזג", "האוויר"]),
        ("👍🏽 ok 👨‍👩‍👧", ["👍🏽", "ok", "👨‍👩‍👧"]),
        ("❤️x", ["❤️", "x"]),
        ("a\u200bb", ["a\u200bb"]),
        ("\u200e hello", ["hello"]),
        ("50€, please", ["50", "€", ",", "please"]),
        ("", []),
        (" \u2028\x07 ", []),
    ],
)
def test_words(text: str, words: list[str]):
    assert [word.text for word in split_words(text)] == words


@given(st.text(max_size=200))
def test_words_stand_in_the_text_in_order_and_cover_all_that_can_be_seen(text: str):
    words = split_words(text)
    reached = 0
    for word in words:
        assert text[word.start : word.end] == word.text
        assert word.start >= reached
        reached = word.end
    covered = {index for word in words for index in range(word.start, word.end)}
    assert not [character for index, character in enumerate(text) if character.isalnum() and index not in covered]


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_space_is_a_border(left: str, right: str):
    parts = [word.text for word in split_words(left)] + [word.text for word in split_words(right)]
    assert [word.text for word in split_words(f"{left} {right}")] == parts
