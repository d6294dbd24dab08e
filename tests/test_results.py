"""Figures that are written down are those that were measured."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import readme_table  # pyright: ignore[reportMissingImports]

    yield readme_table
    sys.modules.pop("readme_table")


def test_readmes_table_is_that_of_the_measured_results(tables):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert tables.with_table(readme, tables.table(ROOT / "results" / "prototypes")) == readme


def test_the_temperatures_in_force_are_the_measured_best():
    from handful.learners.prototypes import PrototypesConfig

    rows = json.loads((ROOT / "results" / "temperature.json").read_text(encoding="utf-8"))["rows"]
    best_intent = min(rows, key=lambda row: row["intent_log_loss"])["temperature"]
    best_span = min(rows, key=lambda row: row["span_log_loss"])["temperature"]
    assert (PrototypesConfig().intent_temperature, PrototypesConfig().slot_temperature) == (best_intent, best_span)
