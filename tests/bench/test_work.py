"""A run of the grid, in this process and in one of its own."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handful.bench.engines import here
from handful.bench.rows import Budget, run_config
from handful.bench.work import Done, Failed, Means, Work, do
from handful.data.corpora import load_corpus
from handful.errors import ConfigError
from handful.training.checkpoint import read_about
from handful.training.measure import Scoring
from handful.training.run import RunFolder

BUDGET = Budget(epochs=2, episodes_per_epoch=4, dev_episodes=2)
MEANS = Means(threads=1)


def work(folder: Path, row: str = "proto", *corpora: str, budget: Budget = BUDGET) -> Work:
    names = corpora or ("atis",)
    scorings = tuple(Scoring(name, 20, 3) for name in names)
    return Work(run_config(row, "bert-base", names, 0, budget), folder / "runs" / row, scorings)


def comparable(end: Any) -> list[dict[str, Any]]:
    """Without what differs from one time to the next: seconds and memory."""
    assert isinstance(end, Done), end.reason
    return [
        {key: value for key, value in record.items() if key not in {"train_seconds", "eval_seconds", "peak_mb"}}
        for record in end.records
    ]


def test_a_run_is_trained_and_scored_once(surroundings: Path):
    told: list[str] = []
    own = work(surroundings)
    first = do(own, MEANS, told.append)
    (record,) = comparable(first)
    assert (record["row"], record["corpus"], record["episodes"], record["mode"]) == ("proto", "atis", 3, "single")
    assert set(record["details"]) == {"slots", "shots", "calibration"}
    assert [step for step, *_ in record["curve"]] == [4, 8]
    assert sum(line.startswith("  step") for line in told) == 2
    told.clear()
    assert comparable(do(own, MEANS, told.append)) == comparable(first)
    assert [line for line in told if "step" in line] == [], "it was not trained again"


@pytest.mark.parametrize("row", ["finetune", "fomaml", "retriever", "(w,w)", "joint_spans"])
def test_every_row_gives_a_record(row: str, surroundings: Path):
    (record,) = comparable(do(work(surroundings, row), MEANS))
    assert record["row"] == row
    assert 0 <= record["intent_accuracy"]["mean"] <= 100


def test_joint_training_is_scored_on_each_corpus(surroundings: Path):
    records = comparable(do(work(surroundings, "proto", "snips", "atis", "top"), MEANS))
    assert [(record["mode"], record["corpus"]) for record in records] == [
        ("joint", c) for c in ("snips", "atis", "top")
    ]
    assert {record["train_corpus"] for record in records} == {"snips+atis+top"}


def test_corpora_that_were_sent_along_need_no_folder(surroundings: Path, monkeypatch: pytest.MonkeyPatch):
    corpora = {"atis": load_corpus("atis", Path(os.environ["HANDFUL_DATA"]))}
    expected = comparable(do(work(surroundings), MEANS))
    monkeypatch.setenv("HANDFUL_DATA", str(surroundings / "nothing"))
    elsewhere = replace(work(surroundings), folder=surroundings / "elsewhere")
    assert isinstance(do(elsewhere, MEANS), Failed)
    assert comparable(do(elsewhere, replace(MEANS, corpora=corpora))) == expected


def test_a_run_that_was_finished_elsewhere_is_not_trained_again(surroundings: Path):
    own = work(surroundings)
    first = do(own, MEANS)
    assert isinstance(first, Done)
    shutil.rmtree(own.folder / "state")
    (own.folder / "state.json").unlink()
    told: list[str] = []
    again = do(replace(own, scorings=(Scoring("atis", 100, 3),)), MEANS, told.append)
    assert isinstance(again, Done)
    assert again.about == first.about
    assert len(told) == 1, "scored, and nothing else"


def test_other_data_than_the_frozen_episodes_fail_the_run(surroundings: Path):
    frozen = {"atis test, U_max 20, seed 0": ["00000000"]}
    end = do(work(surroundings), replace(MEANS, frozen=frozen))
    assert isinstance(end, Failed)
    assert "expected 00000000" in end.reason


def test_a_run_that_fails_does_not_stop_the_others(surroundings: Path):
    broken, sound = work(surroundings, "proto"), work(surroundings, "retriever")
    broken.folder.mkdir(parents=True)
    (broken.folder / "mine.txt").write_text("a file of mine")
    ends = list(here(MEANS, lambda _: None)([broken, sound]))
    assert isinstance(ends[0], Failed)
    assert "holds other files" in ends[0].reason
    assert comparable(ends[1]) == comparable(do(replace(sound, folder=surroundings / "again"), MEANS))
    assert (broken.folder / "mine.txt").read_text() == "a file of mine"


def test_a_killed_process_is_a_failed_run_that_goes_on_later(surroundings: Path):
    import multiprocessing

    long = work(surroundings, budget=Budget(epochs=200, episodes_per_epoch=4, dev_episodes=1, patience=500))

    def kill() -> None:
        while not (long.folder / "state.json").exists():
            time.sleep(0.02)
        (child,) = multiprocessing.active_children()
        assert child.pid is not None
        os.kill(child.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    (end,) = here(MEANS, lambda _: None)([long])
    killer.join()
    assert isinstance(end, Failed)
    assert "was killed" in end.reason
    assert read_about(long.folder / "checkpoint").step > 0, "what it had reached is there"


def test_a_grid_that_is_terminated_leaves_no_run_behind(surroundings: Path):
    """As by a job scheduler: the parent alone gets the signal, and has no time to say anything."""
    import subprocess
    import sys

    words = ["--row", "proto", "--encoder", "bert-base", "--mode", "single", "--data", "atis", "--epochs", "500"]
    words += ["--threads", "1", "--set", "dev.patience=999", "--set", "dev.episodes=1", "--set", "episodes_per_epoch=4"]
    grid = subprocess.Popen([sys.executable, "-m", "handful", "bench", *words], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (found := list(Path("runs/bench").glob("*/state.json"))) and time.monotonic() < deadline:
        time.sleep(0.05)
    grid.kill()
    grid.wait()
    run = RunFolder(found[0].parent)
    while held(run) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not held(run), "a process still trains in the run's folder"


def held(run: RunFolder) -> bool:
    try:
        with run.held():
            return False
    except ConfigError:
        return True
