"""The paper's "Fine-tune" rows: train on the train split as on any task, then tune on each support set.

    training    heads over all intents and tags of the train split; L of heads.py on the utterances of each episode
    adapting    new heads for the support's labels; AdamW on heads and the encoder's trained layers, for a few steps

Episodes are only the way in which utterances come: support and query count alike, so that this learner sees the very
sentences that the others see. Krone et al.'s rates and steps could not be found in print: docs/baselines.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from handful.data.bio import OUTSIDE, tag_set, utterance_tags
from handful.encoders.network import SentenceNetwork
from handful.errors import ConfigError, TrainingError
from handful.learners.encoded import Encoded, evaluated
from handful.learners.heads import AdaptedHeads, FittingConfig, joint_loss, new_heads, scores
from handful.learners.learner import EpisodeLoss
from handful.learners.support import SupportLabels
from handful.learners.tuning import drawn
from handful.model.losses import ABSENT
from handful.settings import Settings
from handful.types import Episode, Utterance, Words


class FinetuneConfig(Settings):
    name: Literal["finetune"] = "finetune"
    slot_weight: float = Field(default=1.0, ge=0)  # λ of heads.py
    # Room for the labels of the train split: a checkpoint's heads have one size, whatever it was trained on.
    most_intents: int = Field(default=64, ge=2)
    most_tags: int = Field(default=512, ge=2)
    fitting: FittingConfig = FittingConfig()
    dropout: float = Field(default=0.1, ge=0, lt=1)
    decoding: Literal["joint", "independent"] = "joint"

    @property
    def of_prediction(self) -> frozenset[str]:
        """The settings that a trained learner may be given anew."""
        return frozenset({"decoding", "fitting"})


class FinetuneNetwork(nn.Module):
    """The body, which every support tunes a copy of, and the heads of the train split, which none of them needs."""

    def __init__(self, body: SentenceNetwork, config: FinetuneConfig) -> None:
        super().__init__()
        self.words = body.words  # by this name the training loop knows what an encoder brought
        self.body = body
        self.intents = nn.Linear(body.width, config.most_intents)
        self.tags = nn.Linear(body.width, config.most_tags)


class FinetuneLearner:
    def __init__(self, body: SentenceNetwork, config: FinetuneConfig, *, remember: bool = False) -> None:
        """`remember` is not for this learner: every support has vectors of its own."""
        self.network, self.config = FinetuneNetwork(body, config), config
        self._encoded = Encoded(body, remember=False)
        self._intents: dict[str, int] = {}
        self._tags: dict[str, int] = {}

    @property
    def encoder_name(self) -> str:
        return self.network.body.frozen.name

    def prepare(self, utterances: Sequence[Utterance]) -> Iterator[int]:
        """Numbers the labels, too: those of dev utterances get a row that nothing ever points at."""
        intents = sorted({utterance.intent for utterance in utterances})
        tags = sorted({OUTSIDE, *tag_set(utterances)})
        for what, found, most in (
            ("most_intents", intents, self.config.most_intents),
            ("most_tags", tags, self.config.most_tags),
        ):
            if len(found) > most:
                raise ConfigError(f"learner.{what} is {most}, but the train split has {len(found)}: raise it")
        self._intents = {intent: number for number, intent in enumerate(intents)}
        self._tags = {tag: number for number, tag in enumerate(tags)}
        yield from self._encoded.prepare(utterances)

    def loss(self, episode: Episode) -> EpisodeLoss:
        """Of all utterances of the episode, with the train split's heads."""
        asked = (*episode.support, *episode.query)
        if not self._tags.keys() >= tag_set(asked) or any(u.intent not in self._intents for u in asked):
            raise TrainingError("an episode has intents or slots that `prepare` was not shown")
        words, sentences = self._encoded.training([utterance.sentence for utterance in asked])
        intents = torch.tensor([self._intents[utterance.intent] for utterance in asked])
        tags = torch.tensor([self._tags[tag] for utterance in asked for tag in utterance_tags(utterance)])
        of_intents = self.network.intents(sentences)[:, : len(self._intents)]
        of_tags = self.network.tags(words)[:, : len(self._tags)]
        total = joint_loss(of_intents, of_tags, intents, tags, self.config.slot_weight)
        return EpisodeLoss(total, {"supervised": total.detach().item()})

    def adapt(self, support: Sequence[Utterance]) -> AdaptedHeads:
        labels, settings = SupportLabels(support), self.config.fitting
        body = self.network.body.twin()
        heads = {name: head.requires_grad_() for name, head in new_heads(body.width, labels).items()}
        groups = [
            {"params": [weight for weight in body.parameters() if weight.requires_grad], "lr": settings.rate},
            {"params": list(heads.values()), "lr": settings.heads_rate},
        ]
        optimiser = torch.optim.AdamW([group for group in groups if group["params"]], weight_decay=0.0)
        body.eval()  # no dropout: the same support gives the same parser
        for step in range(settings.steps):
            batch = drawn(support, settings.batch, np.random.default_rng([settings.seed, step]))
            intents, tags = (torch.tensor(numbers) for numbers in labels.numbers_of(batch, ABSENT))
            words, sentences = body([utterance.sentence for utterance in batch])
            optimiser.zero_grad()
            loss = joint_loss(*scores(words, sentences, heads), intents, tags, self.config.slot_weight)
            loss.backward()
            optimiser.step()

        def vectors(sentences: Sequence[Words]) -> tuple[Tensor, Tensor]:
            return evaluated(body, sentences)

        return AdaptedHeads(labels, heads, vectors, jointly=self.config.decoding == "joint")
