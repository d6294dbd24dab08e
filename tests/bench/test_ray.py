"""Runs on a real Ray cluster of two nodes on this machine, one of which is killed in the middle."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
pytest.importorskip("ray")

HANDFUL = [sys.executable, "-m", "handful"]
GRID = ["--row", "proto", "--row", "retriever", "--encoder", "bert-base", "--mode", "single", "--data", "atis"]
GRID += ["--seed", "0", "--seed", "1", "--u-max", "20", "--episodes", "3", "--threads", "1", "--epochs", "150"]
GRID += ["--set", "dev.patience=999", "--set", "dev.episodes=2", "--set", "episodes_per_epoch=4"]
ON_RAY = ["--engine", "ray", "--cpus", "1", "--memory-mb", "200"]


class Nodes:
    """Two `ray start` processes, each with one processor, so that two runs are under way at a time."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="ray-")  # sockets lie in it, and their paths must be short
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"127.0.0.1:{port}"
        self._nodes = [
            self._start("--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={self._folder}"),
            self._start(f"--address={self.address}"),
        ]

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", *words, "--block", "--disable-usage-stats"]
        command += ["--node-ip-address=127.0.0.1", "--num-cpus=1"]
        node = subprocess.Popen(
            command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=self._folder
        )
        assert node.stdout is not None
        for line in node.stdout:
            if b"Ray runtime started" in line:
                return node
        raise AssertionError("Ray did not start")

    def kill_worker(self) -> None:
        """The node's own processes at once, with no word to anybody; what ran on it dies with it."""
        os.killpg(self._nodes[1].pid, signal.SIGKILL)

    def end(self) -> None:
        for node in reversed(self._nodes):
            if node.poll() is None:
                os.killpg(node.pid, signal.SIGTERM)
                node.wait(timeout=60)
            if node.stdout is not None:
                node.stdout.close()
        shutil.rmtree(self._folder, ignore_errors=True)


@pytest.fixture
def nodes(surroundings: Path) -> Iterator[Nodes]:
    """Started after the surroundings: workers take their environment from their node."""
    found = Nodes()
    yield found
    found.end()


def handful(*words: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*HANDFUL, *words], capture_output=True, text=True, timeout=400, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done


def records(folder: Path) -> list[dict[str, Any]]:
    found = [
        {key: value for key, value in record.items() if key not in {"train_seconds", "eval_seconds", "peak_mb"}}
        for file in sorted((folder / "bench").glob("bert*.json"))
        for record in json.loads(file.read_text())
    ]
    return sorted(found, key=lambda record: (record["row"], record["train_seed"]))


