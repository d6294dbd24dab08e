from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from handful.errors import ConfigError, TrainingError
from handful.training.checkpoint import read_about
from handful.training.config import OptimiserConfig, RunConfig
from handful.training.events import DevScored, Finished, Prepared, StepDone
from handful.training.loop import Trainer, dropout_seed, learning_rate, parameter_groups
from handful.training.ranks import Ranks
from handful.training.run import RunFolder
from handful.training.start import load_learner, prepare_run

Config = Callable[..., RunConfig]
Start = Callable[..., Trainer]


def ended(folder: Path) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor], list[dict[str, object]]]:
    """The last weights, the best ones, and the log without its times."""
    state = json.loads((folder / "state.json").read_text())
    about = read_about(folder / "checkpoint")
    log = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    for event in log:
        event.pop("seconds")
    last = load_file(folder / "state" / state["weights"])
    return last, load_file(folder / "checkpoint" / about.weights), log


def assert_same(one: Path, other: Path) -> None:
    for mine, its in zip(ended(one)[:2], ended(other)[:2], strict=True):
        assert mine.keys() == its.keys()
        for name, weight in mine.items():
            assert torch.equal(weight, its[name]), name
    assert ended(one)[2] == ended(other)[2]


def test_a_run_trains_scores_and_keeps_its_best_weights(tmp_path: Path, tiny_config: Config, start: Start):
    config = tiny_config()
    events = list(start(config, tmp_path / "run").train())
    steps = [event for event in events if isinstance(event, StepDone)]
    scored = [event for event in events if isinstance(event, DevScored)]
    assert isinstance(events[0], Prepared)
    assert [event.step for event in steps] == list(range(1, 13))
    assert [event.episodes for event in steps] == [(number,) for number in range(12)]
    assert [event.step for event in scored] == [4, 8, 12]
    best = max(scored, key=lambda event: event.chosen_by)
    assert events[-1] == Finished(12, best.step, "planned", events[-1].seconds)  # pyright: ignore
    learner, about = load_learner(tmp_path / "run")
    assert (about.step, about.dev) == (best.step, best.scores)
    weights = ended(tmp_path / "run")[1]
    for name, weight in learner.network.named_parameters():
        assert torch.equal(weight, weights[name])
    assert not any(name.startswith("words.layers.1") for name in weights), "one of two layers is trained"
    logged = [event["event"] for event in ended(tmp_path / "run")[2]]
    assert logged == ["step"] * 4 + ["dev"] + ["step"] * 4 + ["dev"] + ["step"] * 4 + ["dev", "finished"]


def test_training_lowers_the_loss(tmp_path: Path, tiny_config: Config, start: Start):
    config = tiny_config(epochs=6, episodes_per_epoch=15)
    losses = [event.loss for event in start(config, tmp_path / "run").train() if isinstance(event, StepDone)]
    assert sum(losses[-20:]) < 0.7 * sum(losses[:20])


@pytest.mark.parametrize("stopped_after", [0, 1, 4, 5, 6, 9, 14])
def test_a_run_that_is_stopped_anywhere_and_resumed_ends_the_same(
    stopped_after: int, tmp_path: Path, tiny_config: Config, start: Start
):
    """Stopped between two events with nothing saved on the way out, as a kill would."""
    config = tiny_config()
    list(start(config, tmp_path / "whole").train())
    events = start(config, tmp_path / "cut").train()
    seen = 0
    while seen < stopped_after:
        seen += not isinstance(next(events), Prepared)
    events.close()
    list(start(config, tmp_path / "cut", resume=True).train())
    assert_same(tmp_path / "whole", tmp_path / "cut")


@pytest.mark.parametrize("patience", [1, 9])
def test_a_run_that_is_saved_after_any_event_goes_on_from_there(
    patience: int, tmp_path: Path, tiny_config: Config, start: Start
):
    """Saved and stopped after each event in turn: after a step, at an epoch's end, between scores and the stop."""
    config = tiny_config(episodes_per_epoch=2, dev={"episodes": 1, "patience": patience})
    expected = [event for event in start(config, tmp_path / "whole").train() if not isinstance(event, Prepared)]
    sittings, found = 0, []
    while not found or not isinstance(found[-1], Finished):
        trainer = start(config, tmp_path / "cut", resume=sittings > 0)
        event = next(event for event in trainer.train() if not isinstance(event, Prepared))
        found.append(event)
        trainer.save()
        sittings += 1
    assert [type(event) for event in found] == [type(event) for event in expected]
    assert sittings == len(expected)
    assert_same(tmp_path / "whole", tmp_path / "cut")


def test_resuming_a_finished_run_does_nothing(tmp_path: Path, tiny_config: Config, start: Start):
    config = tiny_config(epochs=1)
    list(start(config, tmp_path / "run").train())
    before = ended(tmp_path / "run")
    assert list(start(config, tmp_path / "run", resume=True).train()) == []
    assert ended(tmp_path / "run")[2] == before[2]


