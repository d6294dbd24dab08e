"""Tuning on a support set: a few gradient steps in which each utterance is told by all the others.

What comes out is a copy; the learner that it was made of stays as it is. A step looks at no more than `batch`
utterances, so that a large bot's step costs what a small one's does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from pydantic import Field
from torch import nn

from handful.errors import TrainingError
from handful.settings import Settings
from handful.types import Utterance

if TYPE_CHECKING:
    from handful.learners.joint_spans import JointSpansLearner


class TuningConfig(Settings):
    steps: int = Field(default=0, ge=0)  # 0: prototypes alone
    learning_rate: float = Field(default=1.5e-4, gt=0)  # of the first step; it falls to nought in a straight line
    new_weights_rate: float = Field(default=3.0, gt=0)  # times that, for what no encoder brought
    batch: int = Field(default=48, ge=2)  # utterances a step
    seed: int = Field(default=0, ge=0)


@dataclass(frozen=True, slots=True)
class TuningStep:
    step: int  # from 1
    steps: int
    loss: float


def tuned(learner: JointSpansLearner, support: Sequence[Utterance], config: TuningConfig) -> JointSpansLearner:
    """To the end, whatever the steps."""
    steps = tuning(learner, support, config)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value


def tuning(
    learner: JointSpansLearner, support: Sequence[Utterance], config: TuningConfig
) -> Generator[TuningStep, None, JointSpansLearner]:
    """Yields each step, returns the tuned learner. The same support and seed give the same weights."""
    copy = learner.twin()
    network = copy.network
    encoder = [weight for name, weight in network.named_parameters() if name.startswith("words.")]
    new = [weight for name, weight in network.named_parameters() if not name.startswith("words.")]
    groups = [(encoder, config.learning_rate), (new, config.learning_rate * config.new_weights_rate)]
    optimiser = torch.optim.AdamW([{"params": weights, "lr": rate} for weights, rate in groups], weight_decay=0.0)
    for step in range(config.steps):
        for group, (_, rate) in zip(optimiser.param_groups, groups, strict=True):
            group["lr"] = rate * (config.steps - step) / config.steps
        batch = drawn(support, config.batch, np.random.default_rng([config.seed, step]))
        with torch.random.fork_rng(devices=[]):  # whoever else draws numbers is not disturbed
            torch.manual_seed(int(np.random.SeedSequence([config.seed, step]).generate_state(1)[0]))
            loss = copy.support_loss(batch).total
        if not bool(torch.isfinite(loss)):
            raise TrainingError(f"tuning step {step + 1}: the loss is {loss.item()}; a smaller learning rate may help")
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        yield TuningStep(step + 1, config.steps, loss.item())
    copy.forget()
    return copy


def drawn(support: Sequence[Utterance], most: int, rng: np.random.Generator) -> list[Utterance]:
    """All of a small support; of a large one some examples of as many intents as fit, two or more of each."""
    if len(support) <= most:
        return list(support)
    by_intent: defaultdict[str, list[int]] = defaultdict(list)
    for number, utterance in enumerate(support):
        by_intent[utterance.intent].append(number)
    each = max(2, most // len(by_intent))
    chosen: list[int] = []
    names = sorted(by_intent)
    for place in rng.permutation(len(names)):
        taken = rng.permutation(by_intent[names[place]])[:each].tolist()
        if len(chosen) + len(taken) > most:
            break
        chosen += taken
    return [support[number] for number in sorted(chosen)]
