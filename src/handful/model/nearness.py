"""How near things are to the examples of a class on the whole: the mean of their cosines.

Unlike the likeness that decides (model/spans.py), it knows of no label's name and of no nearest example, and means the
same whether a class has one example or a hundred. So it can be held against a limit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from handful.model.prototypes import Floats
from handful.model.spans import Members, Numbers


@dataclass(frozen=True, slots=True, eq=False)
class ClassMeans:
    vectors: Floats  # [c, k]: the mean of the examples' vectors, which have length one themselves
    counts: Numbers  # [c]
    class_of: Numbers  # of each utterance

    @classmethod
    def of(cls, members: Members) -> ClassMeans:
        """Of classes where every utterance is an example of one: intents."""
        examples = ~members.named
        counts = np.add.reduceat(examples.astype(np.intp), members.starts)
        sums = np.add.reduceat(members.vectors * examples[:, None], members.starts)
        class_of = np.empty(int(examples.sum()), dtype=np.intp)
        class_of[members.owners[examples]] = members.classes[examples]
        return cls(sums / np.maximum(counts, 1)[:, None], counts, class_of)

    def cosines(self, things: Floats, but: Numbers | None = None) -> Floats:
        """`but` [n] names for each thing the example that it is itself and that does not count. [n, k] -> [n, c]."""
        found = (things @ self.vectors.T).astype(np.float64)
        if but is not None:
            rows, own = np.arange(len(but)), self.class_of[but]
            # Its cosine with itself is one. Where there is no other example, it is like nothing.
            found[rows, own] = (found[rows, own] * self.counts[own] - 1) / np.maximum(self.counts[own] - 1, 1)
        return found
