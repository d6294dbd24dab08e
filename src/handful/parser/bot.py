"""A bot: the examples that a parser adapts to, from a file in any format we read."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path

from handful.data.bot_settings import BotSettings
from handful.data.document import Document
from handful.data.labels import humanised
from handful.places import beside
from handful.types import Slot


@dataclass(frozen=True)
class Bot:
    name: str
    document: Document

    @property
    def intents(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(utterance.intent for utterance in self.document.utterances))

    @property
    def slots(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(slot.key for u in self.document.utterances for slot in u.slots))

    @property
    def settings(self) -> BotSettings:
        return self.document.settings

    @cached_property
    def slot_kinds(self) -> tuple[Slot, ...]:
        """One slot for each label and role, as a learner tells them apart; its words and value mean nothing."""
        slots = (slot for utterance in self.document.utterances for slot in utterance.slots)
        return tuple({slot.key: Slot(slot.label, 0, 1, role=slot.role) for slot in slots}.values())

    @cached_property
    def descriptions(self) -> Mapping[str, str]:
        """What labels mean, by intent or by slot with its role, as learners want it.

        A slot that is described once and has several roles is described so for each, with the role behind it: two
        roles of the same description could not be told apart by it.
        """
        written = self.document.descriptions
        of_roles = {
            kind.key: f"{written[kind.label]} {humanised(kind.role)}"
            for kind in self.slot_kinds
            if kind.role is not None and kind.label in written
        }
        known = {*self.intents, *self.slots}
        return of_roles | {label: text for label, text in written.items() if label in known}

    def canonical_value(self, key: str, words: str) -> str:
        """What a slot's words mean, if an annotation of that slot or a synonym says so; else the words themselves."""
        folded = words.lower()
        return self._annotated.get((key, folded)) or self._synonyms.get(folded) or words

    @cached_property
    def _annotated(self) -> Mapping[tuple[str, str], str]:
        return {
            (slot.key, utterance.slot_text(slot).lower()): slot.value
            for utterance in self.document.utterances
            for slot in utterance.slots
            if slot.value is not None
        }

    @cached_property
    def _synonyms(self) -> Mapping[str, str]:
        """Synonyms hold for every slot, as they do in Rasa."""
        return {word.lower(): value for value, words in self.document.synonyms.items() for word in words}


def load_bot(path: Path, format_name: str | None = None) -> Bot:
    from handful.data.reading import read_document  # a dozen formats; an exported bot needs none of them

    bot = Bot(path.stem, read_document(path, format_name))
    if message := unused_tuning(path):
        warnings.warn(message, stacklevel=3)
    return bot


def unused_tuning(path: Path) -> str | None:
    """What to say of the tuned weights that earlier versions put beside a bot's file; None where there are none."""
    folder = beside(path, "tuned")
    return f"{folder}: is no longer used, and can be removed: bots need no tuning now" if folder.is_dir() else None


def starter_bot() -> Bot:
    """The bot that comes with the package: something to try at once, and a file to start one's own from."""
    with resources.as_file(resources.files("handful.parser") / "starter.yml") as path:
        return load_bot(path)


def starter_text() -> str:
    return (resources.files("handful.parser") / "starter.yml").read_text(encoding="utf-8")
