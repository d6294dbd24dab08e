"""joint_spans without torch: a graph for the encoder, numpy for the small maps behind it.

The same lines decide as in training and evaluation (learners/span_decoding.py); only what is seen of a sentence is
computed elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import numpy as np

from handful.encoders.encoding import Array
from handful.errors import CheckpointError
from handful.learners.span_decoding import AdaptedSpans
from handful.learners.span_model import Seen
from handful.model.spans import Measure, unit_rows
from handful.model.threads import one_blas_thread
from handful.model.views import Measures, Names
from handful.runtime.graph import GraphEncoder
from handful.types import Utterance, Words

_ENCODED_TOGETHER = 256  # sentences; a long list must not need memory for all of it at once
_erf = np.frompyfunc(math.erf, 1, 1)  # labels are few: no need of a library for it


@dataclass(frozen=True, slots=True)
class SpanSettings:
    """What a bot may change without training."""

    evidence: float = 0.05
    slot_repeats: str = "shown"
    descriptions: Mapping[str, str] = field(default_factory=dict)


class Heads:
    """The maps behind the encoder, by the names that they have in the trained network."""

    NAMES = (
        "views.weight", "views.bias", "no_slot", "measures",
        *(f"{of}_names.{part}" for of in ("intent", "slot")
          for part in ("0.weight", "0.bias", "1.weight", "1.bias", "3.weight", "3.bias")),
    )  # fmt: skip

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        missing = sorted(set(self.NAMES) - arrays.keys())
        if missing:
            raise CheckpointError(f"the exported arrays lack {', '.join(missing)}: export the model again")
        self._arrays = {name: arrays[name] for name in self.NAMES}
        self._views = np.ascontiguousarray(arrays["views.weight"].T)

    @property
    def width(self) -> int:
        return len(self._arrays["no_slot"])

    @property
    def measures(self) -> Measures:
        return Measures(*(Measure(*map(float, row)) for row in self._arrays["measures"]))

    @property
    def nothing(self) -> Array:
        """As wide as a hidden state."""
        return np.zeros_like(self._arrays["intent_names.0.weight"])

    def views(self, states: Array) -> Array:
        """Of words' hidden states, [W, d] -> [W, 6k + 4]."""
        return states @ self._views + self._arrays["views.bias"]

    def names(self, intents: Array, slots: Array) -> Names:
        """Of the means of labels' frozen states. [N, d], [K, d]."""
        of_slots = self._mapped("slot", slots)
        types = np.concatenate([of_slots[:, : self.width], self._arrays["no_slot"][None]])
        return Names(unit_rows(self._mapped("intent", intents)), unit_rows(types), unit_rows(of_slots[:, self.width :]))

    def _mapped(self, of: str, means: Array) -> Array:
        """Layer norm, linear, GELU, linear."""
        norm, shift, first, first_bias, second, second_bias = (
            self._arrays[f"{of}_names.{part}"]
            for part in ("0.weight", "0.bias", "1.weight", "1.bias", "3.weight", "3.bias")
        )
        centred = means - means.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * norm + shift
        inner = scaled @ first.T + first_bias
        curved = 0.5 * inner * (1 + np.asarray(_erf(inner / math.sqrt(2)), dtype=np.float32))
        return (curved @ second.T + second_bias).astype(np.float32)


class ExportedSpans:
    """A SpanModel, and a learner of two verbs, so that what is served can be evaluated."""

    def __init__(self, encoder: GraphEncoder, heads: Heads, config: SpanSettings) -> None:
        self._encoder, self._heads, self.config = encoder, heads, config
        self.width = heads.width

    def adapt(self, support: Sequence[Utterance]) -> AdaptedSpans:
        return AdaptedSpans(self, support)

    def plain_measures(self) -> Measures:
        return self._heads.measures

    def label_vectors(self, intents: Sequence[Words], slots: Sequence[Words]) -> Names:
        means = [own.frozen.mean(0) for own in self._encoder.hidden([*intents, *slots])]
        stacked = np.stack([*means, self._heads.nothing])
        return self._heads.names(stacked[: len(intents)], stacked[len(intents) : -1])

    def see(self, sentences: Sequence[Words]) -> list[Seen]:
        found: list[Seen] = []
        for start in range(0, len(sentences), _ENCODED_TOGETHER):
            hidden = self._encoder.hidden(sentences[start : start + _ENCODED_TOGETHER])
            words = [own.states[own.layout.word_rows] for own in hidden]
            with one_blas_thread():
                rows = self._heads.views(words[0] if len(words) == 1 else np.concatenate(words))
            ends = np.cumsum([len(own) for own in words])
            for own, end in zip(hidden, ends.tolist(), strict=True):
                found.append((rows[end - len(own.layout.word_rows) : end], own.states[own.layout.counted_rows].mean(0)))
        return found

    def undisturbed(self) -> AbstractContextManager[object]:
        return one_blas_thread()
