"""`handful report` as a user runs it, on a folder of few records."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from figures.made import details, projected, raw, written

Run = Callable[..., Any]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    measured = {"details": details(), "curve": [[100, 50.0, 20.0, 30.0]]}
    written(folder, [raw(**measured), raw(row="proto", **measured), raw(split="dev")])
    return folder


def test_a_page_and_figures_are_written_and_named(results: Path, tmp_path: Path, run: Run):
    (results / "figure2.json").write_text(json.dumps(projected()), encoding="utf-8")
    out = tmp_path / "made" / "here"
    done = run("report", "--results", str(results), "--out", str(out))
    assert done.code == 0, done.err
    names = [
        "calibration-minilm-20",
        "cost-20",
        "curves-minilm",
        "figure2",
        "quality-minilm",
        "shots-minilm-20",
        "slots",
    ]
    assert sorted(path.name for path in (out / "figures").iterdir()) == sorted(
        f"{name}.{kind}" for name in names for kind in ("svg", "png")
    )
    assert (out / "figures" / "cost-20.svg").read_text(encoding="utf-8").startswith("<svg")
    assert (out / "figures" / "cost-20.png").read_bytes().startswith(b"\x89PNG")
    assert "<!doctype html>" in (out / "index.html").read_text(encoding="utf-8")
    assert f"{out / 'figures'}: 7 figures" in done.out
    assert f"{out / 'index.html'}: all of them on a page" in done.out
    assert "1 record of other splits than test" in done.err
    assert "missing" not in done.err


def test_missing_figures_are_told_and_a_second_report_takes_the_firsts_place(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
):
    written(tmp_path / "results", [raw()])
    monkeypatch.chdir(tmp_path)
    assert run("report").code == 0
    done = run("report")
    assert done.code == 0, done.err
    assert "Figure 2: sentences on a plane: missing. There is no figure2.json" in done.err
    assert (tmp_path / "report" / "index.html").is_file()


def test_faults_are_told_in_lines(results: Path, tmp_path: Path, run: Run):
    done = run("report", "--results", str(tmp_path / "nowhere"), "--out", str(tmp_path / "out"))
    assert (done.code, done.out) == (2, "")
    assert "error: " in done.err
    assert "found no folder of results here" in done.err
    bad = written(results, [raw(u_max=-1)], "bad.json")
    done = run("report", "--results", str(results), "--out", str(tmp_path / "out"))
    assert done.code == 1
    assert f"error: {bad}: 0.u_max: " in done.err
    bad.write_text("[", encoding="utf-8")
    done = run("report", "--results", str(results), "--out", str(tmp_path / "out"))
    assert f"error: {bad}: not JSON: " in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "out").exists(), "nothing is made of records that cannot be read"


def test_what_is_in_the_way_is_not_overwritten(results: Path, tmp_path: Path, run: Run):
    file = tmp_path / "file"
    file.write_text("mine", encoding="utf-8")
    done = run("report", "--results", str(results), "--out", str(file))
    assert done.code == 2
    assert f"found a file at {file}, expected a folder or nothing" in done.err
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text("<p>mine</p>", encoding="utf-8")
    done = run("report", "--results", str(results), "--out", str(site))
    assert done.code == 2
    assert "found a page here that `handful report` has not made" in done.err
    assert (site / "index.html").read_text(encoding="utf-8") == "<p>mine</p>"
    done = run("report", "--results", str(results), "--out", str(file / "below"))
    assert done.code == 1
    assert "cannot be made: Not a directory" in done.err


def test_packages_that_are_not_installed_are_named(
    results: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    done = run("report", "--results", str(results), "--out", str(tmp_path / "out"))
    assert done.code == 2
    assert "pip install 'handful[report]'" in done.err
