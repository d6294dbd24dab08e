"""Runs of joint_spans: several corpora, balanced episodes, no dev intents, and what may be changed after training."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from handful.data.corpora import load_corpus
from handful.episodes.sampler import EpisodeSampler
from handful.errors import ConfigError
from handful.learners.explicit_joint import ExplicitJointConfig
from handful.learners.joint_spans import JointSpansConfig, JointSpansLearner
from handful.learners.learner import Learner
from handful.training.checkpoint import About, read_about
from handful.training.config import RunConfig
from handful.training.events import DevScored, Finished, Prepared, StepDone
from handful.training.loop import Trainer
from handful.training.start import changed_settings, load_learner
from handful.types import Prediction

Config = Callable[..., RunConfig]
Start = Callable[..., Trainer]
Tensors = dict[str, torch.Tensor]


@pytest.fixture
def spans(tiny_config: Config) -> Config:
    """Settings of a run on two corpora that takes a second."""

    def made(**changes: Any) -> RunConfig:
        values: dict[str, Any] = {
            "data": ["snips", "atis"],
            "train_episodes": {"kind": "balanced", "most_classes": 4, "most_shots": 3},
            "learner": {"name": "joint_spans", "width": 8},
        }
        return tiny_config(**{**values, **changes})

    return made


def ended(folder: Path) -> tuple[Any, ...]:
    """The last weights and moments and the kept weights, by their sums, and the log without its times."""
    state, about = json.loads((folder / "state.json").read_text()), read_about(folder / "checkpoint")
    log = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    for event in log:
        event.pop("seconds")
    return state["weights_sha256"], state["optimiser_sha256"], about.weights_sha256, about.step, log


def last_weights(folder: Path) -> Tensors:
    return load_file(folder / "state" / json.loads((folder / "state.json").read_text())["weights"])


def kept_weights(folder: Path) -> Path:
    return folder / "checkpoint" / read_about(folder / "checkpoint").weights


def loaded(folder: Path, **options: Any) -> tuple[JointSpansLearner, About]:
    learner, about = load_learner(folder, **options)
    assert isinstance(learner, JointSpansLearner)
    return learner, about


def predictions(learner: Learner, data: Path) -> list[Prediction]:
    episode = EpisodeSampler(load_corpus("atis", data).split("test"), u_max=20, seed=0).episode(0)
    return learner.adapt(episode.support).predict([utterance.sentence for utterance in episode.query])


def test_two_corpora_are_trained_on_in_balanced_episodes(tmp_path: Path, spans: Config, start: Start, tiny_data: Path):
    config = spans(epochs=4, episodes_per_epoch=20)
    trainer = start(config, tmp_path / "run")
    episodes = [trainer._episodes.episode(number) for number in range(40)]
    intents = {intent for episode in episodes for intent in episode.intents}
    trained_on = [{u.intent for u in load_corpus(name, tiny_data).split("train")} for name in ("snips", "atis")]
    assert intents <= trained_on[0] | trained_on[1]
    assert all(intents & own for own in trained_on)
    events = list(trainer.train())
    steps = [event for event in events if isinstance(event, StepDone)]
    scored = [event for event in events if isinstance(event, DevScored)]
    assert sum(event.loss for event in steps[-20:]) < 0.7 * sum(event.loss for event in steps[:20])
    assert all(set(event.parts) == {"intent", "slots"} for event in steps)
    assert [event.step for event in scored] == [20, 40, 60, 80]
    learner, about = loaded(tmp_path / "run")
    assert about.config.learner == learner.config == JointSpansConfig(width=8)
    assert about.step == max(scored, key=lambda event: event.chosen_by).step
    assert about.data_version == "+".join(
        corpus.digest(split)
        for corpus, splits in (
            (load_corpus("snips", tiny_data), ("train",)),
            (load_corpus("atis", tiny_data), ("train", "dev")),
        )
        for split in splits
    )
    again, _ = loaded(tmp_path / "run" / "checkpoint")
    assert predictions(again, tiny_data) == predictions(learner, tiny_data)


@pytest.mark.parametrize("stopped_after", [1, 4, 5, 9])
def test_a_run_that_is_stopped_and_resumed_ends_the_same(
    stopped_after: int, tmp_path: Path, spans: Config, start: Start
):
    """Stopped between two events with nothing saved on the way out, as a kill would."""
    config = spans(learner={"name": "joint_spans", "width": 8, "dropout": 0.2})
    list(start(config, tmp_path / "whole").train())
    events = start(config, tmp_path / "cut").train()
    seen = 0
    while seen < stopped_after:
        seen += not isinstance(next(events), Prepared)
    events.close()
    list(start(config, tmp_path / "cut", resume=True).train())
    assert ended(tmp_path / "cut") == ended(tmp_path / "whole")


def test_without_dev_episodes_the_last_weights_are_kept(tmp_path: Path, spans: Config, start: Start, tiny_data: Path):
    config = spans(train_splits=["train", "dev"], dev={"episodes": 0})
    trainer = start(config, tmp_path / "whole")
    intents = {intent for number in range(60) for intent in trainer._episodes.episode(number).intents}
    assert intents & {u.intent for u in load_corpus("atis", tiny_data).split("dev")}
    events = list(trainer.train())
    assert not [event for event in events if isinstance(event, DevScored)]
    assert events[-1] == Finished(12, 12, "planned", events[-1].seconds)  # pyright: ignore
    _, about = loaded(tmp_path / "whole")
    assert (about.step, about.dev) == (12, {})
    kept, last = load_file(kept_weights(tmp_path / "whole")), last_weights(tmp_path / "whole")
    assert all(torch.equal(weight, last[name]) for name, weight in kept.items())

    # Saved and stopped after each step in turn: nothing of the run depends on what scores would have said.
    for sitting in range(14):
        trainer = start(config, tmp_path / "cut", resume=sitting > 0)
        event = next(event for event in trainer.train() if not isinstance(event, Prepared))
        trainer.save()
        if isinstance(event, Finished):
            break
    assert ended(tmp_path / "cut") == ended(tmp_path / "whole")


def test_every_epoch_leaves_a_checkpoint_where_nothing_is_scored(tmp_path: Path, spans: Config, start: Start):
    events = start(spans(dev={"episodes": 0}), tmp_path / "run").train()
    found = []
    for event in events:
        if isinstance(event, StepDone) and (tmp_path / "run" / "checkpoint" / "checkpoint.json").exists():
            found.append(read_about(tmp_path / "run" / "checkpoint").step)
    assert found == [4] * 4 + [8] * 4


def test_the_last_epoch_is_kept_where_the_settings_say_so(tmp_path: Path, spans: Config, start: Start):
    """A rate of next to nothing: no epoch is better than the first, and with `last` that ends nothing."""
    kept = {}
    for keep in ("best", "last"):
        config = spans(epochs=4, dev={"episodes": 1, "patience": 2, "keep": keep}, optimiser={"learning_rate": 1e-12})
        events = list(start(config, tmp_path / keep).train())
        assert isinstance(events[-1], Finished)
        scored = [event.best for event in events if isinstance(event, DevScored)]
        kept[keep] = (scored, events[-1].step, events[-1].best_step, events[-1].reason, loaded(tmp_path / keep)[1].step)
    assert kept == {
        "best": ([True, False, False], 12, 4, "no better", 4),
        "last": ([True, True, True, True], 16, 16, "planned", 16),
    }


def test_half_precision_is_for_files(tmp_path: Path, spans: Config, start: Start, tiny_data: Path):
    """The checkpoint is half as large and says nearly the same; the run itself goes on in single precision."""
    for precision in ("float32", "float16"):
        config = spans(epochs=1, dev={"episodes": 0}, checkpoint_precision=precision)
        list(start(config, tmp_path / precision).train())
    single, half = (kept_weights(tmp_path / precision) for precision in ("float32", "float16"))
    numbers = {name: weight.numel() for name, weight in load_file(single).items()}
    headers = [file.stat().st_size - size * sum(numbers.values()) for file, size in ((single, 4), (half, 2))]
    assert headers[0] == pytest.approx(headers[1], abs=400), "names and shapes are all that is left"
    assert {weight.dtype for weight in load_file(half).values()} == {torch.float16}
    whole, halved = (last_weights(tmp_path / precision) for precision in ("float32", "float16"))
    assert all(torch.equal(weight, halved[name]) for name, weight in whole.items())
    exact, near = (loaded(tmp_path / precision)[0] for precision in ("float32", "float16"))
    weights = dict(near.network.named_parameters())
    assert {weight.dtype for weight in weights.values()} == {torch.float32}
    assert all(torch.equal(weights[name], weight.half().float()) for name, weight in whole.items())
    for one, other in zip(predictions(exact, tiny_data), predictions(near, tiny_data), strict=True):
        assert one.confidence == pytest.approx(other.confidence, abs=0.02)


def test_a_share_of_the_encoders_own_weights_is_mixed_in_and_the_rest_settles(
    tmp_path: Path, spans: Config, start: Start
):
    """In a run that is stopped and resumed, too: what the weights were before is known again."""
    list(start(spans(dev={"episodes": 0}), tmp_path / "plain").train())
    plain = last_weights(tmp_path / "plain")
    config = spans(dev={"episodes": 0}, kept_encoder=0.25, settling_epochs=1)
    trainer = start(config, tmp_path / "run")
    own = {name: weight.detach().clone() for name, weight in trainer._learner.network.named_parameters()}
    events = trainer.train()
    for _ in range(6):  # beyond the first epoch
        next(events)
    events.close()
    list(start(config, tmp_path / "run", resume=True).train())
    kept = load_file(kept_weights(tmp_path / "run"))
    for name, weight in plain.items():
        if name.startswith("words."):
            assert kept[name] == pytest.approx(0.75 * weight + 0.25 * own[name], abs=1e-6), name
    assert not torch.equal(kept["views.weight"], plain["views.weight"]), "settling trains the maps"
    list(start(config, tmp_path / "at once").train())
    at_once = load_file(kept_weights(tmp_path / "at once"))
    assert all(torch.equal(weight, kept[name]) for name, weight in at_once.items())


def test_what_no_encoder_brought_learns_faster(tmp_path: Path, spans: Config, start: Start):
    """Adam's first step moves a weight by its rate, whatever the gradient."""
    optimiser = {"learning_rate": 1e-4, "new_weights_rate": 6, "warmup_steps": 0, "weight_decay": 0}
    config = spans(epochs=1, episodes_per_epoch=1, optimiser=optimiser, dev={"episodes": 0})
    trainer = start(config, tmp_path / "run")
    before = {name: weight.detach().clone() for name, weight in trainer._learner.network.named_parameters()}
    list(trainer.train())
    after = last_weights(tmp_path / "run")
    farthest = {name: float((after[name] - weight).abs().max()) for name, weight in before.items()}
    for name, moved in farthest.items():
        assert moved <= 1.01 * (1e-4 if name.startswith("words.") else 6e-4), name
    assert farthest["views.weight"] == pytest.approx(6e-4, rel=0.01)
    assert farthest["words.layers.0.output.dense.weight"] == pytest.approx(1e-4, rel=0.01)


