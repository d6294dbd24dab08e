"""What the baselines share: sentences through their network, with dropout off, and remembered where that is right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from handful.encoders.encoding import Array
from handful.encoders.network import SentenceNetwork
from handful.encoders.store import ArrayStore
from handful.errors import TrainingError
from handful.types import Utterance, Words

_ENCODED_TOGETHER = 256  # sentences; predictions of a long list must not need memory for all of it at once


class Encoded:
    """A network, and what it makes of sentences."""

    def __init__(self, network: SentenceNetwork, *, remember: bool) -> None:
        """`remember` keeps vectors while the weights stay the same: right for an evaluation."""
        self.network, self._remember = network, remember
        self._kept: ArrayStore | None = None

    def prepare(self, utterances: Sequence[Utterance]) -> Iterator[int]:
        yield from self.network.prepare([utterance.sentence for utterance in utterances])

    def training(self, sentences: Sequence[Words]) -> tuple[Tensor, Tensor]:
        """Vectors with dropout on, to be differentiated: words [W, d], sentences [B, d]."""
        self.network.train()
        self.forget()  # the weights are about to change
        return self.network(sentences)

    def forget(self) -> None:
        self._kept = None

    def vectors(self, sentences: Sequence[Words]) -> tuple[Tensor, Tensor]:
        """Words [W, d] and sentences [B, d], with dropout off."""
        if self._remember and self._kept is None:
            self._kept = ArrayStore("vectors")
        packed = self._computed(sentences) if self._kept is None else self._kept.get(sentences, self._computed)
        words, means = np.concatenate([own[:-1] for own in packed]), np.stack([own[-1] for own in packed])
        return torch.as_tensor(words), torch.as_tensor(means)

    def _computed(self, sentences: Sequence[Words]) -> list[Array]:
        """Of each sentence its words and, in the last row, itself. [T + 1, d] each."""
        found: list[Array] = []
        for start in range(0, len(sentences), _ENCODED_TOGETHER):
            batch = sentences[start : start + _ENCODED_TOGETHER]
            words, means = (part.numpy() for part in evaluated(self.network, batch))
            split = np.split(words, np.cumsum([len(own) for own in batch])[:-1])
            found += [np.concatenate([own, mean[None]]) for own, mean in zip(split, means, strict=True)]
        return found


def evaluated(network: SentenceNetwork, sentences: Sequence[Words]) -> tuple[Tensor, Tensor]:
    """A network's vectors with dropout off and without gradients."""
    network.eval()
    with torch.inference_mode():
        words, means = (part.cpu() for part in network(sentences))
    if not bool(words.isfinite().all() and means.isfinite().all()):
        raise TrainingError("the network's output is not finite: its weights have gone out of range")
    return words, means
