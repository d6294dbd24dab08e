"""What Rasa's paths answer, as OpenAPI tells it: Rasa's own shape, and those of the emulation modes."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

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


class _Camel(Told):
    """With names as the others write them: topIntent."""

    model_config = ConfigDict(alias_generator=to_camel)


class LuisPrediction(_Camel):
    normalized_query: str
    top_intent: str | None
    intents: dict[str, dict[str, float]]
    entities: dict[str, Any]


class LuisParse(Told):
    query: str
    prediction: LuisPrediction


class DialogflowResult(_Camel):
    query_text: str
    action: str | None
    parameters: dict[str, list[Any]]
    fulfillment_text: str
    fulfillment_messages: list[Any]
    output_contexts: list[Any]
    intent: dict[str, str | None]
    intent_detection_confidence: float


class DialogflowParse(_Camel):
    response_id: str
    query_result: DialogflowResult


AnyParse = RasaParse | WitParse | LuisParse | DialogflowParse
