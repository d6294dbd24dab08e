from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench.made import record
from handful.bench.plan import Grid, all_records, planned
from handful.bench.rows import CORPORA, ENCODERS, MODES, PAPER_ROWS, ROWS, Budget, chosen, in_paper, missing, run_config
from handful.errors import ConfigError, DataError
from handful.training.measure import Scoring
from handful.training.start import row_of

GRID = Grid(("proto", "(w,w)"), ("minilm",), ("atis",))


def as_records(work: Any, scorings: list[Scoring]) -> list[dict[str, Any]]:
    return [
        {
            "config": work.config.model_dump(mode="json"),
            "corpus": s.corpus,
            "u_max": s.u_max,
            "episodes": s.episodes,
            "episode_seed": s.seed,
            "split": s.split,
            "details": {},
        }
        for s in scorings
    ]


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("encoder", ["minilm", "gte-small", "bert-base", "glove"])
def test_settings_of_every_run_are_valid_and_have_the_rows_name(row: str, encoder: str):
    config = run_config(row, encoder, CORPORA, 3, Budget())
    assert row_of(config) == row
    assert (config.train_seed, config.episode_seed, config.corpora) == (3, 3, CORPORA)


def test_a_budget_is_the_same_for_every_row():
    sizes = {(c.epochs, c.episodes_per_epoch) for c in (run_config(r, "minilm", ("top",), 0, Budget()) for r in ROWS)}
    assert sizes == {(5, 100)}


def test_the_grid_is_every_combination_once(tmp_path: Path):
    grid = Grid(("proto", "(w,w)"), ("minilm",), ("atis", "top"), MODES, seeds=(0, 1))
    plan = planned(grid, tmp_path, [])
    found = [(work.title, len(work.scorings)) for work in plan.works]
    assert len(found) == len(set(found)) == 2 * 2 * (2 + 1)
    assert {count for title, count in found if "snips+atis+top" in title} == {4}
    assert len({work.folder for work in plan.works}) == len(plan.works)


def test_what_is_done_is_not_done_again_and_what_is_owed_is(tmp_path: Path):
    first, second = planned(GRID, tmp_path, []).works
    plan = planned(GRID, tmp_path, as_records(first, list(first.scorings)) + as_records(second, [Scoring("atis", 100)]))
    assert plan.done == 1
    (left,) = plan.works
    assert left.config == second.config
    assert left.scorings == (Scoring("atis", 20),)


def test_fewer_episodes_other_settings_or_no_details_are_another_measurement(tmp_path: Path):
    works = planned(GRID, tmp_path, []).works
    done = [record for work in works for record in as_records(work, list(work.scorings))]
    assert planned(GRID, tmp_path, done).works == ()
    assert len(planned(Grid(GRID.rows, GRID.encoders, GRID.corpora, episodes=50), tmp_path, done).works) == 2
    assert len(planned(GRID, tmp_path, done, {"optimiser.clip": 2.0}).works) == 2
    bare = [{key: value for key, value in record.items() if key != "details"} for record in done]
    assert len(planned(GRID, tmp_path, bare).works) == 2


def test_a_setting_that_came_later_does_not_make_old_records_strange(tmp_path: Path):
    works = planned(GRID, tmp_path, []).works
    done = [record for work in works for record in as_records(work, list(work.scorings))]
    for old in done:
        del old["config"]["checkpoint_precision"]
    assert planned(GRID, tmp_path, done).works == ()


def test_without_weights_a_row_is_skipped_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HANDFUL_WEIGHTS", str(tmp_path))
    plan = planned(Grid(("proto",), ("minilm", "elmo", "bert-base"), ("atis",)), tmp_path, [])
    assert len(plan.works) == 1
    assert [skipped.encoder for skipped in plan.skipped] == ["elmo", "bert-base"]
    assert "elmo/weights.hdf5" in plan.skipped[0].reason
    assert "bert-base-uncased" in plan.skipped[1].reason
    (tmp_path / "elmo").mkdir()
    for name in ("options.json", "weights.hdf5"):
        (tmp_path / "elmo" / name).write_text("")
    assert missing("elmo") is None
    assert run_config("proto", "elmo", ("atis",), 0, Budget()).encoder.kind == "elmo"


def test_ablations_are_asked_at_20_alone(tmp_path: Path):
    plan = planned(Grid(("intent-to-slot",), ("minilm",), ("atis",)), tmp_path, [])
    assert [scoring.u_max for work in plan.works for scoring in work.scorings] == [20]


def test_the_papers_own_rows_stand_on_bert_alone():
    lines = {(r, e, m) for r in PAPER_ROWS for e in ENCODERS for m in MODES if in_paper(r, e, m)}
    assert ("proto", "glove", "joint") in lines
    assert ("(w,w)", "minilm", "single") in lines
    assert not {
        (r, e, m) for r, e, m in lines if r not in {"proto", "fomaml", "finetune"} and (e == "glove" or m == "joint")
    }
    assert not in_paper("joint_spans", "minilm", "single")
    plan = planned(Grid(PAPER_ROWS, ("glove",), ("atis",), only_paper=True), Path("runs"), [])
    assert {row_of(work.config) for work in plan.works} == {"proto", "fomaml", "finetune"}


def test_a_misspelt_name_is_told():
    with pytest.raises(ConfigError, match="there is no row 'porto'; did you mean 'proto'"):
        chosen(["porto"], tuple(ROWS), "row")
    assert chosen(["top", "snips"], CORPORA, "corpus") == ("snips", "top")
    assert chosen(None, CORPORA, "corpus") == CORPORA


def test_records_are_found_below_a_folder_and_other_files_left_alone(tmp_path: Path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.json").write_text(json.dumps([record("proto", [1.0], [1.0]), {"system": "x"}]))
    (tmp_path / "speed.json").write_text('{"row": 1}')
    assert [record["row"] for record in all_records(tmp_path)] == ["proto"]
    (tmp_path / "half.json").write_text('[{"row": ')
    with pytest.raises(DataError, match=r"half\.json: not JSON"):
        all_records(tmp_path)
    (tmp_path / "half.json").write_text('[{"row": "proto", "intent_accuracy": {}, "corpus": "atis"}]')
    with pytest.raises(DataError, match=r"half\.json.*the record lacks encoder, mode"):
        all_records(tmp_path)


def test_records_of_another_version_are_nothing_that_is_owed(tmp_path: Path):
    strange = record("proto", [1.0], [1.0])
    strange["config"]["made_up"] = 1
    assert len(planned(GRID, tmp_path, [strange]).works) == 2