def test_a_run_is_never_overwritten_and_never_goes_on_with_other_settings(
    tmp_path: Path, tiny_config: Config, start: Start
):
    list(start(tiny_config(epochs=1), tmp_path / "run").train())
    with pytest.raises(ConfigError, match="there is a run already; --resume"):
        start(tiny_config(epochs=1), tmp_path / "run")
    with pytest.raises(ConfigError, match=r"started with other settings \(epochs, u_max\)"):
        start(tiny_config(epochs=2, u_max=30), tmp_path / "run", resume=True)
    with pytest.raises(ConfigError, match="no run to resume"):
        start(tiny_config(), tmp_path / "nothing", resume=True)
    assert not (tmp_path / "nothing").exists()


def test_a_run_goes_on_only_on_the_ground_that_it_was_started_on(
    tmp_path: Path, tiny_config: Config, start: Start, tiny_bert: Path, tiny_data: Path
):
    """The settings name encoder and data; what lies behind a name may have been replaced since."""
    encoder, data = tmp_path / "encoder", tmp_path / "data"
    shutil.copytree(tiny_bert, encoder)
    shutil.copytree(tiny_data, data)
    config = tiny_config(epochs=1, encoder={"name": str(encoder), "frozen_layers": 1})

    def resumed() -> list[object]:
        return list(prepare_run(config, RunFolder(tmp_path / "run"), resume=True, data_dir=data).train())

    list(prepare_run(config, RunFolder(tmp_path / "run"), data_dir=data).train())
    assert resumed() == []
    weights = load_file(encoder / "model.safetensors")
    save_file({name: weight + 0.5 for name, weight in weights.items()}, encoder / "model.safetensors")
    with pytest.raises(ConfigError, match="was started on other encoder weights than those found here"):
        resumed()
    shutil.copy(tiny_bert / "model.safetensors", encoder / "model.safetensors")
    assert resumed() == []
    words = data / "atis" / "train" / "seq.in"
    words.write_text(words.read_text().replace("rome", "boston"))
    with pytest.raises(ConfigError, match="was started on other data than those found here"):
        resumed()


@dataclass(frozen=True, slots=True)
class Alone(Ranks):
    """A rank of two that waits for nobody."""

    def wait(self) -> None:
        pass


def test_only_the_first_rank_touches_the_log(tmp_path: Path, tiny_config: Config, start: Start):
    config = tiny_config(optimiser={"episodes_per_step": 2})
    first = start(config, tmp_path / "run").train()
    while not isinstance(next(first), StepDone):
        pass
    before = (tmp_path / "run" / "events.jsonl").read_text()
    assert before
    assert isinstance(next(start(config, tmp_path / "run", resume=True, ranks=Alone(1, 2)).train()), Prepared)
    assert (tmp_path / "run" / "events.jsonl").read_text() == before


def test_steps_are_those_of_plain_adamw(tmp_path: Path, tiny_config: Config, start: Start):
    """The mean gradient of a step's episodes, scaled down to the clip, at the scheduled rate."""
    settings = {"episodes_per_step": 2, "warmup_steps": 2, "learning_rate": 0.01, "clip": 0.5, "weight_decay": 0.3}
    config = tiny_config(epochs=1, episodes_per_epoch=6, optimiser=settings)
    trainer = start(config, tmp_path / "run")
    done = [event for event in trainer.train() if isinstance(event, StepDone)]
    assert min(event.gradient_norm for event in done) > 0.5, "every step is clipped"

    other = start(config, tmp_path / "other")
    learner, episodes = other._learner, other._episodes
    weights = {name: weight for name, weight in learner.network.named_parameters() if weight.requires_grad}
    means = {name: torch.zeros_like(weight) for name, weight in weights.items()}
    squares = {name: torch.zeros_like(weight) for name, weight in weights.items()}
    for step, rate in enumerate([0.005, 0.01, 0.01]):  # of 3 steps 2 warm up; then the line down begins
        gradients = {name: torch.zeros_like(weight) for name, weight in weights.items()}
        for number in (2 * step, 2 * step + 1):
            torch.manual_seed(dropout_seed(0, number))
            total = learner.loss(episodes.episode(number)).total
            for name, gradient in zip(weights, torch.autograd.grad(total, list(weights.values())), strict=True):
                gradients[name] += gradient / 2
        norm = math.sqrt(sum(float((gradient**2).sum()) for gradient in gradients.values()))
        assert done[step].gradient_norm == pytest.approx(norm, rel=1e-4)
        assert done[step].learning_rate == pytest.approx(rate)
        with torch.no_grad():
            for name, weight in weights.items():
                gradient = gradients[name] * 0.5 / norm
                weight -= rate * (0.3 if weight.ndim >= 2 else 0.0) * weight
                means[name] = 0.9 * means[name] + 0.1 * gradient
                squares[name] = 0.999 * squares[name] + 0.001 * gradient**2
                mean, square = means[name] / (1 - 0.9 ** (step + 1)), squares[name] / (1 - 0.999 ** (step + 1))
                weight -= rate * mean / (square.sqrt() + 1e-8)
    for name, weight in trainer._learner.network.named_parameters():
        if weight.requires_grad:
            assert torch.allclose(weight, weights[name], atol=2e-4), name


