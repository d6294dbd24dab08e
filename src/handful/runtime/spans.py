"""joint_spans without torch: a graph for the encoder, numpy for the heads behind it.

The same lines decide as in training and evaluation (learners/span_decoding.py); only what is seen of a sentence is
computed elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

import numpy as np

from handful.encoders.encoding import Array
from handful.learners.bot_heads import HeadFitting
from handful.learners.span_decoding import AdaptedSpans
from handful.learners.span_model import Seen
from handful.model.span_maps import SpanMaps
from handful.model.threads import one_blas_thread
from handful.runtime.graph import GraphEncoder
from handful.types import Utterance, Words

_ENCODED_TOGETHER = 256  # sentences; a long list must not need memory for all of it at once


@dataclass(frozen=True, slots=True)
class SpanSettings:
    """What a bot may change without training."""

    evidence: float = 0.05
    slot_repeats: str = "shown"
    fitting: HeadFitting = field(default_factory=HeadFitting)
    descriptions: Mapping[str, str] = field(default_factory=dict)


class ExportedSpans:
    """A SpanModel, and a learner of two verbs, so that what is served can be evaluated."""

    def __init__(self, encoder: GraphEncoder, maps: SpanMaps, config: SpanSettings) -> None:
        self._encoder, self.maps, self.config = encoder, maps, config

    def with_fitting(self, fitting: HeadFitting) -> ExportedSpans:
        """The same model, which fits its heads to bots otherwise."""
        return ExportedSpans(self._encoder, self.maps, replace(self.config, fitting=fitting))

    def adapt(self, support: Sequence[Utterance]) -> AdaptedSpans:
        return AdaptedSpans(self, support)

    def slot_name_means(self, slots: Sequence[Words]) -> Array:
        means = [own.frozen.mean(0) for own in self._encoder.hidden(slots)]
        return np.stack(means) if means else np.zeros((0, len(self.maps.norm_weight)), dtype=np.float32)

    def see(self, sentences: Sequence[Words]) -> list[Seen]:
        found: list[Seen] = []
        for start in range(0, len(sentences), _ENCODED_TOGETHER):
            for own in self._encoder.hidden(sentences[start : start + _ENCODED_TOGETHER]):
                found.append((own.states[own.layout.word_rows], own.states[own.layout.counted_rows].mean(0)))
        return found

    def undisturbed(self) -> AbstractContextManager[object]:
        return one_blas_thread()
