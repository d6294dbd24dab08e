"""What a file holds once it is read: utterances, and whatever else its format can say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from handful.data.bot_settings import BotSettings
from handful.errors import Place, Problem
from handful.types import Utterance


@dataclass(frozen=True, slots=True)
class Document:
    utterances: tuple[Utterance, ...]
    synonyms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # a value, and the words that mean it
    lookups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # a slot or entity, and its known values
    regexes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    slot_entities: Mapping[tuple[str, str], str] = field(default_factory=dict)  # (intent, slot) -> its entity type
    intent_metadata: Mapping[str, Any] = field(default_factory=dict)
    example_metadata: Mapping[int, Any] = field(default_factory=dict)  # by position in `utterances`
    descriptions: Mapping[str, str] = field(default_factory=dict)  # an intent or slot, and what it means
    settings: BotSettings = field(default_factory=BotSettings)
    # What was read but is not used, or was mended on the way. Not part of the content.
    warnings: tuple[Problem, ...] = field(default=(), compare=False)
    # Where things stand, in formats that keep it: each utterance, and the first line of what has a kind and a name,
    # such as ("lookup", "city") or ("settings", "checkpoint").
    places: tuple[Place, ...] = field(default=(), compare=False)
    named_places: Mapping[tuple[str, str], Place] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if self.places and len(self.places) != len(self.utterances):
            raise ValueError(
                f"found {len(self.places)} places of {len(self.utterances)} utterances, expected all or none"
            )

    def place_of(self, utterance: int) -> Place | None:
        """Where the utterance at this position stands, if the format keeps that."""
        return self.places[utterance] if self.places else None


@dataclass(frozen=True, slots=True)
class Reading:
    """All that could be read of a file that may be broken, and everything that is wrong with it."""

    document: Document | None  # None: there is not one whole utterance in it
    problems: tuple[Problem, ...] = ()
