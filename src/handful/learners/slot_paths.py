"""Which spans of a sentence have which slots, once its intent is known; a slot is filled once, as its examples show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence, Set

import numpy as np

from handful.learners.intent_slots import Compared
from handful.learners.span_support import SpanSupport
from handful.model.prototypes import Floats
from handful.model.segments import best_segmentations
from handful.model.spans import IMPOSSIBLE, Numbers

Path = list[tuple[int, int]]  # the spans [start, end) of a segmentation


def labelled_paths(
    compared: Sequence[Compared],
    intents: Numbers,
    outside: Floats,
    lengths: Sequence[int],
    paths: list[Path] | None,
    allowed: Set[str] | None,
    once: SpanSupport | None,
    but: Numbers | None,
) -> tuple[list[Path], Floats, Numbers, Floats]:
    """With an intent for each sentence: its best segmentation (`paths`, where it is known already), and of a span what
    its best slot scores, which slot that is, and log Σ over the slots.

    With `once`, a slot is filled once, unless an example (`but` the sentence itself) shows it twice. Found greedily: of
    its spans the one that gains most keeps it, it is closed to all others, and the sentence is cut anew.
    """
    shape = (*outside.shape, compared[0].scores.shape[2])
    best, labels, whole = (np.empty(shape, dtype=kind) for kind in (float, np.intp, float))
    while True:
        for part in compared:
            best[part.rows], labels[part.rows], whole[part.rows] = part.labelled(intents[part.rows], allowed)
        if paths is None:
            paths, _ = best_segmentations(outside, best, lengths)
        # Where outside costs more than what is impossible, a path may lead through it all the same.
        paths = [
            [(start, end) for start, end in path if best[row, start, end - start - 1] > IMPOSSIBLE / 2]
            for row, path in enumerate(paths)
        ]
        closed = False
        for part in compared if once is not None else ():
            for place, row in enumerate(part.rows.tolist()):
                own = None if but is None else int(but[row])
                for slot, spans in _repeated(once, paths[row], labels[row], own):
                    gains = [best[row, start, end - start - 1] - outside[row, start:end].sum() for start, end in spans]
                    part.keep_one(place, slot, spans[int(np.argmax(gains))])
                    closed = True
        if not closed:
            return paths, best, labels, whole
        paths = None


def _repeated(shown: SpanSupport | None, path: Path, labels: Numbers, but: int | None) -> Iterator[tuple[int, Path]]:
    """Slots that a sentence has more than once, and no example (`but` that one) has; with their spans."""
    if len(path) < 2 or shown is None:
        return
    spans: defaultdict[int, Path] = defaultdict(list)
    for start, end in path:
        spans[int(labels[start, end - start - 1])].append((start, end))
    for slot, found in spans.items():
        itself = but is not None and shown.own_slots[but][slot] > 1
        if len(found) > 1 and shown.repeated[slot] == int(itself):
            yield slot, found
