"""Domain sets: their lines, and what of them can be trained on."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from handful.data.bio import illegal_positions, mended, slots_of, split_tag
from handful.data.corpora import Corpus
from handful.data.domain_sources import DOMAIN_SETS, FOLDER, DomainSource
from handful.data.formats.files import read_lines
from handful.data.formats.tree import describe
from handful.data.labels import qualified
from handful.data.near_names import suggestion
from handful.errors import ConfigError, Place, Problem, ProblemLog
from handful.types import Slot, Utterance, Words
from handful.words import split_words

# What a bot's users say that is none of its intents.
OUT_OF_SCOPE = frozenset({"None", "none", "outofdomain"})
# Answers to a bot's question, whatever it was about; the second is a name that a tool made up.
ANSWERS = frozenset({"contentonly", "TextInput_Response_Fej6Ub"})
NO_INTENT = OUT_OF_SCOPE | ANSWERS

_SPLITS = ("train", "dev", "test")
_NOT_TEXT = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class DomainLine:
    words: Words
    slots: tuple[Slot, ...]
    domain: str
    intent: str | None  # None: no single one
    split: str

    def utterance(self, intent: str) -> Utterance:
        return Utterance.from_words(self.words, intent, self.slots)

    def as_parsed(self, intent: str) -> Utterance | None:
        """In the words that a parser makes of a text, not in those of the set's own tool; None if there are none."""
        words: list[str] = []
        starts = [0]  # of each token, and the end of the last
        for token in self.words:
            words += [word.text for word in split_words(token)]
            starts.append(len(words))
        moved = [
            replace(slot, start=starts[slot.start], end=starts[slot.end])
            for slot in self.slots
            if starts[slot.start] < starts[slot.end]
        ]
        return Utterance.from_words(words, intent, moved) if words else None


@dataclass(frozen=True, slots=True)
class DomainSet:
    source: DomainSource
    lines: tuple[DomainLine, ...]
    mended: tuple[Problem, ...] = ()  # illegal tags of the files, mended on the way

    @property
    def name(self) -> str:
        return self.source.data.name


@dataclass(frozen=True, slots=True)
class TrainingDomain:
    """What one domain gives for training; an intent is named `set/domain › intent` (labels.qualified)."""

    name: str
    utterances: tuple[Utterance, ...]
    slots_only: tuple[Utterance, ...]  # without an intent of their own: named for their domain
    has_slots: bool  # False: O tags say nothing


def load_domain_set(name: str, directory: Path) -> DomainSet:
    source = DOMAIN_SETS.get(name)
    if source is None:
        raise ConfigError(f"there is no domain set '{name}'{suggestion(name, DOMAIN_SETS)}")
    folder = directory / FOLDER / name
    if not folder.is_dir():
        raise ConfigError(
            f"'{name}' is not in {directory / FOLDER}, and there is nothing to fetch: {source.data.not_fetched}. "
            "HANDFUL_DATA says where it lies"
        )
    files = {file.name for file in source.data.files}
    lines: list[DomainLine] = []
    repairs: list[Problem] = []
    for split in (split for split in _SPLITS if f"{split}.jsonl" in files):
        lines += read_domain_lines(folder / f"{split}.jsonl", split, repairs, unnamed_domain=source.unnamed_domain)
    return DomainSet(source, tuple(lines), tuple(repairs))


def read_domain_lines(
    path: Path, split: str, repairs: list[Problem], *, unnamed_domain: str | None = None
) -> list[DomainLine]:
    """The lines of one file. Illegal tags are mended and added to `repairs`."""
    log, lines = ProblemLog(), []
    for number, text in enumerate(read_lines(path), 1):
        place = Place(path, number)
        with log.at(place):
            row = _row(text)
            words, tags = _strings(row, "tokens", "words"), _strings(row, "slots", "tags")
            slots = _slots(words, tags, place, repairs)
            lines.append(DomainLine(words, slots, _domain(row, unnamed_domain), _intent(row), split))
    log.raise_if_any()
    return lines


