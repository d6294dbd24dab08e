"""Names of intents and slots."""

from __future__ import annotations

import re
from dataclasses import replace

from handful.types import Utterance


def with_intent_prefix(utterance: Utterance) -> Utterance:
    """Slots named `intent.slot`, as the paper's protocol has them ("Datasets"); bots never do this."""
    slots = tuple(replace(slot, label=f"{utterance.intent}.{slot.label}") for slot in utterance.slots)
    return replace(utterance, slots=slots)


_QUALIFIER = " › "


def qualified(domain: str, intent: str) -> str:
    """An intent's name among those of many domains; its text is that of the bare intent."""
    return f"{domain}{_QUALIFIER}{intent}"


def unqualified(intent: str) -> str:
    return intent.rpartition(_QUALIFIER)[2]


def first_of_several(intent: str) -> str:
    """ATIS names a few utterances `a#b`: the paper's counts keep `a`."""
    return intent.partition("#")[0]


# Words that ATIS writes together; everything else is split where a reader would split it.
_SPELT_OUT = {"fromloc": "from location", "toloc": "to location", "stoploc": "stop location"}


def humanised(label: str) -> str:
    """A label's name as words: 'fromloc.city_name' is "from location city name", 'timeRange' is "time range"."""
    parts = re.split(r"[^\w]+|_+", _camel_split(label))
    words = [_SPELT_OUT.get(part.lower(), part.lower()) for part in parts if part]
    return " ".join(words) or label


def _camel_split(name: str) -> str:
    """A space before a capital after a small letter or digit, and before the last of a run: 'HTMLPage' is HTML Page."""
    found = []
    for before, letter, after in zip(" " + name, name, name[1:] + " ", strict=False):
        starts = before.islower() or before.isdigit() or (before.isupper() and after.islower())
        found.append(f" {letter}" if letter.isupper() and starts else letter)
    return "".join(found)
