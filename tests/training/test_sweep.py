from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from handful.errors import DataError, TrainingError
from handful.learners.explicit_joint import ExplicitJointConfig
from handful.training.checkpoint import About, versions
from handful.training.config import RunConfig, load_config
from handful.training.events import Event, StepDone
from handful.training.run import RunFolder
from handful.training.scoring import METRICS
from handful.training.start import prepare_run
from handful.training.sweep import (
    Engine,
    RunDone,
    RunFailed,
    RunGoesOn,
    StageBegun,
    StageDone,
    SweepEvent,
    Trained,
    load_plan,
    one_after_another,
    sweep,
)

Plan = Callable[..., Path]
Start = Callable[[RunConfig, RunFolder], Iterator[Event]]


@pytest.fixture
def plan(tmp_path: Path, tiny_config: Callable[..., RunConfig]) -> Plan:
    """A plan's file, beside a base of runs that take half a second."""
    base = tiny_config(epochs=1, episodes_per_epoch=2).written()
    (tmp_path / "base.yml").write_text(yaml.safe_dump(base))

    def written(*stages: object, **more: Any) -> Path:
        path = tmp_path / "plan.yml"
        path.write_text(yaml.safe_dump({"base": "base.yml", **more, "stages": list(stages)}, sort_keys=False))
        return path

    return written


@pytest.fixture
def start(tiny_data: Path) -> Start:
    def started(config: RunConfig, run: RunFolder) -> Iterator[Event]:
        resume = (run.folder / "config.json").exists()
        return iter(prepare_run(config, run, resume=resume, data_dir=tiny_data).train())

    return started


@pytest.fixture
def here(start: Start) -> Engine:
    return one_after_another(start)


def learner_of(config: RunConfig) -> ExplicitJointConfig:
    assert isinstance(config.learner, ExplicitJointConfig)
    return config.learner


def searched(path: Path, engine: Engine) -> list[SweepEvent]:
    return list(sweep(*load_plan(path), path.parent / "runs", engine))


def scored(score: Callable[[RunConfig], float], asked: list[RunConfig]) -> Engine:
    """An engine that trains nothing: it notes what it is asked for, and yields the last first."""

    def train(configs: Sequence[RunConfig], folder: Path) -> Iterator[Trained]:
        asked.extend(configs)
        for config in reversed(configs):
            dev = dict.fromkeys(METRICS, score(config))
            about = About(
                format=1, config=config, encoder="", weights="", weights_sha256="", step=1, dev=dev,
                train_seconds=0, data_version="", versions=versions(),
            )  # fmt: skip
            yield Trained(config, folder / config.digest(), about)

    return train


def test_stages_run_in_order_and_each_stands_on_the_best_before(plan: Plan, here: Engine, tmp_path: Path):
    path = plan({"learner.window": [0, 1]}, {"optimiser.learning_rate": [0.001, 0.05]}, set={"dev.episodes": 1})
    events = searched(path, here)
    shape = [type(event) for event in events if not isinstance(event, RunGoesOn)]
    assert shape == [StageBegun, RunDone, RunDone, StageDone] * 2
    begun = [event for event in events if isinstance(event, StageBegun)]
    assert [(event.number, event.runs) for event in begun] == [(1, 2), (2, 2)]
    runs = [event for event in events if isinstance(event, RunDone)]
    assert [event.values for event in runs[:2]] == [{"learner.window": 0}, {"learner.window": 1}]
    stages = [event for event in events if isinstance(event, StageDone)]
    for number, stage in enumerate(stages):
        best = max(runs[2 * number : 2 * number + 2], key=lambda event: event.trained.score)
        assert (stage.best, stage.score) == (best.values, best.trained.score)
    base = load_config(tmp_path / "base.yml", ["dev.episodes=1"])
    for run in runs[2:]:
        expected = base.learner.model_copy(update={"window": stages[0].best["learner.window"]})
        assert run.trained.config.learner == expected
        assert run.trained.config.dev.episodes == 1
    # A folder is named by its settings, and holds the run that was told of.
    assert {folder.name for folder in (tmp_path / "runs").iterdir()} == {run.trained.config.digest() for run in runs}
    for run in runs:
        assert run.trained.folder == tmp_path / "runs" / run.trained.config.digest()
        kept = RunConfig.model_validate_json((run.trained.folder / "config.json").read_text())
        assert kept == run.trained.config == run.trained.about.config


