"""Text in, intent and slots out, over the characters that the user wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from handful.learners.learner import Learner
from handful.parser.bot import Bot, load_bot
from handful.training.shipped import ReadyName, ready_learner
from handful.types import Prediction, Ranking, Word
from handful.words import split_words

if TYPE_CHECKING:
    from handful.parser.tuned import Tuning


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
    """A parsed sentence. A text without words has no intent."""

    text: str
    words: tuple[Word, ...]
    ranking: Ranking
    slots: tuple[FilledSlot, ...]

    @property
    def intent(self) -> str | None:
        return self.ranking[0].name if self.ranking else None

    @property
    def confidence(self) -> float:
        return self.ranking[0].confidence if self.ranking else 0.0

    def as_json(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "intent": {"name": self.intent, "confidence": round(self.confidence, 4)},
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


class Parser:
    def __init__(self, bot: Bot, learner: Learner, *, tuning: Tuning | None = None) -> None:
        self.bot = bot
        self.tuning = tuning  # what the learner was tuned with, where it was
        self._adapted = learner.adapt(bot.document.utterances)

    @classmethod
    def load(
        cls, path: str | Path, *, learner: ReadyName = "joint_spans", tuned: bool = True, format: str | None = None
    ) -> Self:
        """A parser from a bot file, in any format that handful reads.

        Where the bot was tuned (`handful tune`), that version of it; `tuned=False` is the untuned one.
        """
        # The bot first: a typo in the file is told before an encoder is loaded.
        return cls.of(load_bot(Path(path), format), Path(path), learner=learner, tuned=tuned)

    @classmethod
    def of(cls, bot: Bot, path: Path, *, learner: ReadyName = "joint_spans", tuned: bool = True) -> Self:
        """A parser of a bot that was read from `path`."""
        ready = ready_learner(learner)
        if tuned and learner == "joint_spans":
            from handful.parser.tuned import tuned_version

            found = tuned_version(path, ready)
            if found is not None:
                return cls(bot, found.learner, tuning=found.tuning)
        return cls(bot, ready)

    @property
    def tuning_is_stale(self) -> bool:
        """Have the bot's examples changed since it was tuned? They are all used; tuning again would use them better."""
        return self.tuning is not None and self.tuning.is_stale(self.bot.document.utterances)

    def parse(self, text: str) -> Parse:
        return self.parse_many([text])[0]

    def parse_many(self, texts: Sequence[str]) -> list[Parse]:
        split = [split_words(text) for text in texts]
        spoken = [words for words in split if words]
        predictions = iter(self._adapted.predict([tuple(word.text for word in words) for words in spoken]))
        return [
            self._parse(text, words, next(predictions)) if words else Parse(text, (), Ranking((), ()), ())
            for text, words in zip(texts, split, strict=True)
        ]

    def _parse(self, text: str, words: tuple[Word, ...], prediction: Prediction) -> Parse:
        slots = []
        for slot, confidence in zip(prediction.slots, prediction.slot_confidences, strict=True):
            start, end = words[slot.start].start, words[slot.end - 1].end
            value = self.bot.canonical_value(slot.key, text[start:end])
            slots.append(FilledSlot(slot.label, value, start, end, confidence, slot.role))
        return Parse(text, words, prediction.ranking, tuple(slots))
