"""The two verbs that every learner offers, and what those add that are trained over episodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from handful.types import Episode, Prediction, Utterance, Words

if TYPE_CHECKING:
    from pydantic import BaseModel
    from torch import Tensor, nn


class Adapted(Protocol):
    def predict(self, sentences: Sequence[Words], *, tag_candidates: Set[str] | None = None) -> list[Prediction]:
        """A prediction never sees a query's labels; `tag_candidates` is passed by the released scorer alone."""
        ...


class Learner(Protocol):
    @property
    def config(self) -> BaseModel:
        """The settings, to stand beside every figure that is measured with them."""
        ...

    def adapt(self, support: Sequence[Utterance]) -> Adapted:
        """Whatever can predict the intents and slots of the support."""
        ...


@dataclass(frozen=True, slots=True)
class EpisodeLoss:
    total: Tensor  # a scalar, to be differentiated
    parts: Mapping[str, float]  # for the log


class TrainedLearner(Learner, Protocol):
    """The training loop knows of a learner's parameters and of its loss, and of nothing else."""

    @property
    def network(self) -> nn.Module:
        """Whatever is trained: its parameters are the checkpoint."""
        ...

    @property
    def encoder_name(self) -> str:
        """What the checkpoint stands on and does not hold: the frozen weights, by their sums."""
        ...

    def prepare(self, utterances: Sequence[Utterance]) -> Iterator[int]:
        """Computes beforehand what never changes; yields how many sentences are done."""
        ...

    def loss(self, episode: Episode) -> EpisodeLoss: ...
