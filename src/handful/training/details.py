"""What an evaluation can say beyond its four means: by slot, by the number of examples, and by confidence."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from handful.data.bio import slots_of
from handful.types import Episode, Prediction, Slot

BINS = 10  # of the intent's confidence, equally wide


class Details:
    """Counts over episodes, of the strict predictions alone."""

    def __init__(self) -> None:
        self._slots: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        self._shots: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0, 0, 0, 0])
        self._bins: list[list[float]] = [[0, 0.0, 0] for _ in range(BINS)]

    def add(self, episode: Episode, predictions: Sequence[Prediction]) -> None:
        shots = Counter(utterance.intent for utterance in episode.support)
        for utterance, prediction in zip(episode.query, predictions, strict=True):
            gold = {(slot.key, slot.start, slot.end) for slot in utterance.slots}
            said = {_span(slot) for slot in slots_of(prediction.tags)}
            right = prediction.intent == utterance.intent
            for column, spans in enumerate((gold & said, said, gold)):
                for key, _, _ in spans:
                    self._slots[key][column] += 1
            counts = (1, int(right), len(gold & said), len(said), len(gold))
            row = self._shots[shots[utterance.intent]]
            row[:] = [old + new for old, new in zip(row, counts, strict=True)]
            place = self._bins[min(int(prediction.confidence * BINS), BINS - 1)]
            place[0] += 1
            place[1] += prediction.confidence
            place[2] += right

    def record(self) -> dict[str, Any]:
        """slots: label -> right, predicted, gold spans. shots: examples of the intent, queries, right intents, and the
        three counts of spans. calibration, a bin a row: queries, sum of confidences, right intents."""
        return {
            "slots": {key: self._slots[key] for key in sorted(self._slots)},
            "shots": [[shots, *self._shots[shots]] for shots in sorted(self._shots)],
            "calibration": [[int(count), round(total, 4), int(right)] for count, total, right in self._bins],
        }


def _span(slot: Slot) -> tuple[str, int, int]:
    return slot.key, slot.start, slot.end
