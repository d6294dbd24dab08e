"""Krone, Zhang and Diab's joint prototypical network (2020), the paper's "Proto" rows, after Snell et al. (2017).

    p_c = mean of the sentence vectors of intent c            p_t = mean of the word vectors with tag t
    P(y = c | x) = softmax_c(-||f(x) - p_c||² / τ)            P(t_i = t | x) = softmax_t(-||f(x)_i - p_t||² / τ)
    L = mean over queries of -log P(y) + λ · mean over their words of -log P(t_i)

Intents and slots meet in the shared encoder alone: that is what the paper's framework is measured against. Query words
whose tag the support lacks have no prototype, and are left out of sum and count. Neither τ (Snell et al. have none) nor
λ could be found in print: see docs/baselines.md for how they were chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import Literal

import numpy as np
import torch
from pydantic import Field

from handful.encoders.network import SentenceNetwork
from handful.learners.encoded import Encoded
from handful.learners.learner import EpisodeLoss
from handful.learners.support import SupportLabels
from handful.model.losses import ABSENT, intent_loss, slot_loss
from handful.model.prototypes import class_means, log_probabilities, membership, squared_distances
from handful.settings import Settings
from handful.types import Episode, Prediction, Utterance, Words


class ProtoConfig(Settings):
    name: Literal["proto"] = "proto"
    slot_weight: float = Field(default=1.0, ge=0)  # λ
    temperature: float = Field(default=4.0, gt=0)  # τ
    dropout: float = Field(default=0.1, ge=0, lt=1)
    # "joint" is support.py's decoding, as for every learner that tags words; "independent" is Krone et al.'s.
    decoding: Literal["joint", "independent"] = "joint"

    @property
    def of_prediction(self) -> frozenset[str]:
        """The settings that a trained learner may be given anew."""
        return frozenset({"decoding"})


class ProtoLearner:
    def __init__(self, network: SentenceNetwork, config: ProtoConfig, *, remember: bool = False) -> None:
        self.network, self.config = network, config
        self.encoded = Encoded(network, remember=remember)

    @property
    def encoder_name(self) -> str:
        return self.network.frozen.name

    def prepare(self, utterances: Sequence[Utterance]) -> Iterator[int]:
        yield from self.encoded.prepare(utterances)

    def loss(self, episode: Episode) -> EpisodeLoss:
        labels = SupportLabels(episode.support)
        words, sentences = self.encoded.training([u.sentence for u in (*episode.support, *episode.query)])
        shots, support_words = len(episode.support), len(labels.tag_numbers)
        intents, tags = (torch.tensor(numbers) for numbers in labels.numbers_of(episode.query, ABSENT))
        of_intents = squared_distances(sentences[shots:], intent_prototypes(sentences[:shots], labels))
        of_tags = squared_distances(words[support_words:], tag_prototypes(words[:support_words], labels))
        intent = intent_loss(of_intents / self.config.temperature, intents)
        slot = slot_loss(of_tags / self.config.temperature, tags, len(episode.query), "token")
        parts = {"intent": intent.detach().item(), "slot": slot.detach().item()}
        return EpisodeLoss(intent + self.config.slot_weight * slot, parts)

    def adapt(self, support: Sequence[Utterance]) -> AdaptedProto:
        return AdaptedProto(self, support)


class AdaptedProto:
    def __init__(self, learner: ProtoLearner, support: Sequence[Utterance]) -> None:
        self._learner, self._labels = learner, SupportLabels(support)
        words, sentences = learner.encoded.vectors([utterance.sentence for utterance in support])
        self._intents = intent_prototypes(sentences, self._labels)
        self._tags = tag_prototypes(words, self._labels)

    def predict(self, sentences: Sequence[Words], *, tag_candidates: Set[str] | None = None) -> list[Prediction]:
        if not sentences:
            return []
        config = self._learner.config
        words, means = self._learner.encoded.vectors(sentences)
        intents = squared_distances(means, self._intents).numpy()
        return self._labels.predict(
            np.exp(log_probabilities(intents, config.temperature)),
            squared_distances(words, self._tags).numpy(),
            [len(own) for own in sentences],
            temperature=config.temperature,
            allowed=None if tag_candidates is None else frozenset(tag_candidates),
            jointly=config.decoding == "joint",
        )


def intent_prototypes(sentences: torch.Tensor, labels: SupportLabels) -> torch.Tensor:
    return class_means(sentences, torch.as_tensor(membership(labels.intent_numbers, len(labels.intents))))


def tag_prototypes(words: torch.Tensor, labels: SupportLabels) -> torch.Tensor:
    return class_means(words, torch.as_tensor(membership(labels.tag_numbers, len(labels.tags))))
