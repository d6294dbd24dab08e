"""What is odd about the slots of a bot's examples."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from handful.data.document import Document
from handful.errors import listed
from handful.parser.finding import Finding, lines_of, quoted
from handful.types import Utterance, Words

_SHORT = 2  # letters; words as short as “me” and “to”, and small numbers, are too common to mean the slot everywhere


def annotated_and_plain(document: Document) -> Iterator[Finding]:
    """Words that are a slot in one example and plain in another, of an intent that has that slot."""
    annotated = _annotated(document)
    longest_first = sorted(annotated, key=lambda known: -len(known[1]))
    by_first_word: defaultdict[str, list[tuple[str, Words]]] = defaultdict(list)
    for label, words in longest_first:
        by_first_word[words[0]].append((label, words))
    slots_of: defaultdict[str, set[str]] = defaultdict(set)
    for utterance in document.utterances:
        slots_of[utterance.intent].update(slot.label for slot in utterance.slots)
    plain: defaultdict[tuple[str, Words], list[int]] = defaultdict(list)
    for index, utterance in enumerate(document.utterances):
        for known in _plain_uses(utterance, by_first_word, slots_of[utterance.intent]):
            plain[known].append(index)
    for known, indices in plain.items():
        label, words = known
        shown = annotated[known]
        same_text = {_folded(document.utterances[index]) for index in shown}
        # The same text with other slots is told as that.
        told = [index for index in dict.fromkeys(indices) if _folded(document.utterances[index]) not in same_text]
        if told:
            yield _plain_finding(document, label, words, shown, told)


def _plain_finding(document: Document, label: str, words: Words, shown: list[int], plain: list[int]) -> Finding:
    place = document.place_of(plain[0])
    where = lines_of([document.place_of(shown[0])], place) or quoted(document.utterances[shown[0]].text)
    more = lines_of([document.place_of(index) for index in plain[1:]], place)
    also = f" (and in {more})" if more else ""
    text = quoted(document.utterances[plain[0]].text)
    return Finding(
        place,
        f"“{' '.join(words)}” is the slot '{label}' in {where} and plain in {text}{also}",
        "mark it there, too, if it means the same",
    )


def _annotated(document: Document) -> dict[tuple[str, Words], list[int]]:
    """Labels and the words that they stand on, with the examples in which they do."""
    found: defaultdict[tuple[str, Words], list[int]] = defaultdict(list)
    for index, utterance in enumerate(document.utterances):
        for slot in utterance.slots:
            words = _folded(utterance)[slot.start : slot.end]
            if any(len(word) > _SHORT for word in words):
                found[slot.label, words].append(index)
    return dict(found)


def _plain_uses(
    utterance: Utterance, by_first_word: dict[str, list[tuple[str, Words]]], labels: set[str]
) -> Iterator[tuple[str, Words]]:
    folded = _folded(utterance)
    free = [True] * len(folded)
    for slot in utterance.slots:
        free[slot.start : slot.end] = [False] * (slot.end - slot.start)
    start = 0
    while start < len(folded):
        length = 1
        for label, words in by_first_word.get(folded[start], ()):
            end = start + len(words)
            if label in labels and folded[start:end] == words and all(free[start:end]):
                yield label, words
                length = len(words)  # what is told of “new york” need not be told of “york”
                break
        start += length


def _folded(utterance: Utterance) -> Words:
    return tuple(word.lower() for word in utterance.sentence)


def two_values(document: Document) -> Iterator[Finding]:
    """The same words of one slot, or of two synonyms, with several values."""
    values: defaultdict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for index, utterance in enumerate(document.utterances):
        for slot in utterance.slots:
            if slot.value is not None:
                values[slot.key, utterance.slot_text(slot).lower()].setdefault(slot.value, index)
    for (key, words), found in values.items():
        if len(found) > 1:
            told = f"“{words}” in the slot '{key}' has several values: {listed(sorted(found))}"
            yield Finding(document.place_of(max(found.values())), told, "the last one is used")
    meant: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for value, synonyms in document.synonyms.items():
        for synonym in synonyms:
            meant[synonym.lower()][value] = None
    for synonym, several in meant.items():
        if len(several) > 1:
            place = document.named_places.get(("synonym", list(several)[-1]))
            yield Finding(place, f"“{synonym}” is a synonym of {listed(several)}", "the last one is used")


def turned_brackets(document: Document) -> Iterator[Finding]:
    """Rasa has [words](slot), Snips [slot:entity](words): a bot that mixes them reads well and parses badly."""
    for index, utterance in enumerate(document.utterances):
        for slot in utterance.slots:
            words = utterance.slot_text(slot)
            if re.fullmatch(r"\w+:[\w/]*[A-Za-z_][\w/]*", words):
                told = f"the slot '{slot.label}' on the words “{words}”: are the brackets the other way round?"
                yield Finding(document.place_of(index), told, "write [words](slot)")
