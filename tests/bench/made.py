"""Records as bench files them, made up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from handful.bench.rows import Budget, run_config


def metric(values: Sequence[float]) -> dict[str, Any]:
    return {"mean": sum(values) / len(values), "ci95": 1.5, "per_episode": list(values)}


def settings(row: str, **changes: Any) -> dict[str, Any]:
    return {**run_config(row, "minilm", ("atis",), 0, Budget()).model_dump(mode="json"), **changes}


def record(row: str, accuracy: Sequence[float], f1: Sequence[float], **changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "row": row,
        "encoder": "all-MiniLM-L6-v2",
        "mode": "single",
        "train_corpus": "atis",
        "train_u_max": 20,
        "train_seed": 0,
        "train_seconds": 61.4,
        "train_episodes": 400,
        "decoding": "joint",
        "config": settings(row),
        "corpus": "atis",
        "split": "test",
        "u_max": 20,
        "episodes": 100,
        "episode_seed": 0,
        "query_cap": 10,
        "data_version": "d1",
        "eval_seconds": 7.2,
        "peak_mb": 1234,
        "intent_accuracy": metric(accuracy),
        "slot_f1_strict": metric(f1),
        "slot_f1_released": metric([value + 10 for value in f1]),
        "joint_accuracy": metric(accuracy),
        "details": {},
    }
    return {**made, **changes}
