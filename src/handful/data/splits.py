"""The paper's split of each corpus: by intent, so that test intents are never seen in training (its Table 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from handful.errors import ConfigError, listed
from handful.types import Utterance

SPLITS = ("train", "dev", "test")

PAPER_SPLITS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "snips": {
        "train": ("BookRestaurant", "SearchScreeningEvent", "RateBook", "AddToPlaylist"),
        "dev": (),
        "test": ("PlayMusic", "GetWeather", "SearchCreativeWork"),
    },
    "atis": {
        "train": ("flight", "flight_no", "meal", "restriction", "day_name"),
        "dev": ("airfare", "aircraft", "quantity", "city", "ground_fare", "cheapest"),
        "test": (
            "ground_service",
            "airline",
            "abbreviation",
            "flight_time",
            "airport",
            "capacity",
            "distance",
        ),
    },
    "top": {
        "train": (
            "GET_EVENT",
            "GET_INFO_TRAFFIC",
            "UNSUPPORTED",
            "GET_ESTIMATED_DEPARTURE",
            "UNINTELLIGIBLE",
            "GET_EVENT_ATTENDEE_AMOUNT",
            "GET_EVENT_ORGANIZER",
        ),
        "dev": (
            "GET_ESTIMATED_DURATION",
            "GET_DISTANCE",
            "GET_LOCATION",
            "GET_INFO_ROUTE",
            "GET_EVENT_ATTENDEE",
        ),
        "test": (
            "UNSUPPORTED_NAVIGATION",
            "GET_DIRECTIONS",
            "GET_ESTIMATED_ARRIVAL",
            "UNSUPPORTED_EVENT",
            "GET_INFO_ROAD_CONDITION",
            "UPDATE_DIRECTIONS",
        ),
    },
}


def split_by_intent(
    utterances: Sequence[Utterance], intents_of_split: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[Utterance, ...]]:
    """Each utterance in the split of its intent; an intent without a split, or without utterances, is an error."""
    split_of = {intent: split for split, intents in intents_of_split.items() for intent in intents}
    parts: dict[str, list[Utterance]] = {split: [] for split in intents_of_split}
    unknown = {utterance.intent for utterance in utterances} - set(split_of)
    missing = set(split_of) - {utterance.intent for utterance in utterances}
    if unknown:
        raise ConfigError(f"intents that no split names: {listed(sorted(unknown))}")
    if missing:
        raise ConfigError(f"the files hold no utterance of {listed(sorted(missing))}")
    for utterance in utterances:
        parts[split_of[utterance.intent]].append(utterance)
    return {split: tuple(part) for split, part in parts.items() if part}