def test_a_sweep_that_is_stopped_trains_nothing_twice(plan: Plan, here: Engine, tmp_path: Path):
    path = plan({"learner.window": [0, 1, 2]}, set={"epochs": 2})
    events = sweep(*load_plan(path), tmp_path / "runs", here)
    steps = []
    for event in events:
        if isinstance(event, RunGoesOn) and isinstance(event.event, StepDone):
            steps.append((event.config.digest(), event.event.step))
        if len(steps) == 7:  # one run is complete, the second is in its second epoch
            break
    events.close()
    resumed = searched(path, here)
    steps += [
        (event.config.digest(), event.event.step)
        for event in resumed
        if isinstance(event, RunGoesOn) and isinstance(event.event, StepDone)
    ]
    assert len(steps) == len(set(steps)) + 1, "only the step after the last saved state is taken again"
    assert len(set(steps)) == 3 * 4
    again = searched(path, here)
    assert again == [event for event in resumed if not isinstance(event, RunGoesOn)]


def test_a_sweep_shares_runs_with_others_and_between_stages(plan: Plan, here: Engine):
    searched(plan({"learner.window": [0, 1]}), here)
    default = ExplicitJointConfig().slot_weight
    events = searched(plan({"learner.window": [1, 1.0]}, {"learner.slot_weight": [default]}), here)
    assert not [event for event in events if isinstance(event, RunGoesOn)]
    # 1 and 1.0 are one setting, and stage two changes nothing.
    assert [event.runs for event in events if isinstance(event, StageBegun)] == [1, 1]


def test_a_stage_tries_every_combination_and_ties_go_to_the_first(plan: Plan):
    asked: list[RunConfig] = []
    path = plan({"learner.window": [2, 1], "learner.direction": ["both", "slot-to-intent"]}, {"epochs": [3, 2]})
    events = searched(path, scored(lambda _: 50.0, asked))
    found = [(learner.window, learner.direction) for learner in map(learner_of, asked[:4])]
    assert found == [(2, "both"), (2, "slot-to-intent"), (1, "both"), (1, "slot-to-intent")]
    best = [event.best for event in events if isinstance(event, StageDone)]
    assert best == [{"learner.window": 2, "learner.direction": "both"}, {"epochs": 3}]


def test_the_best_is_carried_whatever_its_place(plan: Plan):
    asked: list[RunConfig] = []
    path = plan({"learner.window": [0, 1, 2]}, {"learner.slot_weight": [0.1, 0.2]}, {"epochs": [1, 2]})
    searched(path, scored(lambda config: learner_of(config).window % 2 + learner_of(config).slot_weight, asked))
    found = [(learner_of(config).window, learner_of(config).slot_weight, config.epochs) for config in asked]
    assert [values[:2] for values in found[3:5]] == [(1, 0.1), (1, 0.2)]
    assert found[5:] == [(1, 0.2, 1), (1, 0.2, 2)]


def test_the_score_is_what_the_run_chooses_by(plan: Plan):
    path = plan({"learner.window": [0, 1]}, set={"dev.choose_by": "slot_f1_strict"})
    events = searched(path, scored(lambda config: learner_of(config).window * 10.0, []))
    assert events[-1] == StageDone(1, {"learner.window": 1}, 10.0)


def test_a_later_stage_leaves_the_values_of_an_earlier_one_alone(plan: Plan):
    asked: list[RunConfig] = []
    path = plan({"encoder": [{"name": "a"}, {"kind": "glove"}]}, {"encoder.frozen_layers": [3, 4]})
    searched(path, scored(lambda config: 1.0 if config.encoder.kind == "transformer" else 0.0, asked))
    encoders = [config.encoder.model_dump(exclude={"kind"}) for config in asked]
    first = {"name": "a", "frozen_layers": None}
    assert encoders == [first, {"file": None}, first | {"frozen_layers": 3}, first | {"frozen_layers": 4}]


