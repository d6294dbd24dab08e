"""The paper's framework: intents and slots see each other's labels (Eq. 2-3), prototypes classify (Eq. 4-6), and
training adds supervised contrastive terms (Eq. 7-11).

Every variant of the paper is a setting:
  (o,o)  intent_contrast_weight = slot_contrast_weight = 0      (w,o)  slot_contrast_weight = 0      (w,w)  neither is 0
  "only intent-to-slot", "only slot-to-intent"                   direction
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import Annotated, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from handful.data.labels import humanised
from handful.encoders.encoding import Array
from handful.encoders.network import WordNetwork
from handful.encoders.store import ArrayStore
from handful.errors import TrainingError
from handful.learners.learner import EpisodeLoss
from handful.learners.support import SupportLabels
from handful.model.interaction import Bounds, attend, sentence_means, window_means
from handful.model.losses import ABSENT, Losses, Similarity, SlotMean, contrastive_loss, intent_loss, slot_loss
from handful.model.prototypes import class_means, log_probabilities, membership, squared_distances
from handful.settings import Settings
from handful.types import Episode, Prediction, Utterance, Words
from handful.words import split_words

_ENCODED_TOGETHER = 256  # sentences; predictions of a long list must not need memory for all of it at once


class ExplicitJointConfig(Settings):
    name: Literal["explicit_joint"] = "explicit_joint"
    # λ, γ and δ were searched on the dev intents of ATIS and TOP (configs/sweep-*.yml, results/sweep-*.json).
    slot_weight: float = Field(default=1.0, ge=0)  # λ of Eq. 11
    intent_contrast_weight: float = Field(default=0.1, ge=0)  # γ
    slot_contrast_weight: float = Field(default=0.1, ge=0)  # δ
    temperature: float = Field(default=0.1, gt=0)  # τ of Eq. 9-10
    window: int = Field(default=0, ge=0)  # l of Eq. 5, used on support and query alike
    direction: Literal["both", "intent-to-slot", "slot-to-intent"] = "both"
    slot_mean: SlotMean = "token"  # what Eq. 8 divides by; the paper writes "utterance"
    similarity: Similarity = "cosine"  # of Eq. 9-10; the paper writes "inner"
    dropout: float = Field(default=0.1, ge=0, lt=1)
    # "joint" is support.py's decoding; "independent" takes each word's likeliest tag, as the paper does.
    decoding: Literal["joint", "independent"] = "joint"
    # What a label means, where its name read as words does not say it.
    descriptions: dict[str, Annotated[str, Field(pattern=r"\S")]] = Field(default_factory=dict)

    @property
    def of_prediction(self) -> frozenset[str]:
        """The settings that a trained learner may be given anew."""
        return frozenset({"decoding"})


class ExplicitJointLearner:
    def __init__(self, network: WordNetwork, config: ExplicitJointConfig, *, remember: bool = False) -> None:
        """`remember` keeps the words' final vectors while the weights stay the same: right for an evaluation."""
        self.network, self.config = network, config
        self._remember = remember
        self._hidden: ArrayStore | None = None

    # -- training --------------------------------------------------------------------------------------------------

    def prepare(self, utterances: Sequence[Utterance]) -> Iterator[int]:
        """Keeps the frozen features of utterances and of their labels; yields how many sentences are done."""
        names = {u.intent for u in utterances} | {slot.key for u in utterances for slot in u.slots}
        yield from self.network.prepare([u.sentence for u in utterances] + self._label_texts(sorted(names)))

    @property
    def encoder_name(self) -> str:
        return self.network.frozen.name

    def loss(self, episode: Episode) -> EpisodeLoss:
        """Eq. 11, weighed by the settings."""
        losses, config = self.losses(episode), self.config
        total = losses.total(config.slot_weight, config.intent_contrast_weight, config.slot_contrast_weight)
        return EpisodeLoss(total, losses.numbers())

    def losses(self, episode: Episode) -> Losses:
        """The four terms of Eq. 11 for one episode; its gradients reach every trained weight."""
        self.network.train()
        self.forget()  # the weights are about to change
        labels = SupportLabels(episode.support)
        sentences = [utterance.sentence for utterance in (*episode.support, *episode.query)]
        intent_texts, slot_texts = self.attended_texts(labels)
        lengths = [len(words) for words in sentences]
        label_lengths = [len(words) for words in intent_texts + slot_texts]

        # Sentences and label texts go through the same network together (Eq. 1).
        words, label_words = self.network([*sentences, *intent_texts, *slot_texts]).split(
            [sum(lengths), sum(label_lengths)]
        )
        bounds = Bounds.of(lengths)
        label_means = sentence_means(label_words, Bounds.of(label_lengths)) if label_lengths else label_words
        intent_labels, slot_labels = label_means.split([len(intent_texts), len(slot_texts)])
        sentence_vectors, word_vectors = self.represent(words, bounds, intent_labels, slot_labels)

        shots = len(episode.support)
        support_words = sum(lengths[:shots])
        intents, tags = (torch.tensor(numbers) for numbers in labels.numbers_of(episode.query, ABSENT))
        support_intents, support_tags = torch.tensor(labels.intent_numbers), torch.tensor(labels.tag_numbers)
        intent_distances = _distances(sentence_vectors, shots, labels.intent_numbers, len(labels.intents))
        tag_distances = _distances(word_vectors, support_words, labels.tag_numbers, len(labels.tags))

        means = sentence_means(words, bounds)
        spans, support_spans = tags != labels.outside, support_tags != labels.outside  # "Other" is ignored in Eq. 10
        contrast = {"temperature": self.config.temperature, "similarity": self.config.similarity}
        return Losses(
            intent_loss(intent_distances, intents),
            slot_loss(tag_distances, tags, len(episode.query), self.config.slot_mean),
            contrastive_loss(means[shots:], intents, means[:shots], support_intents, **contrast),
            contrastive_loss(
                words[support_words:][spans],
                tags[spans],
                words[:support_words][support_spans],
                support_tags[support_spans],
                **contrast,
            ),
        )

    # -- the two verbs ---------------------------------------------------------------------------------------------

    def adapt(self, support: Sequence[Utterance]) -> AdaptedExplicitJoint:
        return AdaptedExplicitJoint(self, support)

    def forget(self) -> None:
        """Drops what is remembered of sentences."""
        self._hidden = None

    def encode(self, sentences: Sequence[Words]) -> list[Array]:
        """H of each sentence, [T, d], with dropout off."""
        if not self._remember:
            return self._computed(sentences)
        if self._hidden is None:
            self._hidden = ArrayStore("hidden")
        return self._hidden.get(sentences, self._computed)

    def _computed(self, sentences: Sequence[Words]) -> list[Array]:
        self.network.eval()
        found: list[Array] = []
        for start in range(0, len(sentences), _ENCODED_TOGETHER):
            batch = sentences[start : start + _ENCODED_TOGETHER]
            with torch.inference_mode():
                hidden = self.network(batch).cpu().numpy()
            if not np.isfinite(hidden).all():
                raise TrainingError("the network's output is not finite: its weights have gone out of range")
            found += np.split(hidden, np.cumsum([len(words) for words in batch])[:-1])
        return found

    # -- both ------------------------------------------------------------------------------------------------------

    def represent(
        self, words: Tensor, bounds: Bounds, intent_labels: Tensor, slot_labels: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Eq. 2-5: c of each sentence and the windowed h^S of each word. [W, d], [N, d], [S, d] -> [B, ·], [W, ·]."""
        direction = self.config.direction
        for_intents = words if direction == "intent-to-slot" else attend(words, slot_labels)
        for_slots = words if direction == "slot-to-intent" else attend(words, intent_labels)
        return sentence_means(for_intents, bounds), window_means(for_slots, bounds, self.config.window)

    def attended_texts(self, labels: SupportLabels) -> tuple[list[Words], list[Words]]:
        """The texts of the intents and of the slots; labels that this direction does not look at have none."""
        direction = self.config.direction
        intents = [] if direction == "slot-to-intent" else self._label_texts(labels.intents)
        return intents, [] if direction == "intent-to-slot" else self._label_texts(labels.slots)

    def _label_texts(self, names: Sequence[str]) -> list[Words]:
        texts = [self.config.descriptions.get(name, humanised(name)) for name in names]
        return [tuple(word.text for word in split_words(text)) or (text,) for text in texts]


class AdaptedExplicitJoint:
    def __init__(self, learner: ExplicitJointLearner, support: Sequence[Utterance]) -> None:
        self._learner = learner
        # Two scorers ask for the same sentences one after the other.
        self._last: tuple[tuple[Words, ...], Array, Array] | None = None
        self._labels = labels = SupportLabels(support)
        intent_texts, slot_texts = learner.attended_texts(labels)
        self._intent_labels, self._slot_labels = self._label_means(intent_texts), self._label_means(slot_texts)
        sentences, words = self._represent([utterance.sentence for utterance in support])
        self._intent_prototypes = _prototypes(sentences, labels.intent_numbers, len(labels.intents))
        self._tag_prototypes = _prototypes(words, labels.tag_numbers, len(labels.tags))

    def predict(self, sentences: Sequence[Words], *, tag_candidates: Set[str] | None = None) -> list[Prediction]:
        if not sentences:
            return []
        allowed = None if tag_candidates is None else frozenset(tag_candidates)
        last = self._last  # read once: another thread may be predicting, too
        if last is None or last[0] != tuple(sentences):
            self._last = last = (tuple(sentences), *self._distances(sentences))
        _, intent_distances, tag_distances = last
        intents = np.exp(log_probabilities(intent_distances, 1.0))
        lengths = [len(words) for words in sentences]
        jointly = self._learner.config.decoding == "joint"
        return self._labels.predict(intents, tag_distances, lengths, temperature=1.0, allowed=allowed, jointly=jointly)

    def _distances(self, sentences: Sequence[Words]) -> tuple[Array, Array]:
        """Of sentences from the intents' prototypes, [B, N], and of their words from the tags', [W, K]."""
        sentence_vectors, word_vectors = self._represent(sentences)
        # In torch up to here: its threads and those of numpy's products would take turns in waiting for each other.
        return (
            squared_distances(sentence_vectors, self._intent_prototypes).cpu().numpy(),
            squared_distances(word_vectors, self._tag_prototypes).cpu().numpy(),
        )

    def _represent(self, sentences: Sequence[Words]) -> tuple[Tensor, Tensor]:
        words = torch.as_tensor(np.concatenate(self._learner.encode(sentences)))
        bounds = Bounds.of([len(words) for words in sentences])
        return self._learner.represent(words, bounds, self._intent_labels, self._slot_labels)

    def _label_means(self, texts: Sequence[Words]) -> Tensor:
        if not texts:
            return torch.zeros(0, self._learner.network.width)
        words = torch.as_tensor(np.concatenate(self._learner.encode(texts)))
        return sentence_means(words, Bounds.of([len(text) for text in texts]))


def _distances(vectors: Tensor, shots: int, classes: Sequence[int], count: int) -> Tensor:
    """Eq. 4-6: support rows come first; the distances of all others from the support's prototypes."""
    return squared_distances(vectors[shots:], _prototypes(vectors[:shots], classes, count))


def _prototypes(vectors: Tensor, classes: Sequence[int], count: int) -> Tensor:
    """Eq. 4-5. [n, d] and n class numbers -> [count, d]."""
    return class_means(vectors, torch.as_tensor(membership(classes, count)).to(vectors.dtype))
