"""What the formats with one tag a word share: words and tags become an utterance, or an error."""

from __future__ import annotations

from collections.abc import Sequence

from handful.data.bio import illegal_positions, mended, slots_of, split_tag, tags_of
from handful.data.bot_settings import BotSettings
from handful.data.document import Document
from handful.errors import Place, Problem, ProblemLog
from handful.types import Utterance


def tagged_utterance(
    words: Sequence[str], tags: Sequence[str], intent: str, *, places: Sequence[Place], repaired: list[Problem] | None
) -> Utterance:
    """Illegal tags are errors, unless `repaired` is a list: then they are mended and listed there.

    `places` are those of the words, where each has its own line; else a single one.
    """
    if len(words) != len(tags):
        raise ValueError(f"found {len(words)} words and {len(tags)} tags, expected one tag a word")
    where = [places[index if len(places) == len(words) else 0] for index in range(len(words))]
    log = ProblemLog()
    for place, tag in zip(where, tags, strict=True):
        with log.at(place):
            split_tag(tag)
    log.raise_if_any()
    for index in illegal_positions(tags):
        before = tags[index - 1] if index else "nothing"
        label = split_tag(tags[index])[1]
        told = f"the tag '{tags[index]}' of word {index + 1} ('{words[index]}') follows {before}"
        if repaired is None:
            log.add(where[index], f"{told}, expected B-{label} or I-{label} before it (--repair mends this)")
        else:
            repaired.append(Problem(where[index], f"{told}: mended to 'B-{label}'"))
    log.raise_if_any()
    return Utterance.from_words(words, intent, slots_of(mended(tags)))


def tags_to_write(utterance: Utterance, place: str) -> tuple[str, ...]:
    """The tags of an utterance, for formats in which white space separates."""
    for word in utterance.words:
        if any(character.isspace() for character in word.text):
            raise ValueError(f"{place}: the word {word.text!r} holds white space, which this format cannot write")
    for slot in utterance.slots:
        if any(character.isspace() for character in slot.label):
            raise ValueError(f"{place}: the slot '{slot.label}' holds white space, which this format cannot write")
    bare = [type(slot)(slot.label, slot.start, slot.end) for slot in utterance.slots]
    return tags_of(bare, len(utterance.words))


def not_written(document: Document, *, text: bool) -> list[str]:
    """What a format of words and tags cannot hold, to be told to the person who converts."""
    slots = [slot for utterance in document.utterances for slot in utterance.slots]
    losses = {
        "synonyms": document.synonyms,
        "lookup tables": document.lookups,
        "regular expressions": document.regexes,
        "the entity types of slots": document.slot_entities,
        "metadata": document.intent_metadata or document.example_metadata,
        "descriptions": document.descriptions,
        "settings": document.settings != BotSettings(),
        "values of slots": any(slot.value is not None for slot in slots),
        "roles of slots": any(slot.role is not None for slot in slots),
        "groups of slots": any(slot.group is not None for slot in slots),
        "the original spacing of texts": text and any(u.text != " ".join(u.sentence) for u in document.utterances),
    }
    return [name for name, lost in losses.items() if lost]