def test_two_processes_never_train_in_one_folder(tmp_path: Path, tiny_config: Config, start: Start):
    first = start(tiny_config(), tmp_path / "run").train()
    while not isinstance(next(first), StepDone):
        pass
    second = start(tiny_config(), tmp_path / "run", resume=True).train()
    with pytest.raises(ConfigError, match="another process is training in this folder"):
        next(second)
    first.close()
    assert isinstance(next(start(tiny_config(), tmp_path / "run", resume=True).train()), Prepared)


def test_early_stopping(tmp_path: Path, tiny_config: Config, start: Start):
    config = tiny_config(epochs=9, dev={"episodes": 2, "patience": 2}, optimiser={"learning_rate": 1e-12})
    events = list(start(config, tmp_path / "run").train())
    assert isinstance(events[-1], Finished)
    assert (events[-1].step, events[-1].best_step, events[-1].reason) == (12, 4, "no better")


def test_a_loss_that_is_not_finite_names_its_episode(
    tmp_path: Path, tiny_config: Config, start: Start, monkeypatch: pytest.MonkeyPatch
):
    """Weights that have blown up, as a rate far too high makes them."""
    trainer = start(tiny_config(), tmp_path / "run")
    events = trainer.train()
    while not isinstance(next(events), DevScored):
        pass
    next(events)
    with torch.no_grad():
        next(trainer._learner.network.parameters()).fill_(math.nan)
    with pytest.raises(TrainingError, match=r"train episode 5 of atis \(seed 0, U_max 20\): the loss is nan"):
        next(events)
    assert list(start(tiny_config(), tmp_path / "run", resume=True).train())[-1].reason == "planned"  # pyright: ignore


def test_weights_that_overflow_before_dev_is_scored_name_the_last_episode(
    tmp_path: Path, tiny_config: Config, start: Start
):
    config = tiny_config(optimiser={"learning_rate": 1e30, "warmup_steps": 0}, episodes_per_epoch=1)
    with pytest.raises(TrainingError, match=r"train episode 0 of atis .*the network's output is not finite"):
        list(start(config, tmp_path / "run").train())


def test_a_description_of_no_label_is_told(tmp_path: Path, tiny_config: Config, start: Start):
    with pytest.raises(ConfigError, match=r"'atis' has no intent or slot 'airfar'; did you mean 'airfare'\?"):
        start(tiny_config(learner={"descriptions": {"airfar": "the price of a ticket"}}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_rate_rises_over_the_warm_up_and_falls_to_nought():
    settings = OptimiserConfig(learning_rate=1.0, warmup_steps=4)
    rates = [learning_rate(step, 12, settings) for step in range(12)]
    assert rates[:4] == [0.25, 0.5, 0.75, 1.0]
    assert rates[4:] == pytest.approx([1 - step / 8 for step in range(8)])
    assert learning_rate(0, 3, OptimiserConfig(warmup_steps=100)) > 0
    with pytest.raises(ValueError, match="step 12 is not one of 12"):
        learning_rate(12, 12, settings)


def test_only_matrices_decay_and_what_no_encoder_brought_learns_faster():
    network = torch.nn.ModuleDict({"words": torch.nn.Linear(2, 2), "new": torch.nn.Linear(3, 3)})
    settings = OptimiserConfig(learning_rate=0.1, weight_decay=0.5, new_weights_rate=7)
    found = [
        ([tuple(weight.shape) for weight in group["params"]], group["weight_decay"], group["lr"], group["times"])
        for group in parameter_groups(network, settings)
    ]
    assert found == [
        ([(2, 2)], 0.5, 0.1, 1.0),
        ([(2,)], 0.0, 0.1, 1.0),
        ([(3, 3)], 0.5, pytest.approx(0.7), 7.0),
        ([(3,)], 0.0, pytest.approx(0.7), 7.0),
    ]


def test_every_episode_has_its_own_dropout():
    seeds = {dropout_seed(seed, episode) for seed in range(3) for episode in range(50)}
    assert len(seeds) == 150


def test_other_seeds_make_other_runs(tmp_path: Path, tiny_config: Config, start: Start):
    first = {}
    for name, changes in {"a": {}, "b": {"train_seed": 1}, "c": {"episode_seed": 1}}.items():
        events = start(tiny_config(epochs=1, **changes), tmp_path / name).train()
        first[name] = next(event.loss for event in events if isinstance(event, StepDone))
    assert len(set(first.values())) == 3


def test_a_step_must_be_shared_evenly(tmp_path: Path, tiny_config: Config, start: Start):
    with pytest.raises(ConfigError, match=r"episodes_per_step is 1, expected a multiple of the 2 processes"):
        start(tiny_config(), tmp_path / "run", ranks=Ranks(0, 2))
