"""What a parser says of a sentence, over the characters that the user wrote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from handful.types import Ranking, Word

FALLBACK = "nlu_fallback"  # the name that Rasa has for what was understood as nothing


@dataclass(frozen=True, slots=True)
class FilledSlot:
    label: str
    value: str  # the words as written, or what a synonym says they mean
    start: int  # characters of the text
    end: int
    confidence: float
    role: str | None = None


@dataclass(frozen=True, slots=True)
class Parse:
    """A parsed sentence. A text without words has no intent; one that is rejected has the intent `nlu_fallback`, and
    what it would have been stands first in the ranking."""

    text: str
    words: tuple[Word, ...]
    ranking: Ranking
    slots: tuple[FilledSlot, ...]
    in_scope: float = 1.0  # how likely it is that some intent of the bot is meant
    rejected: bool = False

    @property
    def intent(self) -> str | None:
        if self.rejected:
            return FALLBACK
        return self.ranking.names[0] if self.ranking else None

    @property
    def confidence(self) -> float:
        if self.rejected:
            return 1.0 - self.in_scope
        return self.ranking.confidences[0] if self.ranking else 0.0

    def as_json(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "intent": {"name": self.intent, "confidence": round(self.confidence, 4)},
            "rejected": self.rejected,
            "in_scope": round(self.in_scope, 4),
            "slots": [
                {
                    "label": slot.label,
                    **({"role": slot.role} if slot.role is not None else {}),
                    "value": slot.value,
                    "start": slot.start,
                    "end": slot.end,
                    "confidence": round(slot.confidence, 4),
                }
                for slot in self.slots
            ],
            "intent_ranking": [
                {"name": ranked.name, "confidence": round(ranked.confidence, 4)} for ranked in self.ranking
            ],
        }
