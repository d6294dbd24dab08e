"""train, sweep and evaluate as a user runs them, on a tiny encoder and tiny data."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

HANDFUL = [sys.executable, "-m", "handful"]
# Sums differ with the number of threads, and torchrun gives each rank one.
ONE_THREAD = ["--threads", "1"]


SETTINGS = """
data: atis
epochs: 3
episodes_per_epoch: 20
encoder: {{name: {encoder}, frozen_layers: 1}}
optimiser: {{warmup_steps: 2, learning_rate: 0.01, episodes_per_step: 2}}
dev: {{episodes: 2, patience: 9}}
"""


@pytest.fixture
def config(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    tiny_bert: Path,
    tiny_data: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    monkeypatch.setenv("HANDFUL_DATA", str(tiny_data))
    # Features that other tests computed, in other batches, differ in their last digits.
    monkeypatch.setenv("HANDFUL_CACHE", str(tmp_path_factory.mktemp("cache")))
    file = tmp_path / "tiny.yml"
    file.write_text(SETTINGS.format(encoder=tiny_bert))
    return file


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path, tiny_data: Path) -> Path:
    """The same run, never stopped, in a process of its own."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "tiny.yml").write_text(SETTINGS.format(encoder=tiny_bert))
    surroundings = {**os.environ, "HANDFUL_DATA": str(tiny_data), "HANDFUL_CACHE": str(folder / "cache")}
    command = [*HANDFUL, "train", str(folder / "tiny.yml"), "--into", str(folder / "run"), *ONE_THREAD]
    subprocess.run(command, check=True, capture_output=True, env=surroundings)
    return folder / "run"


def last_weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "state" / json.loads((folder / "state.json").read_text())["weights"])


def assert_same_weights(one: Path, other: Path, *, exactly: bool = True) -> None:
    mine, its = last_weights(one), last_weights(other)
    assert mine.keys() == its.keys()
    for name, weight in mine.items():
        if exactly:
            assert torch.equal(weight, its[name]), name
        else:
            torch.testing.assert_close(weight, its[name], rtol=1e-4, atol=1e-6)


def test_train_then_evaluate(run, config: Path, tmp_path: Path):
    trained = run("train", str(config), "--into", str(tmp_path / "run"), "--set", "epochs=2")
    assert trained.code == 0, trained.err
    assert "best after step" in trained.out
    assert trained.err.count("dev: intent accuracy") == 2
    again = run("train", str(config), "--into", str(tmp_path / "run"), "--set", "epochs=2")
    assert (again.code, "there is a run already; --resume" in again.err) == (2, True)

    scored = run("evaluate", str(tmp_path / "run"), "--episodes", "3", "--json", "-")
    record = json.loads(scored.out)
    assert (record["row"], record["corpus"], record["train_u_max"], record["episodes"]) == ("(w,w)", "atis", 20, 3)
    assert len(record["slot_f1_released"]["per_episode"]) == 3
    assert record["config"]["epochs"] == 2
    shown = run("evaluate", str(tmp_path / "run" / "checkpoint"), "--data", "snips", "--episodes", "2")
    assert "(w,w) on snips test, U_max 20" in shown.out
    for line in ("slot F1, strict scorer", "slot F1, released scorer", "joint accuracy"):
        assert line in shown.out
    assert "these intents were trained on" not in shown.err
    known = run("evaluate", str(tmp_path / "run"), "--split", "train", "--episodes", "1")
    assert "atis train: these intents were trained on, so the figures say nothing of new ones" in known.err


