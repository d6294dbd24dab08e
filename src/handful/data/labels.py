"""Names of intents and slots."""

from __future__ import annotations

from dataclasses import replace

from handful.types import Utterance


def with_intent_prefix(utterance: Utterance) -> Utterance:
    """Slots named `intent.slot`, as the paper's protocol has them ("Datasets"); bots never do this."""
    slots = tuple(replace(slot, label=f"{utterance.intent}.{slot.label}") for slot in utterance.slots)
    return replace(utterance, slots=slots)


def first_of_several(intent: str) -> str:
    """ATIS names a few utterances `a#b`: the paper's counts keep `a`."""
    return intent.partition("#")[0]
