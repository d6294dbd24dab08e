"""A learner of joint_spans whose encoder is made up, in float64, and what it sees as the oracle reads it.

A sentence's hidden states are drawn by chance, by its words alone, so that every part of the scores has something to
say. They are numbers that half precision has, which is what a bot keeps of them. All behind the encoder is real.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from handful.encoders.features import WordMaker
from handful.encoders.network import Unkept
from handful.learners.bot_heads import HeadFitting
from handful.learners.joint_spans import JointSpansConfig, JointSpansLearner
from handful.learners.slot_fitting import SlotFitting
from handful.learners.span_decoding import AdaptedSpans
from handful.learners.span_support import SpanSupport
from handful.model.span_maps import Array
from handful.model.span_network import SpanNetwork
from handful.types import Prediction, Slot, Utterance, Words
from oracles import joint_spans as oracle

# Intents, types, spans: scale, temperature, and what a name weighs.
MEASURES = ((6.0, 1.1, 0.4), (2.0, 0.9, 1.3), (3.0, 1.2, 0.7))
FEW_STEPS = HeadFitting(slots=SlotFitting(steps=3, learning_rate=0.01))
_STATES = 6  # numbers of a hidden state


def drawn(seed: int, words: Words, count: int) -> Array:
    rng = np.random.default_rng([seed, zlib.crc32("\0".join(words).encode())])
    return rng.normal(size=(count, _STATES)).astype(np.float16).astype(np.float64)


class MadeUpFeatures:
    name = "made up"

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def compute(self, sentences: Sequence[Words]) -> list[Array]:
        return [drawn(self._seed, words, len(words)) for words in sentences]


class MadeUpWords(WordMaker):
    def __init__(self, seed: int) -> None:
        super().__init__(_STATES)
        self._seed = seed

    def forward(self, sentences: Sequence[Words], features: Sequence[Array]) -> Tensor:
        return torch.as_tensor(np.concatenate(features))

    def with_sentences(self, sentences: Sequence[Words], features: Sequence[Array]) -> tuple[Tensor, Tensor]:
        own = [drawn(self._seed, ("sentence", *words), 1) for words in sentences]
        return self(sentences, features), torch.as_tensor(np.concatenate(own))


class MadeUpNetwork(SpanNetwork):
    def __init__(self, seed: int, width: int = 3, measures: Sequence[Sequence[float]] = MEASURES) -> None:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            super().__init__(MadeUpFeatures(seed), MadeUpWords(seed), Unkept(), width=width, dropout=0.0)
            self.double()
            with torch.no_grad():
                self.views.weight.normal_(std=_STATES**-0.5)
                self.views.bias.normal_(std=0.1)
                logs = torch.tensor(measures, dtype=torch.float64).log()
                for parameter, values in zip((self.scales, self.temperatures, self.name_weights), logs.T, strict=True):
                    parameter.copy_(values)

    def states(self, sentences: Sequence[Words]) -> tuple[Tensor, Tensor]:
        """In double precision all the way."""
        words, means = super().states(sentences)
        return words.double(), means.double()

    def slot_name_means(self, slots: Sequence[Words]) -> Array:
        return super().slot_name_means(slots).astype(np.float64)  # of no slots they are single ones


def made_up(seed: int = 0, *, measures: Sequence[Sequence[float]] = MEASURES, **settings: Any) -> JointSpansLearner:
    network = MadeUpNetwork(seed, measures=measures)
    return JointSpansLearner(network, JointSpansConfig(**{"fitting": FEW_STEPS, **settings}))


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
    """A support set and a learner's view of it, for the oracle: as it is trained, and as heads are fitted to it."""

    def __init__(self, learner: JointSpansLearner, support: Sequence[Utterance]) -> None:
        self._learner, self._support = learner, support
        self.shown = SpanSupport(support, learner.config.descriptions)
        self.longest = int(self.shown.longest)

    @cached_property
    def adapted(self) -> AdaptedSpans:
        return self._learner.adapt(self._support)

    # -- as it is trained ----------------------------------------------------------------------------------------------

    def loss(self, query: Sequence[Utterance], support_weight: float) -> dict[str, float]:
        network = self._learner.network.eval()
        with torch.no_grad():
            _, intents = network(self.shown.intent_texts)
            types, spans = network.slot_name_vectors(self.shown.slot_texts)
            measures = network.measures()
            support, asked = ([self._trained(u) for u in part] for part in (self._support, query))
        names = self._names(dict(zip(self.shown.labels.intents, intents.tolist(), strict=True)), types, spans)
        of_parts = oracle.Measures(
            *(
                oracle.Measure(part.scale.item(), part.temperature.item(), part.name_weight.item())
                for part in (measures.intents, measures.types, measures.spans)
            )
        )
        intent, slots = oracle.episode_loss(support, asked, names, of_parts, support_weight, self.longest)
        return {"intent": intent, "slots": slots}

    def _trained(self, u: Utterance) -> oracle.Told:
        rows, means = self._learner.network([u.sentence])
        return _told(rows.tolist(), means[0].tolist(), u)

    # -- as heads are fitted to it -------------------------------------------------------------------------------------

    def decide(self, words: Words, evidence: float, *, once: bool = True) -> oracle.Decision:
        told = self.told(utterance(" ".join(words), "unknown"))
        return oracle.decide(told, self.support, self.head, self.names, self.measures, evidence, self.longest, once)

    def told(self, u: Utterance) -> oracle.Told:
        ((states, sentence),) = self._learner.see([u.sentence])
        weight, bias = self._maps["views.weight"], self._maps["views.bias"]
        return _told((states.astype(float) @ weight.T + bias).tolist(), sentence.astype(float).tolist(), u)

    @cached_property
    def support(self) -> list[oracle.Told]:
        return [self.told(u) for u in self._support]

    @cached_property
    def head(self) -> oracle.Head:
        fitted, intents = self.adapted.heads.intents, self.shown.labels.intents
        return oracle.Head(
            dict(zip(intents, fitted.weights.astype(float).tolist(), strict=True)),
            dict(zip(intents, fitted.bias.astype(float).tolist(), strict=True)),
        )

    @cached_property
    def names(self) -> oracle.Names:
        """The map of slot names as torch computes it."""
        maps = {name: torch.as_tensor(array) for name, array in self._maps.items()}
        means = torch.as_tensor(self.adapted.encoded.slot_names.astype(float))
        norm, hidden, out = ((maps[f"slot_names.{n}.weight"], maps[f"slot_names.{n}.bias"]) for n in (0, 1, 3))
        normed = functional.layer_norm(means, means.shape[1:], *norm)
        types, spans = functional.linear(functional.gelu(functional.linear(normed, *hidden)), *out).chunk(2, dim=1)
        return self._names({}, torch.cat([types, maps["no_slot"][None]]), spans)

    @cached_property
    def measures(self) -> oracle.Measures:
        rows = np.exp(self._maps["log_measures"]).tolist()
        return oracle.Measures(None, *(oracle.Measure(*row) for row in rows))

    @cached_property
    def _maps(self) -> Mapping[str, Array]:
        return {name: array.astype(float) for name, array in self.adapted.heads.maps.arrays().items()}

    def _names(self, intents: Mapping[str, oracle.Vector], types: Tensor, spans: Tensor) -> oracle.Names:
        slots, rows = self.shown.labels.slots, types.tolist()
        return oracle.Names(
            intents,
            dict(zip(slots, rows[:-1], strict=True)),
            dict(zip(slots, spans.tolist(), strict=True)),
            rows[-1],
        )


def _told(rows: oracle.Matrix, sentence: oracle.Vector, u: Utterance) -> oracle.Told:
    return oracle.Told(rows, sentence, u.intent, [(slot.start, slot.end, slot.key) for slot in u.slots])


def spans_of(segments: Sequence[oracle.Segment]) -> list[oracle.Segment]:
    """Those that have a label."""
    return [segment for segment in segments if segment[2] is not None]


def predicted(prediction: Prediction) -> list[oracle.Segment]:
    return [(slot.start, slot.end, slot.key) for slot in prediction.slots]