def test_results_are_filed_in_a_list(run, config: Path, tmp_path: Path):
    run("train", str(config), "--into", str(tmp_path / "run"), "--set", "epochs=1")
    for u_max in ("20", "100", "20"):
        filed = run(
            "evaluate",
            str(tmp_path / "run"),
            "--episodes",
            "2",
            "--u-max",
            u_max,
            "--results",
            str(tmp_path / "r.json"),
        )
        assert filed.code == 0, filed.err
    assert [record["u_max"] for record in json.loads((tmp_path / "r.json").read_text())] == [100, 20]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["train", "{tmp}/nothing.yml"], "nothing.yml: there is no such file"),
        (["train", "{config}", "--set", "learner.windwo=1"], "--set learner.windwo=1: there is no setting"),
        (["train", "{config}", "--set", "data=snip"], "did you mean 'snips'?"),
        (["train", "{config}", "--set", "encoder.frozen_layers=7"], "has 2 layers"),
        (["train", "{config}", "--set", "encoder.name=/no/such/folder"], "there is no encoder '/no/such/folder'"),
        (["train", "{config}", "--set", "u_max=3"], "take U_max"),
        (["train", "{config}", "--into", "{tmp}/none", "--resume"], "there is no run to resume"),
        (["train", "{config}", "--into", "{tmp}"], "the folder holds other files and no run"),
        (["train", "{config}", "--into", "{config}"], "tiny.yml: found a file, expected a folder or nothing"),
        (["evaluate", "{tmp}/none"], "found no checkpoint.json"),
        (["evaluate", "{config}"], "tiny.yml: found no checkpoint.json, expected the folder of a checkpoint"),
        (["sweep", "{config}", "--json", "{tmp}"], "expected the path of a file"),
        (["evaluate"], "name one with --data"),
        (["evaluate", "{tmp}/none", "--learner", "prototypes"], "expected one of the two"),
        (["sweep", "{config}"], "there is no setting 'data'"),
    ],
)
def test_mistakes_are_told_in_a_line_and_leave_nothing(
    run, config: Path, tmp_path: Path, words: list[str], expected: str
):
    before = {path.name for path in tmp_path.iterdir()}
    told = run(*(word.format(tmp=tmp_path, config=config) for word in words))
    assert told.code in (1, 2)
    assert expected in told.err
    assert "Traceback" not in told.err
    assert {path.name for path in tmp_path.iterdir()} == before


def test_sweep_prints_and_files_every_run(run, config: Path, tmp_path: Path):
    plan = tmp_path / "plan.yml"
    plan.write_text(
        "base: tiny.yml\nset: {epochs: 1, episodes_per_epoch: 2}\n"
        "stages:\n- learner.slot_weight: [0.5, 1.0]\n- learner.window: [0, 1]\n"
    )
    words = ("sweep", str(plan), "--runs", str(tmp_path / "runs"), "--json", str(tmp_path / "sweep.json"))
    first = run(*words)
    assert first.code == 0, first.err
    assert len(json.loads((tmp_path / "sweep.json").read_text())["runs"]) == 4
    assert len(list((tmp_path / "runs").iterdir())) == 3, "the best of the first stage is not trained twice"
    assert run(*words).out == first.out, "a finished sweep says the same again"


def test_ctrl_c_saves_and_resume_ends_the_same(config: Path, whole: Path, tmp_path: Path):
    cut = tmp_path / "cut"
    process = subprocess.Popen(
        [*HANDFUL, "train", str(config), "--into", str(cut), *ONE_THREAD], stderr=subprocess.PIPE, text=True
    )
    _wait_for(cut / "events.jsonl", 5)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command with --resume goes on from here" in told
    saved = json.loads((cut / "state.json").read_text())["progress"]
    assert saved["step"] >= 5
    resumed = subprocess.run(
        [*HANDFUL, "train", str(config), "--into", str(cut), "--resume", *ONE_THREAD], capture_output=True, check=False
    )
    assert resumed.returncode == 0
    assert_same_weights(whole, cut)


def test_ctrl_c_in_a_sweep_saves_the_run_under_way(config: Path, tmp_path: Path):
    plan, runs = tmp_path / "plan.yml", tmp_path / "runs"
    plan.write_text("base: tiny.yml\nset: {episodes_per_epoch: 400}\nstages:\n- learner.window: [0]\n")
    process = subprocess.Popen(
        [*HANDFUL, "sweep", str(plan), "--runs", str(runs), *ONE_THREAD], stderr=subprocess.PIPE, text=True
    )
    _wait_for_any(runs, "*/events.jsonl")
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on from here" in told
    (folder,) = runs.iterdir()
    steps = (folder / "events.jsonl").read_text().count("\n")
    assert json.loads((folder / "state.json").read_text())["progress"]["step"] == steps > 0


