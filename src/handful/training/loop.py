"""The training loop: episodes in, events out. It knows of a learner's parameters and of its loss, and no more.

Nothing random has a state: episodes are named by (seed, number) and dropout is seeded by the episode, so a run that
is stopped anywhere and resumed, or split over processes, takes the very same steps.
"""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Protocol

import numpy as np
import torch
from torch import nn

from handful.episodes.balanced import BalancedSampler
from handful.episodes.domain_episodes import DomainSampler
from handful.episodes.sampler import EpisodeSampler
from handful.errors import ConfigError, TrainingError
from handful.learners.learner import EpisodeLoss, TrainedLearner
from handful.training.checkpoint import save_checkpoint, trained_weights
from handful.training.config import BalancedEpisodes, DomainEpisodes, OptimiserConfig, PaperEpisodes, RunConfig
from handful.training.evaluate import evaluate_episode
from handful.training.events import DevScored, Event, Finished, Prepared, StepDone
from handful.training.ranks import Ranks
from handful.training.run import Ground, Progress, RunFolder
from handful.training.scoring import METRICS, EpisodeScore
from handful.training.sets import TrainingSets
from handful.types import Episode

ENCODER = "words."  # before the names of the encoder's own weights (encoders/features.py)


class TrainEpisodes(Protocol):
    def episode(self, index: int) -> Episode: ...


class Turns:
    """Samplers that take turns: the first episode of each, then the second …"""

    def __init__(self, samplers: Sequence[TrainEpisodes]) -> None:
        self._samplers = samplers

    def episode(self, index: int) -> Episode:
        turn, which = divmod(index, len(self._samplers))
        return self._samplers[which].episode(turn)


