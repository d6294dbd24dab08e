"""What a run trains on and what chooses its checkpoint."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from handful.data.corpora import Corpus
from handful.types import Utterance

_HELD_OUT = 0.1


@dataclass(frozen=True, slots=True)
class TrainingSets:
    """Of each corpus the utterances to train on, and of those that have any, the ones that score."""

    train: tuple[tuple[Utterance, ...], ...]
    dev: tuple[tuple[Utterance, ...], ...]

    @property
    def utterances(self) -> tuple[Utterance, ...]:
        return tuple(utterance for part in (*self.train, *self.dev) for utterance in part)


def training_sets(
    corpora: Sequence[Corpus],
    splits: Sequence[str] = ("train",),
    *,
    scored: bool = True,
    leave_out: Literal["nothing", "test_texts"] = "nothing",
) -> TrainingSets:
    """The corpora's train intents, and their dev intents to score with. Where no corpus has any (SNIPS), a tenth of the
    train utterances is held out: that serves to stop early and chooses no settings, since its intents are not new."""
    left_out = set() if leave_out == "nothing" else {said(u) for c in corpora for u in c.splits.get("test", ())}
    train = tuple(
        tuple(u for split in splits for u in corpus.splits.get(split, ()) if said(u) not in left_out)
        for corpus in corpora
    )
    if not scored:
        return TrainingSets(train, ())
    if dev := tuple(corpus.split("dev") for corpus in corpora if "dev" in corpus.splits):
        return TrainingSets(train, dev)
    parts = [_held_out(utterances) for utterances in train]
    return TrainingSets(tuple(kept for kept, _ in parts), tuple(held for _, held in parts))


def said(utterance: Utterance) -> str:
    """What two utterances share that are the same sentence, whatever the case."""
    return " ".join(utterance.sentence).lower()


def _held_out(utterances: Sequence[Utterance]) -> tuple[tuple[Utterance, ...], tuple[Utterance, ...]]:
    """Those kept and those held out. By the sum of an utterance's text: a sentence that stands twice, in two intents
    even, is on one side only, whatever the order."""
    of_intent: defaultdict[str, set[str]] = defaultdict(set)
    for utterance in utterances:
        of_intent[utterance.intent].add(utterance.text)
    held = {
        text
        for texts in of_intent.values()
        for text in sorted(texts, key=lambda text: hashlib.sha256(text.encode()).digest())[
            : int(len(texts) * _HELD_OUT)
        ]
    }
    return tuple(u for u in utterances if u.text not in held), tuple(u for u in utterances if u.text in held)
