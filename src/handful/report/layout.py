"""The examples on a plane: the two directions in which their sentence vectors differ most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handful.parser.parser import Parser
from handful.report.cases import Case
from handful.types import Utterance
from handful.words import split_words

MOST_EXAMPLES = 2000  # on the map; a browser draws these at once
MOST_ERRORS = 300

Vectors = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Spot:
    x: float
    y: float
    text: str
    intent: str
    said: str | None  # of an error: the intent that the parser named
    fault: str | None
    example: bool  # else an utterance that was asked for


@dataclass(frozen=True, slots=True)
class Layout:
    spots: tuple[Spot, ...]
    share: float  # of all variance that the plane shows
    examples: int  # of the bot; more than are shown in a large one


def layout(parser: Parser, errors: Sequence[Case]) -> Layout:
    """The bot's examples and the worst errors. The plane is that of the examples."""
    examples = parser.bot.document.utterances
    # A text in which the parser sees no words is nowhere.
    shown = spread([utterance for utterance in examples if split_words(utterance.text)], MOST_EXAMPLES)
    # Cross-validated, an error is an example, and is drawn once.
    wrong = {case.utterance: case for case in errors}
    own = set(examples)
    strange = [case for case in errors if case.utterance not in own and case.parse.words][:MOST_ERRORS]
    vectors = parser.sentence_vectors([u.text for u in shown] + [case.utterance.text for case in strange])
    places, share = plane(np.asarray(vectors), len(shown))
    spots = [_spot(place, u, wrong.get(u), True) for place, u in zip(places, shown, strict=False)]
    spots += [_spot(place, c.utterance, c, False) for place, c in zip(places[len(shown) :], strange, strict=True)]
    return Layout(tuple(spots), share, len(examples))


def spread(examples: Sequence[Utterance], most: int) -> list[Utterance]:
    """All of them, or `most` at even distances: a file goes intent by intent, so each keeps its share."""
    if len(examples) <= most:
        return list(examples)
    return [examples[number * len(examples) // most] for number in range(most)]


def plane(vectors: Vectors, fitted: int) -> tuple[Vectors, float]:
    """[n,d] -> [n,2] by the principal axes of the first `fitted`, and the share of their variance that these hold."""
    base = vectors[:fitted]
    centre = base.mean(axis=0)
    _, strengths, axes = np.linalg.svd(base - centre, full_matrices=False)
    axes = axes[:2]
    # An axis may point either way; the largest part of it points up, so that a report looks the same every time.
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    axes = axes * np.where(largest < 0, -1.0, 1.0)
    places = np.zeros((len(vectors), 2))
    places[:, : len(axes)] = (vectors - centre) @ axes.T
    total = float((strengths**2).sum())
    return places, float((strengths[:2] ** 2).sum()) / total if total > 0 else 1.0


def _spot(place: Vectors, utterance: Utterance, case: Case | None, example: bool) -> Spot:
    x, y = (round(float(value), 4) for value in place)
    fault = None if case is None else case.fault
    said = None if case is None else case.said
    return Spot(x, y, utterance.text, utterance.intent, said, None if fault is None else str(fault), example)