def test_trouble_with_the_cache_is_told_in_a_line(run, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "cache").write_text("a file, where a folder is expected")
    monkeypatch.setenv("HANDFUL_CACHE", str(tmp_path / "cache"))
    told = run("train", str(config), "--into", str(tmp_path / "run"), "--set", "epochs=1")
    assert told.code == 0, told.err
    assert "warning: " in told.err
    assert "what is computed is kept in memory only" in told.err
    assert "UserWarning" not in told.err


def _wait_for_any(folder: Path, pattern: str) -> None:
    for _ in range(1200):
        if any(file.read_text() for file in folder.glob(pattern)):
            return
        time.sleep(0.05)
    pytest.fail(f"{folder}: the run does not get on")


def _wait_for(log: Path, lines: int, process: subprocess.Popen[str] | None = None) -> None:
    for _ in range(1200):
        if log.exists() and log.read_text().count("\n") >= lines:
            return
        if process is not None and process.poll() is not None:
            return
        time.sleep(0.05)
    pytest.fail(f"{log}: the run does not get on")


def _killed_until_done(config: Path, folder: Path, kills: list[float]) -> None:
    """Starts the run again and again; each time but the last it is killed, after some share of a second."""
    for number in range(len(kills) + 1):
        command = [*HANDFUL, "train", str(config), "--into", str(folder), *ONE_THREAD]
        resume = ["--resume"] if (folder / "config.json").exists() else []
        process = subprocess.Popen([*command, *resume], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL, text=True)
        if number < len(kills):
            lines = (folder / "events.jsonl").read_text().count("\n") if (folder / "events.jsonl").exists() else 0
            _wait_for(folder / "events.jsonl", min(lines, 28) + 1, process)
            time.sleep(kills[number])
            process.kill()
        process.wait(timeout=120)


def test_kill_9_and_resume_ends_the_same(config: Path, whole: Path, tmp_path: Path):
    cut = tmp_path / "cut"
    _killed_until_done(config, cut, [0.3, 0.05])
    assert_same_weights(whole, cut)
    assert _log(whole) == _log(cut)


@pytest.mark.slow
def test_kill_9_at_many_moments(config: Path, whole: Path, tmp_path: Path):
    moments = random.Random(0)
    for round_ in range(5):
        cut = tmp_path / f"cut{round_}"
        _killed_until_done(config, cut, [moments.uniform(0, 0.6) for _ in range(4)])
        assert_same_weights(whole, cut)
        assert _log(whole) == _log(cut)


def _log(folder: Path) -> list[dict[str, object]]:
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    return [{key: value for key, value in event.items() if key != "seconds"} for event in events]


def test_two_processes_do_what_one_does(config: Path, whole: Path, tmp_path: Path):
    """torchrun with two ranks, against one process that accumulates the same episodes."""
    two = tmp_path / "two"
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    done = subprocess.run(
        [*launcher, "-m", "handful", "train", str(config), "--into", str(two), *ONE_THREAD],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert_same_weights(whole, two, exactly=False)
    for mine, its in zip(_log(whole), _log(two), strict=True):
        assert mine.get("episodes") == its.get("episodes")
        assert mine.get("loss", 0.0) == pytest.approx(its.get("loss", 0.0), rel=1e-4)
        if "scores" in mine:
            assert mine["scores"] == pytest.approx(its["scores"], abs=1e-3)


def test_tensorboard_files_are_written_on_request(run: Callable[..., object], config: Path, tmp_path: Path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    run("train", str(config), "--into", str(tmp_path / "run"), "--set", "epochs=1", "--tensorboard")
    assert list((tmp_path / "run" / "tensorboard").glob("events.out.tfevents.*"))
