"""Tags and spans: O, B-x (a span of x begins), I-x (it goes on)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from handful.types import Slot, Utterance

OUTSIDE = "O"


@lru_cache(maxsize=4096)
def split_tag(tag: str) -> tuple[str, str]:
    """'B-city' -> ('B', 'city'); 'O' -> ('O', '')."""
    if tag == OUTSIDE:
        return OUTSIDE, ""
    prefix, dash, label = tag.partition("-")
    if prefix not in {"B", "I"} or not dash or not label.strip():
        raise ValueError(f"found the tag {tag!r}, expected O, B-label or I-label")
    return prefix, label


def tags_of(slots: Iterable[Slot], words: int) -> tuple[str, ...]:
    """The tags of an utterance; roles are part of the label, as learners see it."""
    tags = [OUTSIDE] * words
    for slot in slots:
        tags[slot.start] = f"B-{slot.key}"
        tags[slot.start + 1 : slot.end] = [f"I-{slot.key}"] * (slot.end - slot.start - 1)
    return tuple(tags)


def utterance_tags(utterance: Utterance) -> tuple[str, ...]:
    return tags_of(utterance.slots, len(utterance.words))


def tag_set(utterances: Iterable[Utterance]) -> frozenset[str]:
    return frozenset(tag for utterance in utterances for tag in utterance_tags(utterance))


def slots_of(tags: Sequence[str]) -> tuple[Slot, ...]:
    """Spans as conlleval reads them: an I-x that follows neither B-x nor I-x opens a span."""
    slots: list[Slot] = []
    open_label, start = "", 0
    for index, tag in enumerate([*tags, OUTSIDE]):
        prefix, label = split_tag(tag)
        if open_label and (prefix != "I" or label != open_label):
            slots.append(Slot(open_label, start, index))
            open_label = ""
        if prefix != OUTSIDE and not open_label:
            open_label, start = label, index
    return tuple(slots)


def illegal_positions(tags: Sequence[str]) -> list[int]:
    """Where an I-x continues nothing."""
    found = []
    for index, tag in enumerate(tags):
        prefix, label = split_tag(tag)
        before = tags[index - 1] if index else OUTSIDE
        if prefix == "I" and before not in {f"B-{label}", f"I-{label}"}:
            found.append(index)
    return found


def mended(tags: Sequence[str]) -> tuple[str, ...]:
    """The same spans in legal tags: an I-x that continues nothing becomes B-x."""
    stray = set(illegal_positions(tags))
    return tuple(f"B-{split_tag(tag)[1]}" if i in stray else tag for i, tag in enumerate(tags))
