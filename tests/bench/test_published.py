"""The paper's figures, against the paper's own source where it lies beside the data."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

from handful.bench.published import CORPORA, OWN_ROWS, Metric, published, scorer_of

_NAMES = {"Fine-tune": "finetune", "foMAML": "fomaml", "Proto": "proto", "Retriever": "retriever"}


@pytest.fixture(scope="module")
def paper(data_dir: Path) -> str:
    files = list((data_dir.parent / "paper").glob("*.txt"))
    if not files:
        pytest.skip("the paper's source is not beside the data")
    return files[0].read_text(encoding="utf-8")


def printed_tables(paper: str) -> dict[tuple[Metric, int], dict[tuple[str, str], list[float]]]:
    """(metric, U_max) -> (family, row) -> the figures of its line, in the order of the columns."""
    found: dict[tuple[Metric, int], dict[tuple[str, str], list[float]]] = {}
    for body, caption in re.findall(r"(\\hline.*?)\\caption\{Average (.*?)\.\}", paper, re.DOTALL):
        metric: Metric = "intent" if caption.startswith("IC") else "slot"
        (u_max,) = re.findall(r"= (\d+)", caption)
        lines = {}
        for line in body.split(r"\\"):
            figures = [float(value) for value in re.findall(r"([\d.]+) \+/-", line)]
            name = re.search(
                r"(GloVe|ELMo|BERT)?\s*&?\s*(Fine-tune|foMAML|Proto|Retriever|framework \((\w), (\w)\))", line
            )
            if figures and name:
                row = _NAMES.get(name[2]) or f"({name[3]},{name[4]})"
                lines[name[1] or "BERT", row] = figures
        found[metric, int(u_max)] = lines
    return found


def test_every_figure_is_the_one_that_is_printed(paper: str):
    tables = printed_tables(paper)
    assert set(tables) == set(product(("intent", "slot"), (20, 100)))
    compared = 0
    for (metric, u_max), lines in tables.items():
        assert len(lines) == 13, (metric, u_max)
        for (family, row), figures in lines.items():
            modes = ("single", "joint") if len(figures) == 6 else ("single",)
            for figure, (corpus, mode) in zip(figures, product(CORPORA, modes), strict=True):
                assert published(family, row, mode, corpus, u_max, metric) == figure, (family, row, mode, corpus)
                compared += 1
    assert compared == 4 * (9 * 6 + 4 * 3)


def test_the_ablation_is_the_one_that_is_printed(paper: str):
    for name in ("intent-to-slot", "slot-to-intent"):
        (line,) = re.findall(rf"only {name}\s+&(.*?)\\\\", paper)
        figures = [float(value) for value in re.findall(r"[\d.]+", line)]
        ours = [published("BERT", name, "single", c, 20, m) for c in CORPORA for m in ("intent", "slot")]
        assert ours == figures


def test_what_the_paper_does_not_print_is_none():
    assert published("BERT", "(w,w)", "joint", "atis", 20, "slot") is None
    assert published("BERT", "intent-to-slot", "single", "atis", 100, "intent") is None
    assert published("GloVe", "retriever", "single", "atis", 20, "slot") is None
    assert published("BERT", "proto", "single", "clinc150", 20, "slot") is None
    assert published("BERT", "proto", "single", "atis", 50, "slot") is None
    assert published("BERT", "joint_spans", "single", "atis", 20, "slot") is None


def test_only_the_papers_own_rows_have_a_known_scorer():
    assert {row for row in (*OWN_ROWS, *_NAMES.values()) if scorer_of(row) == "released"} == OWN_ROWS
