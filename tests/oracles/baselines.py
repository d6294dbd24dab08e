"""The equations of the baselines, slowly. Gradients are derived by hand: there is no autograd here.

A class that the support lacks is -1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oracles.prototypes import Vector, mean, probabilities

ABSENT = -1
Floats = NDArray[np.float64]
Weights = dict[str, Floats]


# -- proto -------------------------------------------------------------------------------------------------------------


class Seen(NamedTuple):
    """An utterance as a network sees it, with its labels."""

    words: Sequence[Vector]
    sentence: Vector
    intent: str
    tags: Sequence[str]


def means_of_classes(vectors: Sequence[Vector], classes: Sequence[str]) -> dict[str, list[float]]:
    return {
        name: mean([vector for vector, own in zip(vectors, classes, strict=True) if own == name])
        for name in sorted(set(classes))
    }


def shares_of_classes(query: Vector, prototypes: Mapping[str, Vector], temperature: float) -> dict[str, float]:
    """softmax_c(-||q - p_c||² / τ)."""
    return dict(zip(prototypes, probabilities(query, list(prototypes.values()), temperature), strict=True))


def proto_intents(support: Sequence[Seen], sentence: Vector, temperature: float) -> dict[str, float]:
    prototypes = means_of_classes([u.sentence for u in support], [u.intent for u in support])
    return shares_of_classes(sentence, prototypes, temperature)


def proto_tags(support: Sequence[Seen], word: Vector, temperature: float) -> dict[str, float]:
    prototypes = means_of_classes([w for u in support for w in u.words], [tag for u in support for tag in u.tags])
    return shares_of_classes(word, prototypes, temperature)


def proto_losses(support: Sequence[Seen], query: Sequence[Seen], temperature: float) -> tuple[float, float]:
    """Of intents and of tags. Words whose tag the support lacks are in neither sum nor count."""
    intents = [-math.log(proto_intents(support, u.sentence, temperature)[u.intent]) for u in query]
    tags = []
    for u in query:
        for word, tag in zip(u.words, u.tags, strict=True):
            shares = proto_tags(support, word, temperature)
            if tag in shares:
                tags.append(-math.log(shares[tag]))
    return sum(intents) / len(intents), sum(tags) / len(tags) if tags else 0.0


# -- joint heads over a linear body ------------------------------------------------------------------------------------


class Told(NamedTuple):
    """What a linear body reads of an utterance, and its classes by number."""

    words: Floats  # [T, n]
    sentence: Floats  # [n]
    intent: int
    tags: Sequence[int]


def cross_entropy(scores: Floats, right: int) -> tuple[float, Floats]:
    """-log softmax(scores)[right], and its gradient in the scores: softmax - onehot."""
    shares = np.exp(scores - scores.max())
    shares = shares / shares.sum()
    gradient = shares.copy()
    gradient[right] -= 1.0
    return -math.log(shares[right]), gradient


def joint_loss(weights: Weights, told: Sequence[Told], slot_weight: float) -> tuple[float, Weights]:
    """L of the joint heads on f(x) = A x + c, and its gradient in every weight.

    `weights`: A and c of the body; "intents" and "tags", each a matrix with a bias "intents b" and "tags b".
    """
    loss, gradients = 0.0, {name: np.zeros_like(weight) for name, weight in weights.items()}

    def add(head: str, seen: Floats, right: int, share: float) -> None:
        nonlocal loss
        hidden = weights["A"] @ seen + weights["c"]
        own, of_scores = cross_entropy(weights[head] @ hidden + weights[f"{head} b"], right)
        loss += share * own
        gradients[head] += share * np.outer(of_scores, hidden)
        gradients[f"{head} b"] += share * of_scores
        of_hidden = weights[head].T @ of_scores
        gradients["A"] += share * np.outer(of_hidden, seen)
        gradients["c"] += share * of_hidden

    for u in told:
        add("intents", u.sentence, u.intent, 1 / len(told))
    known = [(word, tag) for u in told for word, tag in zip(u.words, u.tags, strict=True) if tag != ABSENT]
    for word, tag in known:
        add("tags", word, tag, slot_weight / len(known))
    return loss, gradients


def empty_heads(width: int, intents: int, tags: int) -> Weights:
    return {
        "intents": np.zeros((intents, width)),
        "intents b": np.zeros(intents),
        "tags": np.zeros((tags, width)),
        "tags b": np.zeros(tags),
    }


# -- foMAML ------------------------------------------------------------------------------------------------------------


def inner_steps(
    weights: Weights, support: Sequence[Told], steps: int, rate: float, heads_rate: float, slot_weight: float
) -> Weights:
    """φ_K and w_K, by plain gradient descent."""
    for _ in range(steps):
        _, gradients = joint_loss(weights, support, slot_weight)
        rates = {name: rate if name in {"A", "c"} else heads_rate for name in weights}
        weights = {name: weight - rates[name] * gradients[name] for name, weight in weights.items()}
    return weights


def fomaml(
    weights: Weights,
    support: Sequence[Told],
    query: Sequence[Told],
    *,
    steps: int,
    rate: float,
    heads_rate: float,
    slot_weight: float,
) -> tuple[float, Weights]:
    """L_query(φ_K, w_K), and its gradient at φ_K, which first-order MAML takes for that in θ."""
    fitted = inner_steps(weights, support, steps, rate, heads_rate, slot_weight)
    loss, gradients = joint_loss(fitted, query, slot_weight)
    return loss, {name: gradients[name] for name in ("A", "c")}


# -- retriever ---------------------------------------------------------------------------------------------------------


def batch_softmax(
    scores: Sequence[Sequence[float]], asked: Sequence[str], shown: Sequence[str], nothing: float | None
) -> float:
    """Asked items with a label and those without ("") are averaged apart; the mean of both where there are both."""
    with_label, without = [], []
    for row, label in zip(scores, asked, strict=True):
        all_weights = [math.exp(score) for score in row]
        right = [weight for weight, other in zip(all_weights, shown, strict=True) if other == label]
        if nothing is not None:
            all_weights.append(math.exp(nothing))
            if label == "":
                right = [math.exp(nothing)]
        if right:
            (without if label == "" else with_label).append(-math.log(sum(right) / sum(all_weights)))
    means = [sum(part) / len(part) for part in (with_label, without) if part]
    return sum(means) / len(means) if means else 0.0


def cosine(a: Vector, b: Vector) -> float:
    lengths = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(y * y for y in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / lengths


def times(matrix: Sequence[Vector], vector: Vector) -> list[float]:
    return [sum(x * y for x, y in zip(row, vector, strict=True)) for row in matrix]


def spans_apart(spans: Sequence[tuple[int, int]], taken: frozenset[int] = frozenset()) -> Iterator[frozenset[int]]:
    """Every set of spans (first and last word) of which no two share a word, by their numbers."""
    yield taken
    for number in range(max(taken, default=-1) + 1, len(spans)):
        first, last = spans[number]
        if all(last < spans[other][0] or spans[other][1] < first for other in taken):
            yield from spans_apart(spans, taken | {number})


def best_sum(spans: Sequence[tuple[int, int]], scores: Sequence[float]) -> float:
    return max(sum(scores[number] for number in chosen) for chosen in spans_apart(spans))
