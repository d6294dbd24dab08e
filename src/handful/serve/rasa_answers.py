"""What Rasa's paths answer, as OpenAPI tells it: Rasa's own shape, and those of the emulation modes."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from handful.serve.answers import BestIntent, IntentShare, Told


class Entity(Told):
    entity: str
    start: int
    end: int
    value: Any = Field(description="Text; of what a button sent, whatever it was.")
    confidence_entity: float | None = None
    role: str | None = None
    extractor: str | None = None


class RasaParse(Told):
    text: str
    intent: BestIntent
    entities: list[Entity]
    text_tokens: list[list[int]]
    intent_ranking: list[IntentShare]


class WitEntity(Told):
    name: str
    role: str
    value: Any
    body: str
    start: int
    end: int
    confidence: float
    entities: list[Any]


class WitParse(Told):
    text: str
    intents: list[IntentShare]
    entities: dict[str, list[WitEntity]]


class LuisPrediction(Told):
    normalizedQuery: str  # noqa: N815 - LUIS's own names, here and below
    topIntent: str | None  # noqa: N815
    intents: dict[str, dict[str, float]]
    entities: dict[str, Any]


class LuisParse(Told):
    query: str
    prediction: LuisPrediction


class DialogflowResult(Told):
    queryText: str  # noqa: N815
    action: str | None
    parameters: dict[str, list[Any]]
    fulfillmentText: str  # noqa: N815
    fulfillmentMessages: list[Any]  # noqa: N815
    outputContexts: list[Any]  # noqa: N815
    intent: dict[str, str | None]
    intentDetectionConfidence: float  # noqa: N815


class DialogflowParse(Told):
    responseId: str  # noqa: N815
    queryResult: DialogflowResult  # noqa: N815


AnyParse = RasaParse | WitParse | LuisParse | DialogflowParse
