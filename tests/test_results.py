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


def test_readmes_tables_are_those_of_the_measured_results(tables):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert tables.with_tables(readme) == readme


def test_the_settings_in_force_are_the_measured_best():
    from handful.learners.prototypes import PrototypesConfig

    record = json.loads((ROOT / "results" / "prototype_settings.json").read_text(encoding="utf-8"))
    config = PrototypesConfig()
    f1 = {row["nearest_share"]: row["slot_f1_strict"] for row in record["nearest_share"]}
    # Half and half, as long as no other share is better by more than the noise of 200 episodes.
    assert f1[config.nearest_share] >= max(f1.values()) - 0.5
    by_loss = {
        loss: min(record["temperature"], key=lambda row, loss=loss: row[loss])["temperature"]
        for loss in ("intent_log_loss", "span_log_loss")
    }
    assert by_loss == {"intent_log_loss": config.intent_temperature, "span_log_loss": config.slot_temperature}
