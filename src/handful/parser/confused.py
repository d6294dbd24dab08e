"""Intents that the model takes for each other: their examples, each left out and told by the others."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Protocol

from handful.errors import Place
from handful.parser.finding import Finding, lines_of, quoted
from handful.types import Utterance

SHARE = 0.3  # of an intent's examples, and at least
COUNT = 2  # of them: one stray example says nothing of the intent


class Told(Protocol):
    """What was predicted of an example; None: that it is none of the bot's intents."""

    @property
    def intent(self) -> str | None: ...


def confused_intents(
    examples: Sequence[Utterance], predictions: Sequence[Told | None], places: Sequence[Place] = ()
) -> list[Finding]:
    """Pairs of intents of which one is often told as the other. None: an example that was not asked for."""
    sizes = Counter(example.intent for example, told in zip(examples, predictions, strict=True) if told is not None)
    taken: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for index, (example, told) in enumerate(zip(examples, predictions, strict=True)):
        if told is not None and told.intent is not None and told.intent != example.intent:
            taken[example.intent, told.intent].append(index)
    pairs = {
        pair: indices
        for pair, indices in taken.items()
        if len(indices) >= COUNT and len(indices) >= SHARE * sizes[pair[0]]
    }
    found = []
    for (intent, other), indices in pairs.items():
        back = taken.get((other, intent), [])
        if (other, intent) in pairs and (intent, other) > (other, intent):
            continue  # told with the other way round
        place = places[indices[0]] if places else None
        more = lines_of([places[index] for index in indices[1:]], place) if places else ""
        also_back = f", {len(back)} of {sizes[other]} the other way" if back else ""
        message = (
            f"'{intent}' and '{other}' are hard to tell apart: {len(indices)} of {sizes[intent]} examples of "
            f"'{intent}' are taken for '{other}'{also_back}, "
            f"such as {quoted(examples[indices[0]].text)}{f' (and {more})' if more else ''}"
        )
        found.append(Finding(place, message, "join them, or word their examples more differently"))
    return found
