"""What goes out, as OpenAPI tells it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel


class Told(BaseModel):
    """Of answers."""


class Failure(Told):
    """Every error, in Rasa's shape."""

    version: str
    status: Literal["failure"]
    message: str
    reason: str
    details: dict[str, Any]
    help: None
    code: int


class BotLine(Told):
    name: str
    version: int
    intents: int
    examples: int
    changed: str


class Bots(Told):
    bots: list[BotLine]
    default: str | None
    read_only: bool
    scope: Literal["read", "write", "admin"]


class IntentLine(Told):
    name: str
    examples: int
    description: str | None


class SlotLine(Told):
    label: str
    role: str | None
    examples: int
    description: str | None


class BotView(Told):
    name: str
    version: int
    threshold: float | Literal["auto", "off"]
    intents: list[IntentLine]
    slots: list[SlotLine]
    examples: int


class SlotView(Told):
    slot: str
    start: int
    end: int
    value: str | None
    role: str | None
    group: str | None


class ExampleView(Told):
    id: int
    intent: str
    text: str
    slots: list[SlotView]
    marked: str


class Examples(Told):
    version: int
    total: int
    examples: list[ExampleView]


class Changed(Told):
    version: int
    examples: list[ExampleView]


class Imported(Changed):
    warnings: list[str]


class IntentShare(Told):
    name: str
    confidence: float


class BestIntent(Told):
    name: str | None
    confidence: float


class FilledSlot(Told):
    label: str
    role: str | None = None
    value: str
    start: int
    end: int
    confidence: float


class ParseView(Told):
    text: str
    intent: BestIntent
    rejected: bool
    in_scope: float
    slots: list[FilledSlot]
    intent_ranking: list[IntentShare]


class VersionedParse(ParseView):
    version: int


class Parses(Told):
    version: int
    parses: list[ParseView]


class NearExample(Told):
    text: str
    intent: str
    similarity: float


class NearSpan(Told):
    text: str
    words: str
    slot: str
    similarity: float


class SlotWhy(Told):
    label: str
    value: str
    nearest: list[NearSpan]


class WordShare(Told):
    word: str
    weight: float


class RunnerUp(Told):
    name: str
    nearest: list[NearExample]
    log_odds: float | None
    words: list[WordShare]


class Why(Told):
    version: int
    parse: ParseView
    nearest: list[NearExample]
    slots: list[SlotWhy]
    runner_up: RunnerUp | None


class SuggestionView(Told):
    text: str
    doubt: float
    intent: str
    slots: list[SlotView]
    marked: str


class SuggestionsView(Told):
    version: int
    suggestions: list[SuggestionView]
    asked: int
    known: int
    repeated: int
    wordless: int


class FindingView(Told):
    message: str
    hint: str
    example: int | None


class Confused(Told):
    intent: str
    other: str
    count: int
    of: int


class Health(Told):
    version: int
    asked: int
    right: int
    findings: list[FindingView]
    confused: list[Confused]


class VersionLine(Told):
    version: int
    made: str
    by: str | None
    what: str


class Versions(Told):
    version: int
    versions: list[VersionLine]


class Comparison(Told):
    older: int
    newer: int
    added: list[ExampleView]
    removed: list[ExampleView]
    added_intents: list[str]
    removed_intents: list[str]
    changed: list[str]


class FormatView(Told):
    name: str
    looks: str
    writes: bool


class Formats(Told):
    formats: list[FormatView]
