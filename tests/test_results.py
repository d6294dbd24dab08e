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
    import result_tables  # pyright: ignore[reportMissingImports]

    yield result_tables
    sys.modules.pop("result_tables")


@pytest.mark.parametrize(
    "file",
    ["README.md", "docs/method.md", "docs/training.md", "docs/results.md", "docs/confidence.md", "docs/serving.md"],
)
def test_tables_are_those_of_the_measured_results(file: str, tables):
    assert tables.with_tables(file) == (ROOT / file).read_text(encoding="utf-8")


def test_the_papers_tables_are_those_of_the_measured_results():
    from handful.bench.plan import all_records
    from handful.bench.tables import document

    written = (ROOT / "results" / "bench" / "tables.md").read_text(encoding="utf-8")
    assert document(all_records(ROOT / "results")) == written


def test_records_that_do_not_belong_together_are_not_averaged(tables):
    (record, *_) = json.loads((ROOT / "results" / "explicit_joint" / "atis-ww-0.json").read_text(encoding="utf-8"))
    cell = [*(record[key] for key in ("row", "corpus", "u_max", "decoding")), 500]
    another_seed = record | {"train_seed": 7}
    assert len(tables.measured([record, another_seed], *cell)) == 2
    assert tables.measured([record, another_seed | {"split": "dev"}], *cell) == [record]
    longer = another_seed | {"config": record["config"] | {"epochs": 99}}
    assert tables.measured([record, longer], *cell) == [record]
    with pytest.raises(ValueError, match="two records of one train seed"):
        tables.measured([record, record], *cell)
    with pytest.raises(ValueError, match="records of different settings or data"):
        tables.measured([record, another_seed | {"config": record["config"] | {"query_cap": 99}}], *cell)


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
