"""Training-free prototypes: a frozen encoder, the mean of each intent's sentences and of each tag's words.

How far a word is from a tag is part its distance from the tag's prototype, part that from the tag's nearest word:
without training, O has no middle that means anything.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

import numpy as np
from pydantic import Field

from handful.encoders.encoding import Encoder
from handful.learners.support import SupportLabels
from handful.model.prototypes import Floats, class_means, log_probabilities, membership, squared_distances, unit
from handful.settings import Settings
from handful.types import Prediction, Utterance, Words


class PrototypesConfig(Settings):
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

    def sentence_vectors(self, sentences: Sequence[Words]) -> Floats:
        """Of length one. [n, d]."""
        return unit(np.stack([encoding.sentence for encoding in self._encoder.encode(sentences)]))

    def adapt(self, support: Sequence[Utterance]) -> AdaptedPrototypes:
        return AdaptedPrototypes(self._encoder, self.config, support)


class AdaptedPrototypes:
    def __init__(self, encoder: Encoder, config: PrototypesConfig, support: Sequence[Utterance]) -> None:
        self._encoder, self._config = encoder, config
        self._labels = labels = SupportLabels(support)
        encodings = encoder.encode([utterance.sentence for utterance in support])
        sentences = unit(np.stack([encoding.sentence for encoding in encodings]))
        self._intent_prototypes = class_means(sentences, membership(labels.intent_numbers, len(labels.intents)))
        words = unit(np.concatenate([encoding.words for encoding in encodings]))
        self._tag_words = TagWords(words, labels.tag_numbers, len(labels.tags))

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
        lengths = [len(words) for words in sentences]
        return self._labels.predict(
            intents, tag_distances, lengths, temperature=self._config.slot_temperature, allowed=allowed
        )


class TagWords:
    """The support's words, ordered by tag, with each tag's prototype."""

    _ROWS = 512  # query words at a time: a large bot must not need a matrix of all words by all words

    def __init__(self, words: Floats, columns: Sequence[int], count: int) -> None:
        self._prototypes = class_means(words, membership(columns, count))
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
