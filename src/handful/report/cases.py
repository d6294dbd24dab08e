"""One held-out utterance and what the parser said of it. Spans are compared by characters: a file may have split its
text into other words than the parser does."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from handful.parser.explain import Neighbour
from handful.parser.parse import FALLBACK, Parse
from handful.training.scoring import SpanCounts
from handful.types import RankedIntent, Utterance


class Span(NamedTuple):
    start: int  # characters of the text
    end: int
    key: str  # the slot, with its role


class Fault(StrEnum):
    """What is wrong with a parse, from the worst down. A wrong intent hides wrong slots."""

    INTENT = "intent"
    REJECTED = "rejected"  # it has said that it does not know
    SLOTS = "slots"


@dataclass(frozen=True, slots=True)
class Case:
    utterance: Utterance
    parse: Parse
    nearest: tuple[Neighbour, ...] = ()  # of the examples that the parser had, nearest first

    def __post_init__(self) -> None:
        if self.utterance.text != self.parse.text:
            raise ValueError(f"a parse of {self.parse.text!r} is no answer to {self.utterance.text!r}")

    @property
    def gold(self) -> frozenset[Span]:
        return frozenset(gold_spans(self.utterance))

    @property
    def found(self) -> frozenset[Span]:
        return frozenset(found_spans(self.parse))

    @property
    def said(self) -> str:
        """The intent, or that there is none: a text in which the parser sees no words is rejected, too."""
        return self.parse.intent or FALLBACK

    @property
    def guess(self) -> RankedIntent:
        """The likeliest intent, rejected or not: what the confidence is about."""
        return self.parse.ranking[0] if self.parse.ranking else RankedIntent(FALLBACK, 0.0)

    @property
    def right_intent(self) -> bool:
        return self.said == self.utterance.intent

    @property
    def spans(self) -> SpanCounts:
        return SpanCounts(len(self.gold & self.found), len(self.found), len(self.gold))

    @property
    def fault(self) -> Fault | None:
        if not self.right_intent:
            return Fault.REJECTED if self.said == FALLBACK else Fault.INTENT
        return None if self.gold == self.found else Fault.SLOTS

    @property
    def sureness(self) -> float:
        """How sure the parser was of what is wrong: of the intent, of rejecting, or of the surest slot that is not
        there. What was only missed was never claimed."""
        if self.fault is not Fault.SLOTS:
            return self.parse.confidence
        claimed = zip(found_spans(self.parse), self.parse.slots, strict=True)
        return max((slot.confidence for span, slot in claimed if span not in self.gold), default=0.0)


def gold_spans(utterance: Utterance) -> list[Span]:
    words = utterance.words
    return [Span(words[slot.start].start, words[slot.end - 1].end, slot.key) for slot in utterance.slots]


def found_spans(parse: Parse) -> list[Span]:
    return [Span(s.start, s.end, s.label if s.role is None else f"{s.label}:{s.role}") for s in parse.slots]


def worst_first(cases: tuple[Case, ...]) -> tuple[Case, ...]:
    """The wrong ones: wrong intents, then rejected ones, then wrong slots; of each kind the surest first."""
    order = {fault: number for number, fault in enumerate(Fault)}
    wrong = [(case.fault, case) for case in cases]
    ranked = [(order[fault], -case.sureness, number, case) for number, (fault, case) in enumerate(wrong) if fault]
    return tuple(case for *_, case in sorted(ranked, key=lambda row: row[:3]))
