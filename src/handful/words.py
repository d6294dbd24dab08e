"""The one tokeniser: text into words with their characters.

A word is a run of letters and digits; each punctuation mark, symbol and CJK character is a word of its own. Marks
that belong to the character before them (accents, vowel signs, skin tones, joiners) stay with it. White space and
control characters separate words and belong to none.
"""

from __future__ import annotations

import re
import unicodedata

from handful.types import Word

# Scripts written without spaces, where a run of letters would be a whole clause.
_CJK = (
    (0x3040, 0x30FF),  # hiragana, katakana
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x323AF),
)
_JOINER = "\u200d"


# ASCII is nearly all there is in English, and needs no look at each character.
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+|[!-/:-@\[-`{-~]")


def split_words(text: str) -> tuple[Word, ...]:
    if text.isascii():
        return tuple(Word(found[0], found.start(), found.end()) for found in _ASCII_WORD.finditer(text))
    spans: list[tuple[int, int]] = []
    in_run = False  # does the last word go on if a letter or digit follows?
    for index, character in enumerate(text):
        kind = _kind(character)
        touches = bool(spans) and spans[-1][1] == index
        joined = touches and text[index - 1] == _JOINER
        if kind == "gap":
            in_run = False
        elif touches and (joined or kind == "mark" or (kind == "run" and in_run)):
            spans[-1] = (spans[-1][0], index + 1)
        elif kind == "mark" and not unicodedata.category(character).startswith("M"):
            in_run = False  # a joiner or a direction mark after white space: nothing to see, no word
        else:
            spans.append((index, index + 1))
            in_run = kind == "run"
    return tuple(Word(text[start:end], start, end) for start, end in spans)


def _kind(character: str) -> str:
    """'gap', 'run' (a letter or digit), 'mark' (goes with what precedes it) or 'single'."""
    if character.isalnum():
        return "single" if _is_cjk(character) else "run"
    category = unicodedata.category(character)
    if character.isspace() or category in {"Cc", "Cs"}:
        return "gap"
    if category.startswith("M") or category == "Cf" or 0x1F3FB <= ord(character) <= 0x1F3FF:
        return "mark"
    return "single"


def _is_cjk(character: str) -> bool:
    point = ord(character)
    return point >= 0x3040 and any(first <= point <= last for first, last in _CJK)
