"""A bot: the examples that a parser adapts to, from a file in any format we read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from handful.data.document import Document
from handful.data.reading import read_document


@dataclass(frozen=True, slots=True)
class Bot:
    name: str
    document: Document

    @property
    def intents(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(utterance.intent for utterance in self.document.utterances))

    @property
    def slots(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(slot.key for u in self.document.utterances for slot in u.slots))

    def canonical_values(self) -> Mapping[str, str]:
        """What words mean where a synonym, or an annotation's own value, says so. Keys are lower-cased."""
        values = {}
        for utterance in self.document.utterances:
            for slot in utterance.slots:
                if slot.value is not None:
                    values[utterance.slot_text(slot).lower()] = slot.value
        for value, synonyms in self.document.synonyms.items():
            values |= {synonym.lower(): value for synonym in synonyms}
        return values


def load_bot(path: Path, format_name: str | None = None) -> Bot:
    return Bot(path.stem, read_document(path, format_name))


def starter_bot() -> Bot:
    """The bot that comes with the package: something to try at once, and a file to start one's own from."""
    with resources.as_file(resources.files("handful.parser") / "starter.yml") as path:
        return load_bot(path)


def starter_text() -> str:
    return (resources.files("handful.parser") / "starter.yml").read_text(encoding="utf-8")
