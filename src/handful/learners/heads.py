"""Linear heads over a network's vectors, one for intents and one for tags: what Fine-tune and foMAML fit to a support.

    L = mean over utterances of -log softmax(W_I f(x) + b_I)_y + λ · mean over words of -log softmax(W_S f(x)_i + b_S)_t

A support's heads begin at nought. So the order of its labels changes nothing, no draw of weights does, and the first
step points each class at the mean of its own examples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from handful.errors import TrainingError
from handful.learners.support import SupportLabels
from handful.model.losses import ABSENT
from handful.settings import Settings
from handful.types import Prediction, Words

HEADS = ("intents.weight", "intents.bias", "tags.weight", "tags.bias")
Vectors = Callable[[Sequence[Words]], tuple[Tensor, Tensor]]


class FittingConfig(Settings):
    """The steps on each support set. They are few on purpose: every test episode pays for them."""

    steps: int = Field(default=10, ge=0)
    batch: int = Field(default=16, ge=2)  # utterances a step, so that a large support costs what a small one does
    rate: float = Field(default=1e-4, gt=0)  # of the encoder's top layers
    heads_rate: float = Field(default=1e-2, gt=0)
    seed: int = Field(default=0, ge=0)


def new_heads(width: int, labels: SupportLabels) -> dict[str, Tensor]:
    shapes = ((len(labels.intents), width), (len(labels.intents),), (len(labels.tags), width), (len(labels.tags),))
    return {name: torch.zeros(*shape) for name, shape in zip(HEADS, shapes, strict=True)}


def scores(words: Tensor, sentences: Tensor, heads: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Of the intents, [B, N], and of the words' tags, [W, K]."""
    of_intents = functional.linear(sentences, heads["intents.weight"], heads["intents.bias"])
    return of_intents, functional.linear(words, heads["tags.weight"], heads["tags.bias"])


def joint_loss(of_intents: Tensor, of_tags: Tensor, intents: Tensor, tags: Tensor, slot_weight: float) -> Tensor:
    """[B, N], [W, K] and class numbers -> scalar. Words whose tag is ABSENT are left out of sum and count."""
    total = functional.cross_entropy(of_intents, intents)
    known = tags != ABSENT
    if bool(known.any()):
        total = total + slot_weight * functional.cross_entropy(of_tags[known], tags[known])
    return total


class AdaptedHeads:
    """Heads and the vectors that they were fitted on."""

    def __init__(self, labels: SupportLabels, heads: Mapping[str, Tensor], vectors: Vectors, *, jointly: bool) -> None:
        self._labels, self._vectors, self._jointly = labels, vectors, jointly
        self._heads = {name: head.detach() for name, head in heads.items()}
        self._last: tuple[tuple[Words, ...], Tensor, Tensor] | None = None  # two scorers ask for the same sentences

    def predict(self, sentences: Sequence[Words], *, tag_candidates: Set[str] | None = None) -> list[Prediction]:
        if not sentences:
            return []
        last = self._last
        if last is None or last[0] != tuple(sentences):
            found = scores(*self._vectors(sentences), self._heads)
            if not all(bool(part.isfinite().all()) for part in found):
                raise TrainingError("the fitted heads' scores are not finite: a smaller fitting rate may help")
            self._last = last = (tuple(sentences), *found)
        _, of_intents, of_tags = last
        return self._labels.predict(
            of_intents.double().softmax(-1).numpy(),
            -of_tags.numpy(),
            [len(own) for own in sentences],
            temperature=1.0,
            allowed=None if tag_candidates is None else frozenset(tag_candidates),
            jointly=self._jointly,
        )
