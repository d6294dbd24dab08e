"""What a file holds once it is read: utterances, and whatever else its format can say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from handful.errors import Problem
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
    # What was read but is not used, or was mended on the way. Not part of the content.
    warnings: tuple[Problem, ...] = field(default=(), compare=False)
