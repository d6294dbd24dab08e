"""Between values and rows. An example is kept by its characters: its words are found again by the one tokeniser."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from sqlalchemy import Row

from handful.data.formats.annotation import CharacterSpan, annotate
from handful.serve.store.errors import StoreDamaged
from handful.serve.store.values import NewExample, Rest, Scope, StoredExample
from handful.types import Slot, Utterance, Word


def example_row(example: NewExample) -> dict[str, Any]:
    utterance = example.utterance
    row: dict[str, Any] = {
        "intent": utterance.intent,
        "text": utterance.text,
        "slots": [
            [
                slot.label,
                utterance.words[slot.start].start,
                utterance.words[slot.end - 1].end,
                slot.value,
                slot.role,
                slot.group,
            ]
            for slot in utterance.slots
        ],
        "metadata": example.metadata,
    }
    return row


def example_of(row: Row[Any]) -> StoredExample:
    spans = [CharacterSpan(*slot) for slot in row.slots]
    try:
        utterance = annotate(row.text, row.intent, spans)
    except ValueError:
        utterance = _of_a_corpus(row.text, row.intent, spans)
    return StoredExample(row.id, utterance, row.metadata)


def _of_a_corpus(text: str, intent: str, spans: Sequence[CharacterSpan]) -> Utterance:
    """A corpus that came tokenised may have words that our tokeniser would cut: its words are parted by spaces."""
    words, start = [], 0
    for piece in text.split(" "):
        if piece:
            words.append(Word(piece, start, start + len(piece)))
        start += len(piece) + 1
    starts = {word.start: number for number, word in enumerate(words)}
    ends = {word.end: number + 1 for number, word in enumerate(words)}
    try:
        slots = [Slot(s.label, starts[s.start], ends[s.end], s.value, s.role, s.group) for s in spans]
        return Utterance(text, tuple(words), intent, tuple(slots))
    except (KeyError, ValueError) as error:
        raise StoreDamaged(f"an example of '{intent}' cannot be read: {error}") from error


def rest_content(rest: Rest) -> dict[str, Any]:
    return {
        "synonyms": _lists(rest.synonyms),
        "lookups": _lists(rest.lookups),
        "regexes": _lists(rest.regexes),
        "slot_entities": [[intent, slot, entity] for (intent, slot), entity in rest.slot_entities.items()],
        "intent_metadata": dict(rest.intent_metadata),
        "descriptions": dict(rest.descriptions),
        "threshold": rest.threshold,
    }


def rest_of(content: Mapping[str, Any]) -> Rest:
    try:
        return Rest(
            synonyms=_tuples(content["synonyms"]),
            lookups=_tuples(content["lookups"]),
            regexes=_tuples(content["regexes"]),
            slot_entities={(intent, slot): entity for intent, slot, entity in content["slot_entities"]},
            intent_metadata=content["intent_metadata"],
            descriptions=content["descriptions"],
            threshold=content["threshold"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StoreDamaged(f"what a bot says beside its examples cannot be read: {error!r}") from error


def one_of(values: Iterable[Any], found: Any) -> Any:
    if found not in values:
        raise StoreDamaged(f"found {found!r}, expected one of {', '.join(map(repr, values))}")
    return found


def scope_of(found: str) -> Any:
    return one_of(get_args(Scope), found)


def _lists(section: Mapping[str, tuple[str, ...]]) -> dict[str, list[str]]:
    return {name: list(values) for name, values in section.items()}


def _tuples(section: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(values) for name, values in section.items()}