class Trainer:
    def __init__(
        self,
        config: RunConfig,
        learner: TrainedLearner,
        sets: TrainingSets,
        run: RunFolder,
        *,
        data_version: str,
        ranks: Ranks | None = None,
    ) -> None:
        self._config, self._learner, self._sets, self._run = config, learner, sets, run
        self._ground, self._ranks = Ground(encoder=learner.encoder_name, data=data_version), ranks or Ranks()
        if config.optimiser.episodes_per_step % self._ranks.count:
            raise ConfigError(
                f"optimiser.episodes_per_step is {config.optimiser.episodes_per_step}, expected a multiple of the "
                f"{self._ranks.count} processes"
            )
        self._episodes = train_sampler(config, sets)
        drawn = self._episodes.utterances if isinstance(self._episodes, DomainSampler) else ()
        self._utterances = (*sets.utterances, *drawn)
        self._dev = Turns(
            [
                EpisodeSampler(dev, u_max=config.dev.u_max, seed=config.dev.episode_seed, query_cap=config.query_cap)
                for dev in sets.dev
            ]
        )
        self._optimiser = torch.optim.AdamW(parameter_groups(learner.network, config.optimiser))
        self._progress = Progress()
        # The encoder's own weights: nothing has been trained or restored yet.
        self._encoder = {
            name: weight.clone()
            for name, weight in (trained_weights(learner.network).items() if config.kept_encoder else ())
            if name.startswith(ENCODER)
        }

    def train(self) -> Generator[Event, None, None]:
        """Trains to the end, from wherever the run's folder is. Closing the generator between events loses nothing
        that is saved; `save` keeps the rest."""
        with self._run.held() if self._ranks.first else nullcontext():
            self._ranks.wait()  # for the first to hold the folder
            yield from self._train()

    def _train(self) -> Iterator[Event]:
        if self._run.delivered(self._ground):
            return
        self._progress = self._run.restore(self._learner.network, self._optimiser, self._ground)
        if self._ranks.first:
            self._run.cut_log()
        self._ranks.wait()
        if self._progress.finished is not None:
            return
        if not self._ranks.first:
            self._ranks.wait()  # the first computes what is new; the others find it in the cache
        for sentences in self._learner.prepare(self._utterances):
            yield Prepared(sentences)
        if self._ranks.first:
            self._ranks.wait()
        while True:
            # What is owed is read off the progress: a run may have been saved and stopped after any event.
            epoch_ends = self._progress.step % self._config.steps_per_epoch == 0
            if epoch_ends and self._progress.step > self._progress.scored_step:
                if self._sets.dev:
                    yield self._noted(self._score_dev())
                else:
                    self._keep_last()
            if self._progress.step == self._progress.scored_step > 0:
                if (reason := self._reason_to_stop()) is not None:
                    self._progress = self._progress.model_copy(update={"finished": reason})
                    done = self._progress
                    yield self._noted(Finished(done.step, done.best_step, reason, done.seconds))
                self.save()
                if self._progress.finished is not None:
                    return
            yield self._noted(self._step())

    def save(self) -> None:
        """Everything that is needed to go on from here."""
        if self._ranks.first:
            self._run.save(self._progress, self._learner.network, self._optimiser, self._ground)
        self._ranks.wait()

    def _step(self) -> StepDone:
        """One update: the mean gradient of the step's episodes, clipped."""
        started = time.perf_counter()
        settings, step = self._config.optimiser, self._progress.step
        last = self._config.encoder_steps
        settling = step >= last
        if settling:
            rate = learning_rate(step - last, self._config.steps - last, settings)
        else:
            rate = learning_rate(step, last, settings)
        for group in self._optimiser.param_groups:
            group["lr"] = 0.0 if settling and group["pretrained"] else rate * group["times"]
        self._optimiser.zero_grad()
        numbers = range(step * settings.episodes_per_step, (step + 1) * settings.episodes_per_step)
        losses = [self._backward(number, 1 / len(numbers)) for number in self._ranks.share(numbers)]
        parts = self._mean_parts(losses, len(numbers))
        parameters = list(self._learner.network.parameters())
        self._ranks.add_gradients(parameters)
        norm = float(nn.utils.clip_grad_norm_(parameters, settings.clip))
        if not math.isfinite(norm):
            raise TrainingError(f"{self._named(numbers)}: the gradient is not finite; nothing after it was learnt")
        self._optimiser.step()
        if step + 1 == last:
            self._mix_in_encoder()
        seconds = self._progress.seconds + time.perf_counter() - started
        self._progress = self._progress.model_copy(update={"step": step + 1, "seconds": seconds})
        return StepDone(step + 1, tuple(numbers), parts.pop("loss"), parts, rate, norm, round(seconds, 3))

    def _mix_in_encoder(self) -> None:
        weights = dict(self._learner.network.named_parameters())
        with torch.no_grad():
            for name, own in self._encoder.items():
                weights[name].lerp_(own, self._config.kept_encoder)

    def _backward(self, number: int, weight: float) -> EpisodeLoss:
        torch.manual_seed(dropout_seed(self._config.train_seed, number))
        loss = self._learner.loss(self._episodes.episode(number))
        if not bool(torch.isfinite(loss.total)):
            raise TrainingError(
                f"{self._named([number])}: the loss is {loss.total.item()} ({dict(loss.parts)}); the last saved state "
                "is intact; a smaller optimiser.learning_rate may help"
            )
        (loss.total * weight).backward()
        return loss

    def _named(self, numbers: Sequence[int]) -> str:
        shown = ", ".join(str(number) for number in numbers)
        config = self._config
        return f"train episode {shown} of {config.data_label} (seed {config.episode_seed}, U_max {config.u_max})"

    def _mean_parts(self, losses: Sequence[EpisodeLoss], episodes: int) -> dict[str, float]:
        """Means over the episodes of all ranks, for the log."""
        names = ["loss", *losses[0].parts]
        sums = torch.tensor([[loss.total.item(), *loss.parts.values()] for loss in losses], dtype=torch.float64).sum(0)
        return dict(zip(names, (self._ranks.add(sums) / episodes).tolist(), strict=True))

    def _score_dev(self) -> DevScored:
        started = time.perf_counter()
        settings = self._config.dev
        numbers = range(settings.episodes)
        table = torch.zeros(settings.episodes, len(METRICS), dtype=torch.float64)
        for number in self._ranks.share(numbers):
            score = self._dev_score(number)
            table[number] = torch.tensor([getattr(score, metric) for metric in METRICS])
        means = 100 * self._ranks.add(table).mean(0)
        scores = dict(zip(METRICS, (round(value, 4) for value in means.tolist()), strict=True))
        before, step = self._progress, self._progress.step
        chosen_by = settings.score(scores)
        best = before.best is None or chosen_by > before.best or settings.keep == "last"
        seconds = before.seconds + time.perf_counter() - started
        self._progress = before.model_copy(
            update={
                "best": chosen_by if best else before.best,
                "scored_step": step,
                "best_step": step if best else before.best_step,
                "epochs_without_better": 0 if best else before.epochs_without_better + 1,
                "seconds": seconds,
            }
        )
        if best:
            self._save_checkpoint(scores)
        return DevScored(step // self._config.steps_per_epoch, step, scores, chosen_by, best, round(seconds, 3))

    def _keep_last(self) -> None:
        """Without dev episodes the last weights are the ones to keep."""
        step = self._progress.step
        self._progress = self._progress.model_copy(update={"scored_step": step, "best_step": step})
        self._save_checkpoint({})

    def _save_checkpoint(self, scores: Mapping[str, float]) -> None:
        if not self._ranks.first:
            return
        about = {
            "config": self._config,
            "encoder": self._ground.encoder,
            "step": self._progress.step,
            "dev": scores,
            "train_seconds": round(self._progress.seconds, 1),
            "data_version": self._ground.data,
        }
        save_checkpoint(
            self._run.checkpoint, trained_weights(self._learner.network), about, self._config.checkpoint_precision
        )

    def _dev_score(self, number: int) -> EpisodeScore:
        try:
            return evaluate_episode(self._learner, self._dev.episode(number))
        except TrainingError as error:
            last = self._progress.step * self._config.optimiser.episodes_per_step - 1
            raise TrainingError(f"{self._named([last])}, the last before dev was scored: {error}") from error

    def _reason_to_stop(self) -> str | None:
        if self._progress.step >= self._config.steps:
            return "planned"
        if self._progress.epochs_without_better >= self._config.dev.patience:
            return "no better"
        return None

    def _noted(self, event: Event) -> Event:
        if self._ranks.first:
            self._run.log(event)
        return event


def learning_rate(step: int, steps: int, settings: OptimiserConfig) -> float:
    """Of step number `step`, from 0: up over the warm-up, then down in a straight line to nought after the last."""
    if not 0 <= step < steps:
        raise ValueError(f"step {step} is not one of {steps}")
    warmup = min(settings.warmup_steps, steps)
    if step < warmup:
        return settings.learning_rate * (step + 1) / warmup
    return settings.learning_rate * (steps - step) / max(1, steps - warmup)


def train_sampler(config: RunConfig, sets: TrainingSets) -> TrainEpisodes:
    match config.train_episodes:
        case PaperEpisodes():
            return Turns(
                [
                    EpisodeSampler(train, u_max=config.u_max, seed=config.episode_seed, query_cap=config.query_cap)
                    for train in sets.train
                ]
            )
        case BalancedEpisodes(most_classes=classes, most_shots=shots):
            return BalancedSampler(sets.train, seed=config.episode_seed, most_classes=classes, most_shots=shots)
        case DomainEpisodes() as drawn:
            return DomainSampler(
                sets.domains,
                seed=config.episode_seed,
                most_classes=drawn.most_classes,
                most_shots=drawn.most_shots,
                single=drawn.single,
                mixed=drawn.mixed,
            )


def parameter_groups(network: nn.Module, settings: OptimiserConfig) -> list[dict[str, Any]]:
    """Matrices decay, biases and norms do not, as is AdamW's custom; what no encoder brought may learn faster."""
    found = []
    for times, pretrained in ((1.0, True), (settings.new_weights_rate, False)):
        own = [
            parameter
            for name, parameter in network.named_parameters()
            if parameter.requires_grad and name.startswith(ENCODER) == pretrained
        ]
        for decay, chosen in (
            (settings.weight_decay, [parameter for parameter in own if parameter.ndim >= 2]),
            (0.0, [parameter for parameter in own if parameter.ndim < 2]),
        ):
            rate = settings.learning_rate * times
            group = {"params": chosen, "weight_decay": decay, "lr": rate, "times": times, "pretrained": pretrained}
            found.append(group)
    return found


def dropout_seed(train_seed: int, episode: int) -> int:
    return int(np.random.SeedSequence([train_seed, episode]).generate_state(1)[0])
