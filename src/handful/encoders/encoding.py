"""What every encoder gives for a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from handful.types import Words

Array = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Encoding:
    sentence: Array  # [d]
    words: Array  # [T, d], one vector a word

    @property
    def size(self) -> int:
        return self.sentence.nbytes + self.words.nbytes


class Encoder(Protocol):
    def encode(self, sentences: Sequence[Words]) -> list[Encoding]:
        """One encoding a sentence, in order."""
        ...
