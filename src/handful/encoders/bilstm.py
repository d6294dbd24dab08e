"""Eq. 1: a bidirectional LSTM over the words of each sentence, packed, so that padding does not exist."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence


class BiLSTM(nn.Module):
    """h_t = [LSTM_fw(w_t, h_{t-1}), LSTM_bw(w_t, h_{t+1})]; each direction is as wide as a word, so d = 2 · width."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.width = 2 * width
        self.dropout = nn.Dropout(dropout)
        self.lstm = nn.LSTM(width, width, bidirectional=True)

    def forward(self, words: Tensor, lengths: Sequence[int]) -> Tensor:
        """Sentences one after another, [W, width], and their lengths -> H, [W, 2 · width]."""
        order, batch_sizes = time_major(lengths)
        packed = PackedSequence(self.dropout(words).index_select(0, order), batch_sizes)
        hidden, _ = self.lstm(packed)
        return hidden.data.index_select(0, torch.argsort(order))


def time_major(lengths: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Rows in the order of a packed sequence: every sentence's first word, longest sentence first, then the second …

    Returns the rows, [W], and how many sentences each step has, [longest].
    """
    own = np.asarray(lengths)
    longest_first = np.argsort(-own, kind="stable")
    starts = (np.cumsum(own) - own)[longest_first]
    steps = np.arange(own.max())[:, None]
    present = steps < own[longest_first]
    return torch.as_tensor((starts + steps)[present]), torch.as_tensor(present.sum(axis=1), device="cpu")
