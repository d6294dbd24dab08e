"""The two verbs that every learner offers."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Protocol

from pydantic import BaseModel

from handful.types import Prediction, Utterance, Words


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
