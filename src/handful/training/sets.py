"""What a run trains on and what chooses its checkpoint."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from handful.data.corpora import Corpus
from handful.types import Utterance

_HELD_OUT = 0.1


@dataclass(frozen=True, slots=True)
class TrainingSets:
    train: tuple[Utterance, ...]
    dev: tuple[Utterance, ...]


def training_sets(corpus: Corpus) -> TrainingSets:
    """The corpus's train and dev intents. Without dev intents (SNIPS), a tenth of the train utterances is held out:
    that serves to stop early and chooses no settings, since its intents are not new."""
    train = corpus.split("train")
    if "dev" in corpus.splits:
        return TrainingSets(train, corpus.split("dev"))
    return _held_out(train)


def _held_out(utterances: Sequence[Utterance]) -> TrainingSets:
    """By the sum of an utterance's text: a sentence that stands twice, in two intents even, is on one side only,
    whatever the order."""
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
    dev = tuple(u for u in utterances if u.text in held)
    return TrainingSets(tuple(u for u in utterances if u.text not in held), dev)
