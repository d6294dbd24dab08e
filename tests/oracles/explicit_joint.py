"""The paper's equations, one loop for one sign, in float64. A vector is a list of numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

Vector = Sequence[float]
Matrix = Sequence[Vector]


def dot(a: Vector, b: Vector) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def mean(vectors: Matrix) -> list[float]:
    return [sum(column) / len(vectors) for column in zip(*vectors, strict=True)]


def squared_distance(a: Vector, b: Vector) -> float:
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def lstm(words: Matrix, w_in: Matrix, w_rec: Matrix, b_in: Vector, b_rec: Vector) -> list[list[float]]:
    """Eq. 1, one direction; rows of the weights are the gates i, f, g, o, one after another."""
    size = len(w_rec[0])
    h, c, outputs = [0.0] * size, [0.0] * size, []
    for word in words:
        gates = [dot(w_in[row], word) + b_in[row] + dot(w_rec[row], h) + b_rec[row] for row in range(4 * size)]
        new_h, new_c = [], []
        for unit in range(size):
            i, f = sigmoid(gates[unit]), sigmoid(gates[size + unit])
            g, o = math.tanh(gates[2 * size + unit]), sigmoid(gates[3 * size + unit])
            new_c.append(f * c[unit] + i * g)
            new_h.append(o * math.tanh(new_c[-1]))
        h, c = new_h, new_c
        outputs.append(h)
    return outputs


def attended(word: Vector, labels: Matrix) -> list[float]:
    """Eq. 2-3 for one word: softmax(h Eᵀ) E ‖ h; zeros where there are no labels."""
    if not labels:
        return [0.0] * len(word) + list(word)
    scores = [math.exp(dot(word, label) - max(dot(word, other) for other in labels)) for label in labels]
    shares = [score / sum(scores) for score in scores]
    context = [sum(share * label[k] for share, label in zip(shares, labels, strict=True)) for k in range(len(word))]
    return context + list(word)


def windowed(words: Matrix, position: int, reach: int) -> list[float]:
    """Eq. 5's inner mean at one position, over the words that are there."""
    return mean([words[k] for k in range(position - reach, position + reach + 1) if 0 <= k < len(words)])


def prototype_loss(query: Vector, true_class: object, prototypes: dict[object, list[float]]) -> float:
    """-log of Eq. 6 at the true class."""
    weights = {name: -squared_distance(query, prototype) for name, prototype in prototypes.items()}
    highest = max(weights.values())
    total = sum(math.exp(weight - highest) for weight in weights.values())
    return -(weights[true_class] - highest - math.log(total))


def prototypes(vectors: Matrix, classes: Sequence[object]) -> dict[object, list[float]]:
    """Eq. 4-5's outer mean."""
    return {
        name: mean([vector for vector, other in zip(vectors, classes, strict=True) if other == name])
        for name in dict.fromkeys(classes)
    }


def contrastive_loss(
    query: Matrix,
    query_classes: Sequence[object],
    support: Matrix,
    support_classes: Sequence[object],
    temperature: float,
    cosine: bool,
) -> float:
    """Eq. 9-10; queries whose class the support lacks are left out of sum and count."""

    def alike(a: Vector, b: Vector) -> float:
        lengths = math.sqrt(dot(a, a)) * math.sqrt(dot(b, b)) if cosine else 1.0
        return dot(a, b) / lengths / temperature

    terms = []
    for z, name in zip(query, query_classes, strict=True):
        same = [other for other, its in zip(support, support_classes, strict=True) if its == name]
        if not same:
            continue
        highest = max(alike(z, other) for other in support)
        denominator = sum(math.exp(alike(z, other) - highest) for other in support)
        terms.append(-sum(alike(z, other) - highest - math.log(denominator) for other in same) / len(same))
    return sum(terms) / len(terms) if terms else 0.0


def losses(
    support: Sequence[tuple[Matrix, str, Sequence[str]]],
    query: Sequence[tuple[Matrix, str, Sequence[str]]],
    intent_labels: Matrix,
    slot_labels: Matrix,
    *,
    direction: str,
    reach: int,
    per_token: bool,
    temperature: float,
    cosine: bool,
) -> tuple[float, float, float, float]:
    """The four terms of Eq. 11. An utterance is (H, intent, tags)."""

    def for_intent(words: Matrix) -> list[float]:
        return mean([list(w) if direction == "intent-to-slot" else attended(w, slot_labels) for w in words])

    def for_slots(words: Matrix) -> list[list[float]]:
        seen = [list(w) if direction == "slot-to-intent" else attended(w, intent_labels) for w in words]
        return [windowed(seen, position, reach) for position in range(len(words))]

    p_intent = prototypes([for_intent(words) for words, _, _ in support], [intent for _, intent, _ in support])
    support_vectors = [vector for words, _, _ in support for vector in for_slots(words)]
    support_tags = [tag for _, _, tags in support for tag in tags]
    p_tag = prototypes(support_vectors, support_tags)

    ic = sum(prototype_loss(for_intent(words), intent, p_intent) for words, intent, _ in query) / len(query)
    terms = [
        prototype_loss(vector, tag, p_tag)
        for words, _, tags in query
        for vector, tag in zip(for_slots(words), tags, strict=True)
        if tag in p_tag
    ]
    sf = sum(terms) / (len(terms) if per_token else len(query)) if terms else 0.0

    ic_scl = contrastive_loss(
        [mean(words) for words, _, _ in query],
        [intent for _, intent, _ in query],
        [mean(words) for words, _, _ in support],
        [intent for _, intent, _ in support],
        temperature,
        cosine,
    )
    query_words = [(w, tag) for words, _, tags in query for w, tag in zip(words, tags, strict=True) if tag != "O"]
    support_words = [(w, tag) for words, _, tags in support for w, tag in zip(words, tags, strict=True) if tag != "O"]
    sf_scl = contrastive_loss(
        [w for w, _ in query_words],
        [tag for _, tag in query_words],
        [w for w, _ in support_words],
        [tag for _, tag in support_words],
        temperature,
        cosine,
    )
    return ic, sf, ic_scl, sf_scl


def total(
    terms: Sequence[float], slot_weight: float, intent_contrast_weight: float, slot_contrast_weight: float
) -> float:
    """Eq. 11: L = L_IC + λ L_SF + γ L_IC,scl + δ L_SF,scl."""
    ic, sf, ic_scl, sf_scl = terms
    return ic + slot_weight * sf + intent_contrast_weight * ic_scl + slot_contrast_weight * sf_scl
