"""First-order MAML (Finn et al., 2017) with joint heads, as Krone, Zhang and Diab (2020) train it: the paper's
"foMAML" rows. θ is the network, w the heads of an episode; both take the inner steps.

    φ_0 = θ, w_0 = 0
    for k = 1 … K:    L = L_support(φ_{k-1}, w_{k-1});    φ_k = φ_{k-1} - α ∇_φ L;    w_k = w_{k-1} - α_w ∇_w L
    θ ← θ - β ∇_φ L_query(φ_K, w_K)

"First-order" takes dφ_K/dθ as the identity. That is one line here: the query is asked with θ + (φ_K - θ), where the
bracket is a constant; so the gradient that reaches θ is the one at φ_K, and the training loop, which knows of
`loss` alone, needs no second kind of step. K, α and α_w could not be found in print: docs/baselines.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from torch.func import functional_call

from handful.encoders.network import SentenceNetwork
from handful.learners.encoded import Encoded
from handful.learners.heads import AdaptedHeads, FittingConfig, joint_loss, new_heads, scores
from handful.learners.learner import EpisodeLoss
from handful.learners.support import SupportLabels
from handful.learners.tuning import drawn
from handful.model.losses import ABSENT
from handful.settings import Settings
from handful.types import Episode, Utterance, Words

Weights = dict[str, Tensor]


class InnerConfig(FittingConfig):
    """K, α and α_w: plain gradient descent wants larger rates than AdamW. A type of its own, so that a file that sets
    one of them keeps the other two."""

    steps: int = Field(default=10, ge=0)
    rate: float = Field(default=1e-2, gt=0)
    heads_rate: float = Field(default=0.3, gt=0)


class FomamlConfig(Settings):
    name: Literal["fomaml"] = "fomaml"
    slot_weight: float = Field(default=1.0, ge=0)  # λ of heads.py
    fitting: InnerConfig = InnerConfig()  # the same steps in training and on a new support
    dropout: float = Field(default=0.1, ge=0, lt=1)
    decoding: Literal["joint", "independent"] = "joint"

    @property
    def of_prediction(self) -> frozenset[str]:
        """The settings that a trained learner may be given anew."""
        return frozenset({"decoding", "fitting"})


class FomamlLearner:
    def __init__(self, network: SentenceNetwork, config: FomamlConfig, *, remember: bool = False) -> None:
        """`remember` is not for this learner: every support has vectors of its own."""
        self.network, self.config = network, config
        self._encoded = Encoded(network, remember=False)

    @property
    def encoder_name(self) -> str:
        return self.network.frozen.name

    def prepare(self, utterances: Sequence[Utterance]) -> Iterator[int]:
        yield from self._encoded.prepare(utterances)

    def loss(self, episode: Episode) -> EpisodeLoss:
        """L_query(φ_K, w_K), differentiable in θ to first order."""
        self.network.train()
        labels = SupportLabels(episode.support)
        fitted, heads = self.fit(episode.support, labels)
        own = self._trained()
        first_order = {name: weight + (fitted[name] - weight).detach() for name, weight in own.items()}
        intents, tags = (torch.tensor(numbers) for numbers in labels.numbers_of(episode.query, ABSENT))
        total = self._loss(first_order, heads, [u.sentence for u in episode.query], intents, tags)
        return EpisodeLoss(total, {"query": total.detach().item()})

    def adapt(self, support: Sequence[Utterance]) -> AdaptedHeads:
        """The inner steps, with dropout off."""
        self.network.eval()
        labels = SupportLabels(support)
        fitted, heads = self.fit(support, labels)

        def vectors(sentences: Sequence[Words]) -> tuple[Tensor, Tensor]:
            self.network.eval()
            with torch.no_grad():
                return functional_call(self.network, fitted, (sentences,))

        return AdaptedHeads(labels, heads, vectors, jointly=self.config.decoding == "joint")

    def fit(self, support: Sequence[Utterance], labels: SupportLabels) -> tuple[Weights, Weights]:
        """φ_K and w_K: the K inner steps of stochastic gradient descent, each on at most `fitting.batch` utterances."""
        settings = self.config.fitting
        body = {name: weight.detach().clone() for name, weight in self._trained().items()}
        heads = new_heads(self.network.width, labels)
        for step in range(settings.steps):
            batch = drawn(support, settings.batch, np.random.default_rng([settings.seed, step]))
            intents, tags = (torch.tensor(numbers) for numbers in labels.numbers_of(batch, ABSENT))
            weights = [weight.requires_grad_() for weight in (*body.values(), *heads.values())]
            loss = self._loss(body, heads, [utterance.sentence for utterance in batch], intents, tags)
            gradients = torch.autograd.grad(loss, weights, allow_unused=True)
            body = _stepped(body, gradients[: len(body)], settings.rate)
            heads = _stepped(heads, gradients[len(body) :], settings.heads_rate)
        return body, heads

    def _loss(
        self, body: Mapping[str, Tensor], heads: Weights, sentences: Sequence[Words], intents: Tensor, tags: Tensor
    ) -> Tensor:
        words, means = functional_call(self.network, dict(body), (sentences,))
        return joint_loss(*scores(words, means, heads), intents, tags, self.config.slot_weight)

    def _trained(self) -> Weights:
        return {name: weight for name, weight in self.network.named_parameters() if weight.requires_grad}


def _stepped(weights: Weights, gradients: Sequence[Tensor | None], rate: float) -> Weights:
    return {
        name: (weight if gradient is None else weight - rate * gradient).detach()
        for (name, weight), gradient in zip(weights.items(), gradients, strict=True)
    }
