"""A parse as other services would tell it: Wit, LUIS v3, Dialogflow. For clients that were written for those."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from handful.serve.refusals import Refusal

MODES = ("WIT", "LUIS", "DIALOGFLOW")


def refuse_unknown(mode: str | None) -> None:
    if mode is not None and mode.upper() not in MODES:
        raise Refusal(
            400,
            "BadRequest",
            f"found the emulation_mode {mode[:40]!r}, expected one of {', '.join(MODES)}",
            details={"parameter": "emulation_mode", "in": "query"},
        )


def emulated(answer: Mapping[str, Any], mode: str | None) -> Mapping[str, Any]:
    """From Rasa's answer to that of `mode`; None: as it is."""
    match (mode or "").upper():
        case "WIT":
            return _wit(answer)
        case "LUIS":
            return _luis(answer)
        case "DIALOGFLOW":
            return _dialogflow(answer)
        case _:
            return answer


def _wit(answer: Mapping[str, Any]) -> dict[str, Any]:
    entities: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for entity in answer["entities"]:
        role = entity.get("role", entity["entity"])
        entities[f"{entity['entity']}:{role}"].append(
            {
                "name": entity["entity"],
                "role": role,
                "value": entity["value"],
                "body": answer["text"][entity["start"] : entity["end"]],
                "start": entity["start"],
                "end": entity["end"],
                "confidence": entity.get("confidence_entity", 1.0),
                "entities": [],
            }
        )
    intents = [answer["intent"]] if answer["intent"]["name"] is not None else []
    return {"text": answer["text"], "intents": intents, "entities": dict(entities)}


def _luis(answer: Mapping[str, Any]) -> dict[str, Any]:
    """An entity goes by its role, where it has one, as in version 3."""
    found: defaultdict[str, list[Any]] = defaultdict(list)
    instances: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for entity in answer["entities"]:
        key = entity.get("role", entity["entity"])
        found[key].append(entity["value"])
        instances[key].append(
            {
                "type": entity["entity"],
                "role": entity.get("role"),
                "text": answer["text"][entity["start"] : entity["end"]],
                "startIndex": entity["start"],
                "length": entity["end"] - entity["start"],
                "score": entity.get("confidence_entity", 1.0),
                "modelType": entity.get("extractor"),
            }
        )
    return {
        "query": answer["text"],
        "prediction": {
            "normalizedQuery": answer["text"],
            "topIntent": answer["intent"]["name"],
            "intents": {ranked["name"]: {"score": ranked["confidence"]} for ranked in answer["intent_ranking"]},
            "entities": {**found, "$instance": dict(instances)},
        },
    }


def _dialogflow(answer: Mapping[str, Any]) -> dict[str, Any]:
    parameters: defaultdict[str, list[Any]] = defaultdict(list)
    for entity in answer["entities"]:
        parameters[entity["entity"]].append(entity["value"])
    intent = answer["intent"]
    return {
        "responseId": str(uuid.uuid4()),
        "queryResult": {
            "queryText": answer["text"],
            "action": intent["name"],
            "parameters": dict(parameters),
            "fulfillmentText": "",
            "fulfillmentMessages": [],
            "outputContexts": [],
            "intent": {"name": intent["name"], "displayName": intent["name"]},
            "intentDetectionConfidence": intent["confidence"],
        },
    }
