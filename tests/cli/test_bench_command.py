"""bench as a user runs it, on a tiny encoder that goes by the name of a large one, and on tiny data."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.conftest import Ran

pytest_plugins = ["bench.conftest"]
SMALL = ["--encoder", "bert-base", "--mode", "single", "--data", "atis", "--episodes", "3", "--threads", "1"]


def test_quick_runs_rows_compares_them_and_does_nothing_twice(surroundings: Path, run: Callable[..., Ran]):
    rows = ["--row", "proto", "--row", "(w,w)"]
    first = run("bench", "--quick", *rows, *SMALL)
    assert first.code == 0, first.err
    assert "2 runs to do, 0 done already" in first.err
    assert "Table 3: intent accuracy, U_max 20" in first.out
    assert "Table 6: slot F1, U_max 100" in first.out
    assert "unknown" in first.out, "whose scorer the printed figure has"
    folder = surroundings / "runs" / "quick" / "results" / "bench"
    files = {file.name for file in folder.iterdir()}
    assert files == {
        "bert-base-uncased-proto-single.json",
        "bert-base-uncased-ww-single.json",
        "episodes.json",
        "tables.md",
    }
    proto = json.loads((folder / "bert-base-uncased-proto-single.json").read_text())
    assert [(record["u_max"], record["episodes"]) for record in proto] == [(100, 3), (20, 3)]
    assert not (surroundings / "results").exists(), "figures of a few episodes stay among themselves"
    again = run("bench", "--quick", *rows, *SMALL)
    assert "0 runs to do, 2 done already" in again.err
    assert again.out == first.out


def test_what_has_no_weights_is_skipped_and_said(surroundings: Path, run: Callable[..., Ran]):
    ran = run("bench", "--quick", "--row", "proto", "--encoder", "elmo", "--data", "atis")
    assert ran.code == 0
    assert "elmo: its rows are skipped, for its weights are not here" in ran.err
    assert "there are no results yet, so no table" in ran.err


def test_tables_alone_train_nothing(surroundings: Path, run: Callable[..., Ran]):
    ran = run("bench", "--tables")
    assert ran.code == 0
    assert not (surroundings / "runs").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--row", "porto"], "there is no row 'porto'; did you mean 'proto'"),
        (["--encoder", "bert"], "there is no encoder 'bert'"),
        (["--data", "clinc150"], "there is no corpus 'clinc150'; there are snips, atis, top"),
        (["--mode", "both"], "there is no mode 'both'; there are single, joint"),
        (["--address", "auto"], "found --address without --engine ray"),
        (["--engine", "ray", "--cpus", "1"], "a run has 2 threads and asks for 1 processors"),
        (["--figure", "--tables"], "without --set and --tables"),
        (["--row", "proto", "--encoder", "bert-base", "--set", "learner.tempreture=1"], "learner.tempreture"),
        (
            ["--row", "proto", "--encoder", "bert-base", "--processes", "2"],
            "--processes 2 share the episodes of a step, and a step has 1: --set optimiser.episodes_per_step=2",
        ),
        (["--row", "proto", "--encoder", "bert-base", "--data-dir", "nowhere"], "nowhere"),
    ],
)
def test_what_was_mistyped_is_told_before_anything_runs(
    words: list[str], told: str, surroundings: Path, run: Callable[..., Ran]
):
    ran = run("bench", *words)
    assert ran.code == 2
    assert told in ran.err
    assert "Traceback" not in ran.err
    assert not (surroundings / "runs").exists()


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("127.0.0.1:1", "--address 127.0.0.1:1: no Ray cluster answers"),
        ("127.0.0.1:99999", "no Ray cluster answers"),
        ("somewhere", "expected HOST:PORT of a Ray cluster, or auto"),
    ],
)
def test_where_no_cluster_is_is_told_at_once(address: str, told: str, surroundings: Path, run: Callable[..., Ran]):
    pytest.importorskip("ray")
    ran = run("bench", "--row", "proto", *SMALL, "--engine", "ray", "--address", address)
    assert ran.code == 2
    assert told in ran.err
    assert "Traceback" not in ran.err


def test_damaged_results_are_told_and_left_alone(surroundings: Path, run: Callable[..., Ran]):
    file = surroundings / "results" / "bench" / "mine.json"
    file.parent.mkdir(parents=True)
    file.write_text('[{"row": "proto"')
    ran = run("bench", "--tables")
    assert ran.code == 1
    assert "mine.json: not JSON" in ran.err
    assert file.read_text() == '[{"row": "proto"'


def test_other_data_cannot_join_the_same_results(surroundings: Path, run: Callable[..., Ran]):
    folder = surroundings / "runs" / "quick" / "results" / "bench"
    folder.mkdir(parents=True)
    (folder / "episodes.json").write_text('{"atis test, U_max 20, seed 0": "01234567"}')
    ran = run("bench", "--quick", "--row", "proto", *SMALL)
    assert ran.code == 1
    assert "expected 01234567: other data or another sampler" in ran.err


def test_ctrl_c_keeps_what_is_there_and_the_same_command_goes_on(surroundings: Path, run: Callable[..., Ran]):
    changes = ["dev.patience=999", "dev.episodes=1", "episodes_per_epoch=4"]
    words = ["bench", "--row", "proto", *SMALL, "--epochs", "200", "--u-max", "20"]
    words += [word for change in changes for word in ("--set", change)]
    process = subprocess.Popen(
        [sys.executable, "-m", "handful", *words],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # What a shell starts in the background ignores Ctrl-C, and hands that down: the suite may run so.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    deadline = time.monotonic() + 60
    while not list((surroundings / "runs").glob("bench/*/state.json")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "the same command goes on from here" in told
    assert "Traceback" not in told
    (state,) = (surroundings / "runs").glob("bench/*/state.json")
    reached = json.loads(state.read_text())["progress"]["step"]
    ran = run(*words)
    assert ran.code == 0, ran.err
    log = (state.parent / "events.jsonl").read_text().splitlines()
    steps = [json.loads(line)["step"] for line in log if '"event": "step"' in line]
    assert steps == list(range(1, 801)), "no step is there twice and none is missing"
    assert 0 < reached < 800
