"""A model that has adapted to a bot's examples, and what its confidences mean for that bot.

It never changes: a bot that gains an example gets another, and whoever is parsing meanwhile goes on with the old one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from handful.learners.bot_heads import BotHeads
from handful.learners.held_out import HeldOut, held_out
from handful.learners.span_decoding import AdaptedSpans
from handful.learners.span_model import Encodings, SpanModel
from handful.model.prototypes import Floats
from handful.parser.calibration import Calibration, fit_calibration
from handful.parser.rejection import Rejection, fit_rejection
from handful.types import Prediction, Slot, Utterance, Words

if TYPE_CHECKING:
    from handful.learners.learner import Learner


ENOUGH_EXAMPLES = 1500  # to set confidences by: a bot of ten thousand that gains one must not wait for all of them


@dataclass(frozen=True, slots=True)
class Confidence:
    """Set by leave-one-out over the bot's own examples."""

    calibration: Calibration
    rejection: Rejection


class Understanding:
    def __init__(
        self,
        learner: Learner | SpanModel,
        utterances: Sequence[Utterance],
        descriptions: Mapping[str, str],
        encodings: Encodings | None = None,
        confidence: Confidence | None = None,
        heads: BotHeads | None = None,
        start: BotHeads | None = None,
    ) -> None:
        """`confidence` and `heads`, where they are known from before; `start` are the heads before an edit."""
        self.learner, self.utterances = learner, tuple(utterances)
        self.encodings = encodings or Encodings()
        if isinstance(learner, SpanModel):
            self._adapted = self._spans = AdaptedSpans(
                learner, utterances, encodings=self.encodings, descriptions=descriptions, heads=heads, start=start
            )
        else:
            self._adapted, self._spans = learner.adapt(utterances), None
        if confidence is not None:
            self.confidence = confidence

    def predict(self, sentences: Sequence[Words], hints: Sequence[Sequence[Slot]] | None) -> list[Prediction]:
        """`hints` are for models of spans; others have no use for them."""
        if self._spans is not None:
            return self._spans.predict(sentences, hints=hints)
        return self._adapted.predict(sentences)

    @property
    def heads(self) -> BotHeads | None:
        """What was fitted to the examples, where the learner fits anything."""
        return None if self._spans is None else self._spans.heads

    def held_out(self, most: int | None = None) -> HeldOut | None:
        """The examples, each predicted by the others; None where the learner cannot do that."""
        if self._spans is None or not isinstance(self.learner, SpanModel):
            return None
        return held_out(self.learner, self._spans, most)

    def forget_labels(self) -> None:
        """What was encoded of labels that the bot has no more."""
        if self._spans is not None:
            self.encodings.forget_labels(*self._spans.label_texts)

    @cached_property
    def confidence(self) -> Confidence | None:
        """None: the learner's own confidences are all there is, and nothing is rejected."""
        held = self.held_out(ENOUGH_EXAMPLES)
        if held is None:
            return None
        intents = sorted({utterance.intent for utterance in self.utterances})
        return Confidence(
            fit_calibration(self.utterances, held, intents), fit_rejection(self.utterances, held, intents)
        )

    @cached_property
    def example_vectors(self) -> Floats:
        return self.sentence_vectors([utterance.sentence for utterance in self.utterances])

    def sentence_vectors(self, sentences: Sequence[Words]) -> Floats:
        """Of length one. [n, d]."""
        if not isinstance(self.learner, SpanModel):
            return self.learner.sentence_vectors(sentences)  # pyright: ignore[reportAttributeAccessIssue]
        # A copy: another thread may be adding examples meanwhile.
        means = {words: self.encodings.sentences.get(words) for words in sentences}
        new = [words for words, seen in means.items() if seen is None]
        means |= zip(new, self.learner.see(new), strict=True)
        vectors = np.stack([seen[1] for words in sentences if (seen := means[words])]).astype(np.float64)
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)

    def nearest_spans(self, words: Words, spans: Sequence[Slot], count: int) -> list[list[tuple[int, Slot, float]]]:
        """Of each span the slots of examples that are likest: the example's number, its slot, and the cosine."""
        return [[] for _ in spans] if self._spans is None else self._spans.nearest_spans(words, spans, count)