def wait_for(ready: Callable[[], bool], process: subprocess.Popen[str], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not ready():
        assert process.poll() is None, "it ended too early"
        assert time.monotonic() < deadline, "it takes too long"
        time.sleep(0.05)


def test_with_a_node_killed_mid_run_every_run_finishes_once_with_the_results_of_one_process(
    surroundings: Path, nodes: Nodes
):
    words = [*HANDFUL, "bench", *GRID, *ON_RAY, "--address", nodes.address, "--results", "r", "--runs", "shared"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: len(list(Path("shared").glob("*/state.json"))) >= 2, process)
    under_way = {state.parent.name for state in Path("shared").glob("*/state.json")}
    unfinished = {
        name for name in under_way if '"finished"' not in (Path("shared") / name / "events.jsonl").read_text()
    }
    assert len(unfinished) == 2, "both nodes are in the middle of a run"
    nodes.kill_worker()
    told = process.communicate(timeout=400)[1]
    assert process.returncode == 0, told
    assert "Traceback" not in told
    assert told.count(" done: ") == 4, told
    for log in Path("shared").glob("*/events.jsonl"):
        steps = [json.loads(line)["step"] for line in log.read_text().splitlines() if '"event": "step"' in line]
        assert steps == list(range(1, 601)), f"{log}: a step is missing or there twice"

    alone = handful("bench", *GRID, "--results", "alone", "--runs", "here")
    assert alone.returncode == 0, alone.stderr
    assert len(records(Path("r"))) == 4
    assert records(Path("r")) == records(Path("alone"))
    again = handful("bench", *GRID, *ON_RAY, "--address", nodes.address, "--results", "r", "--runs", "shared")
    assert "0 runs to do, 4 done already" in again.stderr


def test_a_sweep_on_a_cluster_finds_what_it_finds_here(surroundings: Path, nodes: Nodes):
    Path("plan.yml").write_text(
        "set: {data: atis, epochs: 2, episodes_per_epoch: 4, dev.episodes: 3, encoder.name: bert-base-uncased, "
        "learner.name: proto}\nstages:\n- learner.temperature: [1.0, 4.0]\n- optimiser.learning_rate: [0.01, 0.0001]\n"
    )
    there = handful(
        "sweep",
        "plan.yml",
        "--json",
        "there.json",
        "--runs",
        "a",
        *ON_RAY,
        "--address",
        nodes.address,
        "--threads",
        "1",
    )
    here = handful("sweep", "plan.yml", "--json", "here.json", "--runs", "b", "--threads", "1")
    assert (there.returncode, here.returncode) == (0, 0), there.stderr + here.stderr
    one, other = (
        sorted(json.loads(Path(name).read_text())["runs"], key=lambda run: (run["stage"], str(run["values"])))
        for name in ("there.json", "here.json")
    )
    assert one == other
    assert len(one) == 4


def test_what_no_node_can_hold_is_told(surroundings: Path, nodes: Nodes):
    large = handful("bench", *GRID, "--engine", "ray", "--cpus", "64", "--address", nodes.address)
    assert large.returncode == 2
    assert "no machine of the cluster has them" in large.stderr


def test_without_a_shared_path_checkpoints_come_back_and_are_scored_without_training(
    surroundings: Path, nodes: Nodes, tmp_path_factory: pytest.TempPathFactory
):
    """Only one file system is here, so the folder is emptied of all that does not travel."""
    from dataclasses import replace

    from handful.bench.ray_engine import _complete_files, _write_files
    from handful.bench.rows import Budget, run_config
    from handful.bench.work import Done, Means, Work, do
    from handful.training.measure import Scoring

    own = Work(
        run_config("proto", "bert-base", ("atis",), 0, Budget(1, 4, 2)),
        surroundings / "there",
        (Scoring("atis", 20, 2),),
    )
    end = do(own, Means(threads=1))
    assert isinstance(end, Done)
    sent = _complete_files(own.folder)
    assert not any("state" in name for name in sent)
    (surroundings / "back" / "checkpoint").mkdir(parents=True)
    (surroundings / "back" / "state.json").write_text("of a run that was begun here")
    _write_files(surroundings / "back", sent)
    told: list[str] = []
    again = do(replace(own, folder=surroundings / "back"), Means(threads=1), told.append)
    assert isinstance(again, Done)
    assert again.records[0]["intent_accuracy"] == end.records[0]["intent_accuracy"]
    assert [line for line in told if "step" in line] == []


def test_torchrun_trains_the_runs_of_a_grid(surroundings: Path):
    changes = ["--set", "optimiser.episodes_per_step=2", "--set", "episodes_per_epoch=4", "--set", "dev.episodes=2"]
    grid = [*GRID[:2], *GRID[4:10], "--u-max", "20", "--episodes", "2", "--threads", "1", "--epochs", "2", *changes]
    os.environ["OMP_NUM_THREADS"] = "1"
    two = handful("bench", *grid, "--processes", "2", "--results", "two", "--runs", "runs-two")
    one = handful("bench", *grid, "--results", "one", "--runs", "runs-one")
    assert (two.returncode, one.returncode) == (0, 0), two.stderr + one.stderr
    (there,), (here,) = records(Path("two")), records(Path("one"))
    assert there["train_episodes"] == here["train_episodes"]
    assert there["intent_accuracy"]["mean"] == pytest.approx(here["intent_accuracy"]["mean"], abs=2)
