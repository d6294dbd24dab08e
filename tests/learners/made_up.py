"""A learner of joint_spans whose network is made up, in float64, and what it sees as the oracle reads it.

The encoder is left out: a sentence's views are drawn by chance, by its words alone, so that every part of the scores
has something to say and equations can be checked to the last digits.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import product
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from handful.learners.joint_spans import JointSpansConfig, JointSpansLearner
from handful.learners.span_support import SpanSupport
from handful.model.span_network import SpanNetwork
from handful.model.spans import Measure, unit_rows
from handful.model.views import Measures, Names
from handful.types import Prediction, Slot, Utterance, Words
from oracles import joint_spans as oracle

# Intents, types, spans: scale, temperature, and what a name weighs.
MEASURES = ((6.0, 1.1, 0.4), (2.0, 0.9, 1.3), (3.0, 1.2, 0.7))


class MadeUpNetwork(nn.Module):
    def __init__(self, seed: int, width: int = 3, measures: Sequence[Sequence[float]] = MEASURES) -> None:
        super().__init__()
        self.width, self._seed = width, seed
        self.views = nn.Linear(1, 6 * width + 4)
        self.scales = nn.Parameter(torch.tensor(measures, dtype=torch.float64))

    def forward(self, sentences: Sequence[Words]) -> tuple[Tensor, Tensor]:
        rows = [self._drawn(words, len(words), 6 * self.width + 4) for words in sentences]
        return torch.cat(rows), torch.cat([self._drawn(("sentence", *words), 1, self.width) for words in sentences])

    def names(self, intents: Sequence[Words], slots: Sequence[Words]) -> Names:
        def drawn(kind: str, texts: Sequence[Words]) -> Tensor:
            rows = [self._drawn((kind, *text), 1, self.width) for text in texts]
            return unit_rows(torch.cat([torch.zeros(0, self.width, dtype=torch.float64), *rows]))

        return Names(drawn("intent", intents), drawn("type", [*slots, ("no slot",)]), drawn("span", slots))

    def measures(self) -> Measures:
        return Measures(*(Measure(*row) for row in self.scales))

    def _drawn(self, words: Words, count: int, width: int) -> Tensor:
        seed = [self._seed, zlib.crc32("\0".join(words).encode())]
        return torch.as_tensor(np.random.default_rng(seed).normal(size=(count, width)))


def made_up(seed: int = 0, *, measures: Sequence[Sequence[float]] = MEASURES, **settings: Any) -> JointSpansLearner:
    network = cast(SpanNetwork, MadeUpNetwork(seed, measures=measures))
    return JointSpansLearner(network, JointSpansConfig(**settings))


def utterance(text: str, intent: str, *slots: Slot) -> Utterance:
    return Utterance.from_words(text.split(), intent, slots)


SUPPORT = (
    utterance("fly to boston", "Fly", Slot("city", 2, 3)),
    utterance("fly to rome now", "Fly", Slot("city", 2, 3), Slot("time", 3, 4)),
    utterance("boston rome !", "ask", Slot("pair", 0, 2)),
    utterance("to rome", "ask", Slot("city", 1, 2)),
    utterance("a b now", "other"),
)
WORDS = ("fly", "to", "boston", "rome", "now", "a", "b", "!")
# Eight of each length from one word to four.
SENTENCES = [words for size in range(1, 5) for words in list(product(WORDS, repeat=size))[:: 8 ** (size - 1)]]


class Case:
    """A support set and a learner's view of it, for the oracle."""

    def __init__(self, learner: JointSpansLearner, support: Sequence[Utterance]) -> None:
        self._learner = learner
        self.support = [self.told(u) for u in support]
        shown = SpanSupport(support, learner.config.descriptions)
        self.longest = int(shown.longest)
        with torch.no_grad():
            names, measures = learner.network.names(shown.intent_texts, shown.slot_texts), learner.network.measures()
        types, slots = names.types.tolist(), shown.labels.slots
        self.names = oracle.Names(
            dict(zip(shown.labels.intents, names.intents.tolist(), strict=True)),
            dict(zip(slots, types[:-1], strict=True)),
            dict(zip(slots, names.spans.tolist(), strict=True)),
            types[-1],
        )
        self.measures = oracle.Measures(
            *(
                oracle.Measure(part.scale.item(), part.temperature.item(), part.name_weight.item())
                for part in (measures.intents, measures.types, measures.spans)
            )
        )

    def told(self, u: Utterance) -> oracle.Told:
        ((words, sentence),) = self._learner.see([u.sentence])
        slots = [(slot.start, slot.end, slot.key) for slot in u.slots]
        return oracle.Told(words.astype(float).tolist(), sentence.astype(float).tolist(), u.intent, slots)

    def loss(self, query: Sequence[Utterance], support_weight: float) -> dict[str, float]:
        asked = [self.told(u) for u in query]
        intent, slots = oracle.episode_loss(
            self.support, asked, self.names, self.measures, support_weight, self.longest
        )
        return {"intent": intent, "slots": slots}

    def decide(self, words: Words, evidence: float, *, once: bool = True) -> oracle.Decision:
        told = self.told(utterance(" ".join(words), "unknown"))
        return oracle.decide(told, self.support, self.names, self.measures, evidence, self.longest, once)


def spans_of(segments: Sequence[oracle.Segment]) -> list[oracle.Segment]:
    """Those that have a label."""
    return [segment for segment in segments if segment[2] is not None]


def predicted(prediction: Prediction) -> list[oracle.Segment]:
    return [(slot.start, slot.end, slot.key) for slot in prediction.slots]
