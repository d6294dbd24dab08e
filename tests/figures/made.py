"""Records made by hand, so that what a figure ought to say is known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from handful.figures.lines import Cell, sort_into_lines
from handful.figures.records import Record

EMPTY_BINS = [[0, 0.0, 0]] * 8


def raw(**changes: Any) -> dict[str, Any]:
    """As `handful bench` writes them; a metric may be given as its mean alone."""
    given: dict[str, Any] = {
        "row": "(w,w)",
        "encoder": "all-MiniLM-L6-v2",
        "mode": "single",
        "train_corpus": "snips",
        "train_u_max": 20,
        "train_seed": 0,
        "train_seconds": 100.0,
        "corpus": "snips",
        "split": "test",
        "u_max": 20,
        "episodes": 100,
        "episode_seed": 0,
        "eval_seconds": 10.0,
        "peak_mb": 1000,
        "config": {"epochs": 5, "episodes_per_epoch": 100},
        "intent_accuracy": 90.0,
        "slot_f1_strict": 40.0,
        "slot_f1_released": 50.0,
    }
    found = {**given, **changes}
    for name in ("intent_accuracy", "slot_f1_strict", "slot_f1_released"):
        if not isinstance(found[name], dict):
            found[name] = {"mean": found[name], "ci95": 2.0}
    if "corpus" in changes and "train_corpus" not in changes:
        found["train_corpus"] = found["corpus"]
    return found


def details(**changes: Any) -> dict[str, Any]:
    """Ten queries: four at a confidence of 0.95, three of them right, and six at 0.85, all right."""
    given = {
        "slots": {"city": [3, 4, 6], "date": [1, 1, 1]},
        "shots": [[1, 4, 1, 1, 2, 2], [3, 2, 2, 1, 1, 1], [4, 4, 3, 2, 2, 4]],
        "calibration": [*EMPTY_BINS, [6, 5.1, 6], [4, 3.8, 3]],
    }
    return {**given, **changes}


def cells_of(*records: dict[str, Any]) -> Sequence[Cell]:
    return sort_into_lines([Record.model_validate(record) for record in records]).cells


def projected(**changes: Any) -> dict[str, Any]:
    panels = [
        {"name": "original", "row": None, "points": _points(0.5), "separation": {"train": 0.1, "test": 0.05}},
        {"name": "CE", "row": "(o,o)", "points": _points(2.0), "separation": {"train": 0.4, "test": 0.2}},
        {"name": "CE+SCL", "row": "(w,w)", "points": _points(4.0), "separation": {"train": 0.6, "test": 0.25}},
    ]
    given = {
        "corpus": "top",
        "seed": 0,
        "method": "t-SNE",
        "budget": "500 episodes",
        "intents": ["get_weather", "set_alarm", "play_music", "call"],
        "splits": ["train", "test"],
        "panels": panels,
    }
    return {**given, **changes}


def _points(apart: float) -> list[list[float]]:
    return [
        [apart * (n % 4) + (n % 5) / 5, apart * (n % 2) + (n % 7) / 7, n % 4, 0 if n % 4 < 2 else 1] for n in range(40)
    ]


def written(folder: Path, records: Sequence[dict[str, Any]], name: str = "bench/some.json") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(list(records)), encoding="utf-8")
    return path