def test_defaults_of_the_base_are_not_in_the_way_of_another_encoder(plan: Plan, tmp_path: Path):
    (tmp_path / "base.yml").write_text("data: atis\n")
    asked: list[RunConfig] = []
    searched(plan({"encoder.kind": ["transformer", "glove"]}), scored(lambda _: 1.0, asked))
    assert [config.encoder.kind for config in asked] == ["transformer", "glove"]


@pytest.mark.parametrize(
    ("stages", "more", "told"),
    [
        ([{"learner.window": [0]}, {"learner.windw": [1]}], {}, ":5: .*there is no setting 'learner.windw'"),
        ([{"learner.window": [0, -1]}], {}, ":3: .*learner.window: input should be greater than or equal to 0"),
        ([{"learner.window": [0]}], {"set": {"epoch": 3}}, "there is no setting 'epoch'"),
        ([{"learner.window": []}], {}, ":3: found a stage without values"),
        ([{"learner.window": [1]}, {}], {}, ":5: found a stage without values"),
        ([{"learner.window": 1}], {}, ":3: stages.0.learner.window: found 1, expected a list of values"),
        ([{"learner.window": "abc"}], {}, ":3: stages.0.learner.window: found 'abc', expected a list of"),
        (["learner.window"], {}, ":3: stages.0: input should be a valid dictionary"),
        ([], {}, "stages: tuple should have at least 1 item"),
        ([{"epochs.more": [1]}], {}, ":3: cannot set epochs.more: epochs is 1, not a group of settings"),
        ([{"learner.window": [1]}], {"base": "nowhere.yml"}, "nowhere.yml: there is no such file"),
        ([{"learner.window": [1]}], {"stage": 3}, ":2: there is no setting 'stage'"),
        # Each value alone is well; together they are not.
        ([{"episodes_per_epoch": [6], "optimiser.episodes_per_step": [2, 4]}], {}, ":3: .*expected a multiple of"),
        ([{"episodes_per_epoch": [3]}, {"optimiser.episodes_per_step": [2]}], {}, ":5: .*expected a multiple of"),
    ],
)
def test_what_is_wrong_with_a_plan_is_told_before_any_run(stages: list[Any], more: Any, told: str, plan: Plan):
    with pytest.raises(DataError, match=told):
        load_plan(plan(*stages, **more))


def failing_at(windows: set[int], start: Callable[[RunConfig, RunFolder], Iterator[Event]]) -> Engine:
    """The engine of one machine, where runs with these windows end in their second step."""

    def starts(config: RunConfig, run: RunFolder) -> Iterator[Event]:
        for event in start(config, run):
            if isinstance(event, StepDone) and event.step == 2 and learner_of(config).window in windows:
                raise TrainingError("train episode 1 of tiny: the loss is nan")
            yield event

    return one_after_another(starts)


def test_a_run_that_fails_is_out_and_the_others_go_on(plan: Plan, start: Start, here: Engine, tmp_path: Path):
    path = plan({"learner.window": [0, 1, 2]}, {"learner.slot_weight": [0.5]})
    events = searched(path, failing_at({0}, start))
    failed = [event for event in events if isinstance(event, RunFailed)]
    assert [(event.stage, event.values) for event in failed] == [(1, {"learner.window": 0})]
    assert failed[0].record()["failed"] == "train episode 1 of tiny: the loss is nan"
    assert [event.values for event in events if isinstance(event, RunDone)][:2] == [
        {"learner.window": 1},
        {"learner.window": 2},
    ]
    stages = [event for event in events if isinstance(event, StageDone)]
    assert stages[0].best["learner.window"] in {1, 2}
    assert len(stages) == 2
    # What failed is tried again by the next sweep, and nothing else is.
    again = searched(path, here)
    went_on = [learner_of(event.config) for event in again if isinstance(event, RunGoesOn)]
    assert {learner.window for learner in went_on if learner.slot_weight != 0.5} == {0}


def test_a_stage_whose_runs_all_fail_ends_the_sweep(plan: Plan, start: Start):
    with pytest.raises(TrainingError, match="stage 1: none of its 2 runs came to an end"):
        searched(plan({"learner.window": [0, 1]}), failing_at({0, 1}, start))
