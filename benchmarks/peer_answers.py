"""What a peer of benchmarks/peers.py must do: adapt to a bot, answer texts, and say what memory it took."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from handful.types import Utterance

Span = tuple[str, int, int]  # a slot's label and the characters that it covers


@dataclass(frozen=True, slots=True)
class TextAnswers:
    """What a system says of texts; one that knows of intents alone, or of slots alone, leaves the other out."""

    intents: Sequence[str] | None
    spans: Sequence[frozenset[Span]] | None


@dataclass(frozen=True, slots=True)
class Adapted:
    """A system that knows a bot: it answers many texts at once, or one by one against the clock."""

    answers: Callable[[Sequence[str]], TextAnswers]
    seconds_one_by_one: Callable[[Sequence[str]], list[float]]


class PeerSystem(Protocol):
    def adapt(self, support: Sequence[Utterance]) -> Adapted: ...

    def peak_megabytes(self) -> float: ...


def clocked(answers: Callable[[Sequence[str]], TextAnswers]) -> Adapted:
    def seconds_one_by_one(texts: Sequence[str]) -> list[float]:
        found = []
        for text in texts:
            started = time.perf_counter()
            answers([text])
            found.append(time.perf_counter() - started)
        return found

    return Adapted(answers, seconds_one_by_one)


def own_peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # Linux counts in kilobytes
