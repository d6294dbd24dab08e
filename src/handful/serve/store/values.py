"""What a store gives and takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from handful.data.bot_settings import BotSettings, Threshold
from handful.data.document import Document
from handful.types import Utterance

Scope = Literal["read", "write", "admin"]


@dataclass(frozen=True, slots=True)
class Stamp:
    """Which bot, and which of its versions. A bot that is deleted and made anew is another bot."""

    bot: int
    version: int


@dataclass(frozen=True, slots=True)
class NewExample:
    utterance: Utterance
    metadata: Any = None


@dataclass(frozen=True, slots=True)
class StoredExample:
    id: int
    utterance: Utterance
    metadata: Any = None


@dataclass(frozen=True, slots=True)
class Rest:
    """Of a document what is neither intents nor examples."""

    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    lookups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    regexes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    slot_entities: Mapping[tuple[str, str], str] = field(default_factory=dict)
    intent_metadata: Mapping[str, Any] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)
    threshold: Threshold = "auto"


@dataclass(frozen=True, slots=True)
class Content:
    """A bot at a version."""

    name: str
    stamp: Stamp
    intents: tuple[str, ...]  # in their order; some may have no example
    examples: tuple[StoredExample, ...]
    rest: Rest

    def document(self) -> Document:
        return Document(
            tuple(example.utterance for example in self.examples),
            synonyms=self.rest.synonyms,
            lookups=self.rest.lookups,
            regexes=self.rest.regexes,
            slot_entities=self.rest.slot_entities,
            intent_metadata=self.rest.intent_metadata,
            example_metadata={
                number: example.metadata for number, example in enumerate(self.examples) if example.metadata is not None
            },
            descriptions=self.rest.descriptions,
            settings=BotSettings(threshold=self.rest.threshold),
        )


@dataclass(frozen=True, slots=True)
class Change:
    """What one version does to the one before it."""

    add: tuple[NewExample, ...] = ()
    replace: Mapping[int, NewExample] = field(default_factory=dict)  # in the place of the example with this number
    remove: tuple[int, ...] = ()
    add_intents: tuple[str, ...] = ()
    remove_intents: tuple[str, ...] = ()  # with their examples
    rename_intents: Mapping[str, str] = field(default_factory=dict)  # without them: those are replaced
    rest: Rest | None = None  # None: as it was
    clear: bool = False  # all that was there goes first


@dataclass(frozen=True, slots=True)
class Changed:
    stamp: Stamp
    examples: tuple[StoredExample, ...] = ()  # those that were added or put in another's place


@dataclass(frozen=True, slots=True)
class Difference:
    added: tuple[StoredExample, ...]
    removed: tuple[StoredExample, ...]
    added_intents: tuple[str, ...]
    removed_intents: tuple[str, ...]
    changed: tuple[str, ...]  # what of the rest is another


@dataclass(frozen=True, slots=True)
class BotRow:
    name: str
    version: int
    intents: int
    examples: int
    made: datetime
    changed: datetime


@dataclass(frozen=True, slots=True)
class VersionRow:
    number: int
    made: datetime
    by: str | None
    what: str


@dataclass(frozen=True, slots=True)
class TokenRow:
    name: str
    scope: Scope
    made: datetime
    sha256: str