# -- settings of prediction --------------------------------------------------------------------------------------------


def test_a_trained_run_is_given_settings_of_prediction_anew(
    tmp_path: Path, spans: Config, start: Start, tiny_data: Path
):
    list(start(spans(epochs=1), tmp_path / "run").train())
    plain, about = loaded(tmp_path / "run")
    changed, same = loaded(tmp_path / "run", changes={"tuning.steps": 2, "tuning.learning_rate": 0.01})
    assert about == same, "what was trained is what it was"
    assert (plain.config.tuning.steps, changed.config.tuning.steps) == (0, 2)
    assert changed.config.width == plain.config.width
    assert predictions(changed, tiny_data) != predictions(plain, tiny_data)
    with pytest.raises(ConfigError, match="and nothing else without training it anew"):
        load_learner(tmp_path / "run", changes={"width": 16})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"width": 64},
            "--set width: a trained joint_spans can be given 'descriptions', 'evidence', 'fitting', 'slot_repeats', ",
        ),
        ({"without": ["names"]}, "--set without: a trained joint_spans can be given"),
        ({"tunin.steps": 1}, "--set tunin.steps: a trained joint_spans can be given"),
        ({"tuning.steps": -1}, r"--set: tuning\.steps: input should be greater than or equal to 0, found -1"),
        ({"tuning.step": 1}, r"--set: there is no setting 'tuning\.step'"),
        ({"tuning": 3}, "--set: tuning: found 3, expected a group of settings"),
        ({"evidence": "much", "tuning.steps": "few"}, "--set: evidence: .*; --set: tuning.steps: "),
    ],
)
def test_what_needs_training_or_is_no_setting_is_told(changes: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        changed_settings(JointSpansConfig(), changes)


def test_other_settings_of_prediction_stay_as_they_were():
    before = JointSpansConfig(evidence=0.2, descriptions={"city": "a town"}, width=16)
    after = changed_settings(before, {"tuning.steps": 5, "tuning.batch": 8})
    assert after == before.model_copy(update={"tuning": before.tuning.model_copy(update={"steps": 5, "batch": 8})})
    assert changed_settings(before, {}) == before
    decoded = changed_settings(ExplicitJointConfig(window=1), {"decoding": "independent"})
    assert decoded == ExplicitJointConfig(window=1, decoding="independent")
    with pytest.raises(ConfigError, match="a trained explicit_joint can be given"):
        changed_settings(ExplicitJointConfig(), {"tuning.steps": 1})
