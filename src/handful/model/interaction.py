"""Words and labels see each other (Eq. 2-3); sentences and windows are means of words (Eq. 4-5).

Words of many sentences stand one after another, [W, d]; `Bounds` says where each sentence begins and ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from handful.model.prototypes import class_means

_SENTENCES_A_PRODUCT = 256


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of each word: its sentence's first word, and one past its last. [W] each."""

    start: Tensor
    end: Tensor
    lengths: Tensor  # of the sentences, [B]

    @classmethod
    def of(cls, lengths: Sequence[int]) -> Bounds:
        own = torch.as_tensor(lengths)
        ends = own.cumsum(0)
        sentence = torch.repeat_interleave(torch.arange(len(own)), own)
        return cls((ends - own)[sentence], ends[sentence], own)


def attend(words: Tensor, labels: Tensor) -> Tensor:
    """Eq. 2-3: softmax(H Eᵀ)E ‖ H.  [W, d], [C, d] -> [W, 2d]."""
    if not len(labels):
        # No labels, as the slots of a support without slots: there is nothing to attend to.
        return torch.cat([torch.zeros_like(words), words], dim=-1)
    context = (words @ labels.T).softmax(-1) @ labels
    return torch.cat([context, words], dim=-1)


def sentence_means(words: Tensor, bounds: Bounds) -> Tensor:
    """c = mean(H_I), or z = mean(H), over a sentence's words. [W, d] -> [B, d]."""
    # Products, as in Eq. 4: adding up row by row costs many times as much. A product of a few hundred sentences at a
    # time: one of all of them would need a number for every pair of sentence and word.
    parts = bounds.lengths.split(_SENTENCES_A_PRODUCT)
    means = []
    for lengths, own in zip(parts, words.split([int(part.sum()) for part in parts]), strict=True):
        numbers = torch.arange(len(lengths))
        members = numbers[:, None] == torch.repeat_interleave(numbers, lengths)
        means.append(class_means(own, members.to(words.dtype)))
    return torch.cat(means)


def window_means(words: Tensor, bounds: Bounds, reach: int) -> Tensor:
    """Eq. 5's inner mean: each word with `reach` (l) neighbours on both sides, of those its sentence has.

    The paper divides by 2l+1 everywhere; at a sentence's ends we divide by the words present. [W, d] -> [W, d].
    """
    reach = min(reach, int(bounds.lengths.max()) - 1)  # beyond the longest sentence there is nothing
    if reach == 0:
        return words
    here = torch.arange(len(words))
    total, count = torch.zeros_like(words), torch.zeros(len(words), 1, dtype=words.dtype)
    for offset in range(-reach, reach + 1):
        there = here + offset
        present = (there >= bounds.start) & (there < bounds.end)
        weight = present[:, None].to(words.dtype)
        total = total + words[there.clamp(0, len(words) - 1)] * weight
        count = count + weight
    return total / count
