"""What a trained encoder's sentence vectors keep of those of another, frozen one: which sentences are alike.

    L = mean over sentences i of  KL( softmax_j(t_i·t_j / τ)  ‖  softmax_j(s_i·s_j / τ) ),   j ≠ i

over the sentences of an episode, with the teacher's vectors t and the learner's s of length one. Only the sentences'
likeness to each other is learnt, so the teacher may be wider than the learner.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
from pydantic import AfterValidator, Field
from torch import Tensor
from torch.nn import functional

from handful.encoders.choose import _folder_or_name
from handful.encoders.encoding import Array
from handful.encoders.store import ArrayStore
from handful.settings import Settings
from handful.types import Words

_PREPARED_TOGETHER = 256  # sentences


class TeacherConfig(Settings):
    name: Annotated[str, AfterValidator(_folder_or_name)] = Field(min_length=1)  # a BERT-like model's folder or name
    weight: float = Field(default=1.0, gt=0)
    temperature: float = Field(default=0.05, gt=0)


class Teacher:
    def __init__(self, settings: TeacherConfig, cache: Path | None = None) -> None:
        self.settings = settings
        self._cache = cache

    @cached_property
    def _store(self) -> ArrayStore:
        from handful.encoders.digests import sha256_once
        from handful.encoders.weights import find_weights

        total = sha256_once(find_weights(self.settings.name) / "model.safetensors")
        return ArrayStore(f"sentence vectors {total}", folder=self._cache)

    @cached_property
    def _encoder(self):
        from handful.encoders.transformer import TransformerEncoder
        from handful.encoders.weights import find_weights

        return TransformerEncoder(find_weights(self.settings.name))

    def prepare(self, sentences: Sequence[Words]) -> Iterator[int]:
        """Computes and keeps the vectors of all sentences; yields how many are done."""
        ordered = sorted(set(sentences), key=lambda words: (len(words), words))
        for start in range(0, len(ordered), _PREPARED_TOGETHER):
            self._vectors(ordered[start : start + _PREPARED_TOGETHER])
            yield min(start + _PREPARED_TOGETHER, len(ordered))

    def loss(self, vectors: Tensor, sentences: Sequence[Words]) -> Tensor:
        """Of the learner's vectors, of length one. [n, d] -> a scalar."""
        own = torch.as_tensor(np.stack(self._vectors(sentences)))
        return relation_loss(vectors, own, self.settings.temperature)

    def _vectors(self, sentences: Sequence[Words]) -> list[Array]:
        return self._store.get(sentences, self._compute)

    def _compute(self, sentences: Sequence[Words]) -> list[Array]:
        with torch.autocast("cpu", torch.bfloat16):
            found = self._encoder.encode(sentences)
        vectors = [np.asarray(own.sentence, dtype=np.float32) for own in found]
        return [(vector / np.linalg.norm(vector)).astype(np.float32) for vector in vectors]


def relation_loss(vectors: Tensor, teacher: Tensor, temperature: float) -> Tensor:
    """[n, d], [n, e], both of length one -> the scalar L."""
    itself = torch.eye(len(vectors), dtype=torch.bool)
    own, other = (
        (rows @ rows.T / temperature).masked_fill(itself, -1e4).log_softmax(-1) for rows in (vectors, teacher)
    )
    return functional.kl_div(own, other, log_target=True, reduction="batchmean")
