"""A bot's document in the making, from one file or several."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from handful.data.bot_settings import BotSettings
from handful.data.document import Document
from handful.errors import DataError, Place, Problem, ProblemLog
from handful.types import Utterance


@dataclass(slots=True)
class Draft:
    utterances: list[Utterance] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    synonyms: dict[str, tuple[str, ...]] = field(default_factory=dict)
    lookups: dict[str, tuple[str, ...]] = field(default_factory=dict)
    regexes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    intent_metadata: dict[str, Any] = field(default_factory=dict)
    example_metadata: dict[int, Any] = field(default_factory=dict)
    descriptions: dict[str, str] = field(default_factory=dict)
    settings: BotSettings = field(default_factory=BotSettings)
    named_places: dict[tuple[str, str], Place] = field(default_factory=dict)
    warnings: list[Problem] = field(default_factory=list)
    may_include: bool = True
    files: dict[Path, Place] = field(default_factory=dict)  # what was included, and where
    open_files: list[Path] = field(default_factory=list)  # from the bot's own file to the one that is being read
    # What is wrong, apart for what may have cost examples: where that is empty, all labels are known.
    key_log: ProblemLog = field(default_factory=ProblemLog)
    example_log: ProblemLog = field(default_factory=ProblemLog)

    @property
    def labels(self) -> set[str]:
        """What may be described: intents, and slots with and without their roles."""
        slots = [slot for utterance in self.utterances for slot in utterance.slots]
        intents = {utterance.intent for utterance in self.utterances}
        return intents | {slot.label for slot in slots} | {slot.key for slot in slots}

    def document(self) -> Document:
        return Document(
            tuple(self.utterances),
            self.synonyms,
            self.lookups,
            self.regexes,
            intent_metadata=self.intent_metadata,
            example_metadata=self.example_metadata,
            descriptions=self.descriptions,
            settings=self.settings,
            warnings=tuple(self.warnings),
            places=tuple(self.places),
            named_places=self.named_places,
        )


def problems_of(log: ProblemLog) -> tuple[Problem, ...]:
    try:
        log.raise_if_any()
    except DataError as error:
        return error.problems
    return ()