def training_domains(
    domain_set: DomainSet, *, without_domains: Collection[str] = (), leave_out: Collection[str] = frozenset()
) -> tuple[TrainingDomain, ...]:
    """The utterances to train on, by domain: all but those of `without_domains`, of texts whose key (`text_key`) is in
    `leave_out`, and of labels that are no intents."""
    source = domain_set.source
    intents: defaultdict[str, list[Utterance]] = defaultdict(list)
    slots_only: defaultdict[str, list[Utterance]] = defaultdict(list)
    for line in domain_set.lines:
        if line.domain in without_domains or line.intent in NO_INTENT or text_key(line.words) in leave_out:
            continue
        name = domain_set.name if source.one_bot else f"{domain_set.name}/{line.domain}"
        if line.intent is not None:
            utterance = line.as_parsed(qualified(name, source.bare_intent(line.intent)))
            found = intents
        elif source.has_slots:
            utterance, found = line.as_parsed(qualified(name, line.domain)), slots_only
        else:
            continue
        if utterance is not None:
            found[name].append(utterance)
    return tuple(
        TrainingDomain(name, tuple(intents[name]), tuple(slots_only[name]), source.has_slots)
        for name in sorted({*intents, *slots_only})
    )


def as_corpus(domain_set: DomainSet) -> Corpus:
    """Every line, by split, as commands that show any data set expect it."""
    splits: defaultdict[str, list[Utterance]] = defaultdict(list)
    for line in domain_set.lines:
        splits[line.split].append(line.utterance(qualified(line.domain, line.intent or "no single intent")))
    return Corpus(domain_set.name, {split: tuple(found) for split, found in splits.items()}, domain_set.mended)


def text_key(words: Iterable[str]) -> str:
    """Letters and digits, case folded: equal for texts that differ in spacing, punctuation or case. It may be empty."""
    return _NOT_TEXT.sub("", "".join(words).casefold())


def _row(text: str) -> Mapping[str, Any]:
    # Plain json, not formats/json_tree: a node for each of two million words takes a minute.
    if not text.strip():
        raise ValueError("found an empty line, expected one JSON object a line")
    try:
        row = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} (column {error.colno})") from None
    except RecursionError:
        raise ValueError("nested too deeply to be read") from None
    if not isinstance(row, dict):
        raise ValueError(f"found {describe(row)}, expected a JSON object with 'tokens', 'slots' and 'intent'")
    return row


def _value(row: Mapping[str, Any], key: str) -> Any:
    if key not in row:
        keys = ", ".join(f"'{found}'" for found in row) or "none"
        raise ValueError(f"the key '{key}' is missing; found the keys {keys}")
    return row[key]


def _strings(row: Mapping[str, Any], key: str, what: str) -> tuple[str, ...]:
    found = _value(row, key)
    if not isinstance(found, list):
        raise ValueError(f"'{key}': found {describe(found)}, expected a list of {what}")
    if not found and key == "tokens":
        raise ValueError("'tokens': found an empty list, expected at least one word")
    for index, item in enumerate(found):
        if not isinstance(item, str) or not item or item != item.strip() or any(blank in item for blank in " \t\n\r"):
            raise ValueError(f"'{key}[{index}]': found {describe(item)}, expected a text without white space")
    return tuple(found)


def _slots(words: Words, tags: Words, place: Place, repairs: list[Problem]) -> tuple[Slot, ...]:
    if len(words) != len(tags):
        raise ValueError(f"found {len(words)} words and {len(tags)} tags, expected one tag a word")
    for index in illegal_positions(tags):
        label = split_tag(tags[index])[1]
        message = (
            f"the tag '{tags[index]}' of word {index + 1} ('{words[index]}') continues nothing: read as 'B-{label}'"
        )
        repairs.append(Problem(place, message))
    return slots_of(mended(tags))


def _domain(row: Mapping[str, Any], unnamed: str | None) -> str:
    # One of the sets writes the text "None" where there is no name.
    found = row.get("domain") if unnamed is not None else _value(row, "domain")
    if unnamed is not None and (found is None or found == "None"):
        return unnamed
    if not isinstance(found, str) or not found.strip():
        raise ValueError(f"'domain': found {describe(found)}, expected a domain's name")
    return found


def _intent(row: Mapping[str, Any]) -> str | None:
    """The intent, if there is exactly one."""
    if "intents" in row:
        found = _strings(row, "intents", "intents' names")
        return found[0] if len(found) == 1 else None
    found = _value(row, "intent")
    if found is not None and (not isinstance(found, str) or not found.strip()):
        raise ValueError(f"'intent': found {describe(found)}, expected an intent's name or null")
    return found
