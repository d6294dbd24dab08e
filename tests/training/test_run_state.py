"""What a run goes on from: state.json, its tensors, and the log that is cut back to them."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from handful.errors import CheckpointError, ConfigError
from handful.training import run as run_module
from handful.training.config import RunConfig
from handful.training.events import DevScored, Finished, Prepared, StepDone
from handful.training.loop import Trainer

Config = Callable[..., RunConfig]
Start = Callable[..., Trainer]
Tensors = dict[str, torch.Tensor]


def state_of(run: Path) -> dict[str, Any]:
    return json.loads((run / "state.json").read_text())


def rewrite(run: Path, **changes: Any) -> None:
    (run / "state.json").write_text(json.dumps(state_of(run) | changes))


@pytest.fixture
def told(trained: Path, tiny_config: Config, start: Start) -> Callable[[], str]:
    def resumed() -> str:
        log = (trained / "events.jsonl").read_bytes()
        with pytest.raises(CheckpointError) as caught:
            next(start(tiny_config(epochs=1), trained, resume=True).train())
        assert (trained / "events.jsonl").read_bytes() == log, "nothing is cut before all is known to be well"
        assert "\n" not in str(caught.value)
        return str(caught.value).removeprefix(f"{trained}/")

    return resumed


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "state.json: cannot be read: Expecting value"),
        (b'{"format": 1', "state.json: cannot be read: Expecting ',' delimiter"),
        (b"\x80\x04", "state.json: cannot be read: 'utf-8' codec can't decode"),
        (b"[" * 100_000, "state.json: cannot be read: maximum recursion depth exceeded"),
        (b"[1]", "state.json: the file: input should be a valid dictionary"),
        (b"{}", "state.json: format: field required; the file is damaged or not ours"),
        (b'{"format": 2}', "state.json: format 2 is newer than 1, the newest that this version reads; upgrade"),
    ],
)
def test_a_damaged_state_is_told(content: bytes, message: str, trained: Path, told: Callable[[], str]):
    (trained / "state.json").write_bytes(content)
    assert told().startswith(message)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"more": 1}, "state.json: more: extra inputs are not permitted"),
        ({"log_bytes": -1}, "state.json: log_bytes: input should be greater than or equal to 0"),
        ({"progress": {"step": -4}}, "state.json: progress.step: input should be greater than or equal to 0"),
        ({"progress": None}, "state.json: progress: input should be a valid dictionary"),
        ({"weights": "../../outside"}, "state/outside: cannot be read: "),
        ({"optimiser": "../checkpoint/checkpoint.json"}, "state/checkpoint.json: cannot be read: "),
        ({"weights": "a\0b"}, "state/a\0b: cannot be read: "),
        ({"weights_sha256": "0" * 64}, "state/"),
    ],
)
def test_a_state_that_says_nonsense_is_told(
    changes: dict[str, Any], message: str, trained: Path, told: Callable[[], str]
):
    rewrite(trained, **changes)
    assert told().startswith(message)


@pytest.mark.parametrize("part", ["weights", "optimiser"])
def test_damaged_tensors_are_told_and_pickles_never_run(
    part: str, trained: Path, told: Callable[[], str], tmp_path: Path
):
    file, made = trained / "state" / state_of(trained)[part], tmp_path / "made"
    whole = file.read_bytes()
    creates = type("Creates", (), {"__reduce__": lambda self: (os.mkdir, (str(made),))})
    damage = "the sha256 is not the one that was noted for it: the file is damaged or was replaced"
    for content in (whole[:-1], whole[:-1] + bytes([whole[-1] ^ 1]), b"", pickle.dumps(creates())):
        file.write_bytes(content)
        assert told() == f"state/{file.name}: {damage}"
    rewrite(trained, **{f"{part}_sha256": hashlib.sha256(file.read_bytes()).hexdigest()})
    assert "cannot be read: Error while deserializing header" in told()
    assert not made.exists()
    file.unlink()
    assert f"state/{file.name}: cannot be read: " in told()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda name, m: m | {f"exp_avg:{name}": torch.zeros(2)}, "exp_avg:{name} does not belong to this model"),
        (lambda name, m: m | {f"step:{name}": torch.zeros(2)}, "step:{name} does not belong to this model"),
        (lambda _, m: m | {"exp_avg:other": torch.zeros(2)}, "exp_avg:other does not belong to this model"),
        (lambda name, m: {k: v for k, v in m.items() if k != f"exp_avg_sq:{name}"}, "exp_avg_sq:{name} is missing"),
        (lambda name, m: {k: v for k, v in m.items() if k != f"step:{name}"}, "step:{name} is missing"),
    ],
)
def test_moments_of_another_model_are_told(
    change: Callable[[str, Tensors], Tensors], message: str, trained: Path, told: Callable[[], str]
):
    file = trained / "state" / state_of(trained)["optimiser"]
    moments = load_file(file)
    name = next(key for key in sorted(moments) if key.startswith("exp_avg:")).removeprefix("exp_avg:")
    save_file(change(name, moments), file)
    rewrite(trained, optimiser_sha256=hashlib.sha256(file.read_bytes()).hexdigest())
    assert told() == f"state/{file.name}: {message.format(name=name)}"


def test_damaged_settings_are_told(trained: Path, tiny_config: Config, start: Start):
    for content in ("{", "[]", '{"data": "atis", "epoch": 3}', "[" * 100_000):
        (trained / "config.json").write_text(content)
        with pytest.raises(CheckpointError, match=r"config\.json: .*(cannot be read|damaged or not ours)"):
            start(tiny_config(epochs=1), trained, resume=True)


def test_a_crash_before_the_state_is_written_leaves_the_state_before(
    tmp_path: Path, tiny_config: Config, start: Start, monkeypatch: pytest.MonkeyPatch
):
    trainer = start(tiny_config(), tmp_path / "run")
    events = trainer.train()
    while not isinstance(next(events), DevScored):
        pass
    next(events)  # step 5: the first epoch's state is saved

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run_module, "write_text", crash)
        with pytest.raises(KeyboardInterrupt):
            trainer.save()
    events.close()
    assert len(list((tmp_path / "run" / "state").glob("*.safetensors"))) == 4
    resumed = list(start(tiny_config(), tmp_path / "run", resume=True).train())
    assert next(event.step for event in resumed if isinstance(event, StepDone)) == 5
    assert isinstance(resumed[-1], Finished)
    assert len(list((tmp_path / "run" / "state").iterdir())) == 2


def test_what_killed_processes_left_is_removed_by_the_next_save(tmp_path: Path, tiny_config: Config, start: Start):
    run = tmp_path / "run"
    events = start(tiny_config(epochs=1), run).train()
    next(events)
    (run / "state").mkdir()
    (run / "checkpoint").mkdir()
    left = ["state/.17.partial", "state/0000.safetensors", ".state.json.k1ll3d", ".config.json.k1ll3d"]
    for name in [*left, "checkpoint/.17.partial", "checkpoint/.checkpoint.json.k1ll3d"]:
        (run / name).write_bytes(b"half")
    (run / "notes.txt").write_text("mine")
    (run / "own.safetensors").write_text("mine")
    list(events)
    state = state_of(run)
    assert {file.name for file in (run / "state").iterdir()} == {state["weights"], state["optimiser"]}
    assert len(list((run / "checkpoint").iterdir())) == 2
    known = {
        ".lock",
        "config.json",
        "events.jsonl",
        "state.json",
        "state",
        "checkpoint",
        "notes.txt",
        "own.safetensors",
    }
    assert {file.name for file in run.iterdir()} == known


def test_a_process_killed_while_it_made_the_folder_leaves_no_run(tmp_path: Path, tiny_config: Config, start: Start):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".config.json.k1ll3d").write_text('{"da')
    with pytest.raises(ConfigError, match="there is no run to resume"):
        start(tiny_config(epochs=1), tmp_path / "run", resume=True)
    assert isinstance(list(start(tiny_config(epochs=1), tmp_path / "run").train())[-1], Finished)


def test_a_run_is_not_put_among_other_things(tmp_path: Path, tiny_config: Config, start: Start):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.tex").write_text("mine")
    with pytest.raises(ConfigError, match="the folder holds other files and no run"):
        start(tiny_config(epochs=1), tmp_path / "run")
    with pytest.raises(ConfigError, match=r"thesis\.tex: found a file, expected a folder or nothing"):
        start(tiny_config(epochs=1), tmp_path / "run" / "thesis.tex")
    assert (tmp_path / "run" / "thesis.tex").read_text() == "mine"


def test_a_run_that_is_saved_before_its_first_step_goes_on(tmp_path: Path, tiny_config: Config, start: Start):
    trainer = start(tiny_config(epochs=1), tmp_path / "run")
    assert isinstance(next(trainer.train()), Prepared)
    trainer.save()
    resumed = start(tiny_config(epochs=1), tmp_path / "run", resume=True).train()
    whole = start(tiny_config(epochs=1), tmp_path / "whole").train()
    losses = [[event.loss for event in events if isinstance(event, StepDone)] for events in (resumed, whole)]
    assert losses[0] == losses[1]
    assert len(losses[0]) == 4


def test_the_log_is_cut_back_to_the_state_even_within_a_line(tmp_path: Path, tiny_config: Config, start: Start):
    events = start(tiny_config(epochs=2), tmp_path / "run").train()
    for event in events:
        if isinstance(event, StepDone) and event.step == 6:
            break
    events.close()
    log = tmp_path / "run" / "events.jsonl"
    log.write_bytes(log.read_bytes()[:-20])
    list(start(tiny_config(epochs=2), tmp_path / "run", resume=True).train())
    records = [json.loads(line) for line in log.read_text().splitlines()]
    steps = [record["step"] for record in records if record["event"] == "step"]
    assert steps == list(range(1, 9))
