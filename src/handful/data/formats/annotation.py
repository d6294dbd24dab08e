"""From characters to words: annotations that fit, and those that do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from handful.types import Slot, Utterance, Word
from handful.words import split_words


@dataclass(frozen=True, slots=True)
class CharacterSpan:
    """An annotation of the characters [start, end) of a text."""

    label: str
    start: int
    end: int
    value: str | None = None
    role: str | None = None
    group: str | None = None


def annotate(text: str, intent: str, spans: Sequence[CharacterSpan]) -> Utterance:
    """An utterance from text and character spans; a span that does not fit the words is a ValueError."""
    words = split_words(text)
    if not words:
        raise ValueError(f"found the text {text!r}, expected at least one word")
    ordered = sorted(spans, key=lambda span: (span.start, span.end))
    for before, after in pairwise(ordered):
        if after.start < before.end:
            raise ValueError(
                f"the annotations {_shown(text, before)} and {_shown(text, after)} overlap; "
                "a word can be in one slot only"
            )
    return Utterance(text, words, intent, tuple(_slot(text, words, span) for span in ordered))


def joined(chunks: Sequence[tuple[str, CharacterSpan | None]]) -> tuple[str, list[CharacterSpan]]:
    """Text and spans from pieces of text, each plain or annotated (the pieces' own offsets do not matter)."""
    text, spans = "", []
    for piece, span in chunks:
        if span is not None:
            start, end = len(text), len(text) + len(piece)
            spans.append(CharacterSpan(span.label, start, end, span.value, span.role, span.group))
        text += piece
    return text, spans


def _slot(text: str, words: Sequence[Word], span: CharacterSpan) -> Slot:
    if span.end <= span.start:
        raise ValueError(f"the annotation '{span.label}' runs from character {span.start} to {span.end}: it has none")
    if span.start < 0 or span.end > len(text):
        raise ValueError(
            f"the annotation '{span.label}' covers characters {span.start} to {span.end}, "
            f"but the text has {len(text)} characters"
        )
    covered = text[span.start : span.end]
    # White space at an annotation's edges belongs to no word; letting it go changes nothing that is predicted.
    start = span.start + len(covered) - len(covered.lstrip())
    end = span.end - (len(covered) - len(covered.rstrip()))
    inside = [i for i, word in enumerate(words) if word.end > start and word.start < end]
    if not inside:
        raise ValueError(f"the annotation '{span.label}' covers no word: {covered!r}")
    first, last = words[inside[0]], words[inside[-1]]
    for word in (first, last):
        if word.start < start or word.end > end:
            raise ValueError(
                f"the annotation '{span.label}' covers {covered!r} (characters {span.start} to {span.end}) and cuts "
                f"the word '{word.text}' (characters {word.start} to {word.end}): annotate whole words"
            )
    value = None if span.value == text[start:end] else span.value
    return Slot(span.label, inside[0], inside[-1] + 1, value, span.role, span.group)


def _shown(text: str, span: CharacterSpan) -> str:
    return f"'{span.label}' on {text[span.start : span.end]!r}"
