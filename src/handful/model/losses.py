"""What training minimises (Eq. 6-11). Each loss is a function of tensors; classes are numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

Similarity = Literal["cosine", "inner"]
SlotMean = Literal["token", "utterance"]

ABSENT = -1  # the class of a query word whose tag the support does not have


def intent_loss(distances: Tensor, intents: Tensor) -> Tensor:
    """Eq. 6-7: the mean of -log softmax(-||c* - p_c||²) at the true intent. [Q, N], [Q] -> scalar."""
    return functional.cross_entropy(-distances, intents)


def slot_loss(distances: Tensor, tags: Tensor, queries: int, mean: SlotMean) -> Tensor:
    """Eq. 6 and 8 over the words of all queries. [W, K], [W] -> scalar.

    The paper divides the sum over words by |Q| ("utterance"); the authors' code, by the words ("token"). Words whose
    tag is ABSENT have no prototype: they are left out of the sum and of the count.
    """
    known = tags != ABSENT
    if not bool(known.any()):
        return distances.sum() * 0.0
    total = functional.cross_entropy(-distances[known], tags[known], reduction="sum")
    return total / (queries if mean == "utterance" else int(known.sum()))


def contrastive_loss(
    query: Tensor,
    query_classes: Tensor,
    support: Tensor,
    support_classes: Tensor,
    *,
    temperature: float,
    similarity: Similarity,
) -> Tensor:
    """Eq. 9 (sentences) and Eq. 10 (words): pull a query to the support of its own class. [n, d], [m, d] -> scalar.

    A query whose class the support lacks has no positives (N = 0): it is left out of the sum and of the count.
    """
    positive = (query_classes[:, None] == support_classes[None, :]).to(query.dtype)
    positives = positive.sum(1)
    has_any = positives > 0
    if not bool(has_any.any()):
        return query.sum() * 0.0
    if similarity == "cosine":
        query, support = functional.normalize(query, dim=-1), functional.normalize(support, dim=-1)
    log_shares = (query @ support.T / temperature).log_softmax(-1)
    of_query = -(log_shares * positive).sum(1)[has_any] / positives[has_any]
    return of_query.mean()


@dataclass(frozen=True, slots=True)
class Losses:
    """The four terms of Eq. 11, before they are weighed."""

    intent: Tensor
    slot: Tensor
    intent_contrast: Tensor
    slot_contrast: Tensor

    def total(self, slot_weight: float, intent_contrast_weight: float, slot_contrast_weight: float) -> Tensor:
        """Eq. 11: L = L_IC + λ L_SF + γ L_IC,scl + δ L_SF,scl."""
        return (
            self.intent
            + slot_weight * self.slot
            + intent_contrast_weight * self.intent_contrast
            + slot_contrast_weight * self.slot_contrast
        )

    def numbers(self) -> dict[str, float]:
        names = ("intent", "slot", "intent_contrast", "slot_contrast")
        values = torch.stack([getattr(self, name).detach() for name in names]).tolist()
        return dict(zip(names, values, strict=True))
