from __future__ import annotations

import builtins
import sys
from pathlib import Path
from typing import Any

import pytest

from handful.errors import ConfigError
from handful.training.events import DevScored, Finished, Prepared, StepDone
from handful.training.tensorboard import Board


def scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    read = EventAccumulator(str(folder))
    read.Reload()
    return {tag: [(event.step, round(event.value, 6)) for event in read.Scalars(tag)] for tag in read.Tags()["scalars"]}


def step(number: int) -> StepDone:
    return StepDone(number, (number - 1,), number / 2, {"intent": 0.25, "slot": number}, 0.5**number, 8.0, 1.0)


def test_events_are_scalars_by_step(tmp_path: Path):
    board = Board(tmp_path)
    dev = DevScored(1, 2, {"intent_accuracy": 60.0, "slot_f1_strict": 12.5}, 36.25, True, 2.0)
    for event in (Prepared(5), step(1), step(2), dev, Finished(2, 2, "planned", 3.0)):
        board.add(event)
    assert scalars(tmp_path) == {
        "train/loss": [(1, 0.5), (2, 1.0)],
        "train/intent": [(1, 0.25), (2, 0.25)],
        "train/slot": [(1, 1.0), (2, 2.0)],
        "train/learning_rate": [(1, 0.5), (2, 0.25)],
        "train/gradient_norm": [(1, 8.0), (2, 8.0)],
        "dev/intent_accuracy": [(2, 60.0)],
        "dev/slot_f1_strict": [(2, 12.5)],
    }


def test_a_run_that_is_stopped_keeps_its_last_steps(tmp_path: Path):
    """Nothing closes the board: it is on disk after each event, as the log is."""
    board = Board(tmp_path)
    for number in (1, 2, 3):
        board.add(step(number))
        assert [at for at, _ in scalars(tmp_path)["train/loss"]] == list(range(1, number + 1))


def test_a_run_that_goes_on_adds_to_its_board(tmp_path: Path):
    """From its last saved state: the steps after that come again, and are shown once."""
    first = Board(tmp_path)
    for number in (1, 2, 3):
        first.add(step(number))
    again = Board(tmp_path)
    for number in (2, 3, 4):
        again.add(step(number))
    assert scalars(tmp_path)["train/loss"] == [(1, 0.5), (2, 1.0), (3, 1.5), (4, 2.0)]


def test_without_the_extra_the_way_to_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    real = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name.partition(".")[0] == "tensorboard":
            raise ImportError(f"No module named {name!r}")
        return real(name, *rest, **named)

    for name in [name for name in sys.modules if name.startswith(("tensorboard", "torch.utils.tensorboard"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConfigError, match=r"TensorBoard is not installed: pip install 'handful\[tensorboard\]'"):
        Board(tmp_path / "board")
    assert not (tmp_path / "board").exists()
