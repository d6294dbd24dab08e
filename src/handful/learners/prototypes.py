"""Training-free prototypes: a frozen encoder, the mean of each intent's sentences and of each tag's words.

The intent is the nearest prototype's. Slots come after it: only tags of slots that the support shows with that
intent compete, and the best legal BIO sequence wins. How far a word is from a tag is part its distance from the
tag's prototype, part that from the tag's nearest word: without training, O has no middle that means anything.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence, Set

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from handful.data.bio import OUTSIDE, slots_of, utterance_tags
from handful.encoders.encoding import Encoder
from handful.errors import ConfigError
from handful.model.decode import best_sequence, candidate_columns, legal_starts, legal_steps, marginals
from handful.model.prototypes import Floats, class_means, log_probabilities, squared_distances, unit
from handful.types import Prediction, RankedIntent, Slot, Utterance, Words


class PrototypesConfig(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    # How far apart two distances must be to matter. Confidences depend on it, choices do not. All three settings
    # were chosen on train and dev intents by benchmarks/prototype_settings.py.
    intent_temperature: float = Field(default=0.3, gt=0)
    slot_temperature: float = Field(default=0.4, gt=0)
    # Of a word's distance from a tag, the part that is the nearest word's; 0 is prototypes alone.
    nearest_share: float = Field(default=0.5, ge=0, le=1)


class PrototypeLearner:
    def __init__(self, encoder: Encoder, config: PrototypesConfig | None = None) -> None:
        self._encoder = encoder
        self.config = config or PrototypesConfig()

    def adapt(self, support: Sequence[Utterance]) -> AdaptedPrototypes:
        if not support:
            raise ConfigError("there is nothing to adapt to: the support set is empty")
        return AdaptedPrototypes(self._encoder, self.config, support)


class AdaptedPrototypes:
    def __init__(self, encoder: Encoder, config: PrototypesConfig, support: Sequence[Utterance]) -> None:
        self._encoder, self._config = encoder, config
        encodings = encoder.encode([utterance.sentence for utterance in support])

        self._intents = sorted({utterance.intent for utterance in support})
        sentences = unit(np.stack([encoding.sentence for encoding in encodings]))
        numbers = {intent: number for number, intent in enumerate(self._intents)}
        self._intent_prototypes = class_means(sentences, [numbers[u.intent] for u in support], len(self._intents))

        tags = [tag for utterance in support for tag in utterance_tags(utterance)]
        self._tags = sorted(set(tags))
        columns = {tag: column for column, tag in enumerate(self._tags)}
        words = unit(np.concatenate([encoding.words for encoding in encodings]))
        self._tag_words = TagWords(words, [columns[tag] for tag in tags], len(self._tags))

        self._slot_of_key = _slots_by_key(support)
        labels: defaultdict[str, set[str]] = defaultdict(set)
        for utterance in support:
            labels[utterance.intent] |= {slot.key for slot in utterance.slots}
        self._labels_of_intent = {intent: frozenset(labels[intent]) for intent in self._intents}

    def predict(self, sentences: Sequence[Words], *, tag_candidates: Set[str] | None = None) -> list[Prediction]:
        if not sentences:
            return []
        encodings = self._encoder.encode(sentences)
        allowed = None if tag_candidates is None else frozenset(tag_candidates)
        distances = squared_distances(unit(np.stack([e.sentence for e in encodings])), self._intent_prototypes)
        intents = np.exp(log_probabilities(distances, self._config.intent_temperature))
        # All words at once: one product for the batch, not one a sentence.
        words = unit(np.concatenate([encoding.words for encoding in encodings]))
        tag_distances = self._tag_words.distances(words, self._config.nearest_share)
        ends = np.cumsum([len(encoding.words) for encoding in encodings])
        return [
            self._predict(intent_row, rows, allowed)
            for intent_row, rows in zip(intents, np.split(tag_distances, ends[:-1]), strict=True)
        ]

    def _predict(self, intents: Floats, tag_distances: Floats, allowed: frozenset[str] | None) -> Prediction:
        """One sentence: the probabilities of the intents, and its words' distances from all tags, [T, K]."""
        order = np.argsort(-intents, kind="stable")
        ranking = tuple(RankedIntent(self._intents[i], min(float(intents[i]), 1.0)) for i in order)
        columns = candidate_columns(self._tags, self._labels_of_intent[ranking[0].name], allowed)
        if not columns:
            return Prediction(ranking, (OUTSIDE,) * len(tag_distances), (), ())
        candidates = [self._tags[column] for column in columns]
        scores = log_probabilities(tag_distances[:, columns], self._config.slot_temperature).astype(np.float64)
        starts, steps = legal_starts(candidates), legal_steps(candidates)
        path = best_sequence(scores, starts, steps)
        tags = tuple(candidates[number] for number in path)
        certainty = marginals(scores, starts, steps)[np.arange(len(path)), path]
        spans = slots_of(tags)
        # A span is as sure as its least sure word.
        confidences = tuple(min(float(certainty[span.start : span.end].min()), 1.0) for span in spans)
        return Prediction(ranking, tags, tuple(self._named(span) for span in spans), confidences)

    def _named(self, span: Slot) -> Slot:
        known = self._slot_of_key[span.label]
        return Slot(known.label, span.start, span.end, role=known.role)


class TagWords:
    """The support's words, ordered by tag, with each tag's prototype."""

    _ROWS = 512  # query words at a time: a large bot must not need a matrix of all words by all words

    def __init__(self, words: Floats, columns: Sequence[int], count: int) -> None:
        self._prototypes = class_means(words, columns, count)
        self._words = words[np.argsort(columns, kind="stable")]
        self._starts = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=count))[:-1]])

    def distances(self, words: Floats, nearest_share: float) -> Floats:
        """[T, d] -> [T, K]: (1 - share) · to the tag's prototype + share · to the tag's nearest word."""
        from_prototype = squared_distances(words, self._prototypes)
        if nearest_share == 0:
            return from_prototype
        blocks = (words[start : start + self._ROWS] for start in range(0, len(words), self._ROWS))
        nearest = [np.minimum.reduceat(squared_distances(block, self._words), self._starts, axis=1) for block in blocks]
        return (1 - nearest_share) * from_prototype + nearest_share * np.concatenate(nearest)


def _slots_by_key(support: Sequence[Utterance]) -> dict[str, Slot]:
    """The label and role behind each tag's name; two that read the same could not be told apart."""
    known: dict[str, Slot] = {}
    for utterance in support:
        for slot in utterance.slots:
            first = known.setdefault(slot.key, slot)
            if (first.label, first.role) != (slot.label, slot.role):
                raise ConfigError(
                    f"the slot '{slot.label}' with the role '{slot.role}' and the slot '{first.label}' with the role "
                    f"'{first.role}' are both called '{slot.key}': rename one"
                )
    return known
