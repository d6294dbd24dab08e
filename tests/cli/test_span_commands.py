"""train and evaluate with joint_spans as a user runs them, on a tiny encoder and tiny data."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

SETTINGS = """
data: [snips, atis]
train_episodes: {{kind: balanced, most_classes: 4, most_shots: 3}}
epochs: 1
episodes_per_epoch: 4
encoder: {{name: {encoder}, frozen_layers: 1}}
learner: {{name: joint_spans, width: 8}}
optimiser: {{warmup_steps: 2, learning_rate: 0.01}}
dev: {{episodes: 1}}
"""


@pytest.fixture
def trained(
    run, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path, tiny_data: Path, monkeypatch
) -> Path:
    """The folder of a run that took four steps."""
    monkeypatch.setenv("HANDFUL_DATA", str(tiny_data))
    kept = tmp_path_factory.getbasetemp() / "trained spans"
    if not kept.exists():
        (tmp_path / "spans.yml").write_text(SETTINGS.format(encoder=tiny_bert))
        ended = run("train", str(tmp_path / "spans.yml"), "--into", str(tmp_path / "first"))
        assert ended.code == 0, ended.err
        shutil.move(tmp_path / "first", kept)
    return kept


def evaluated(run, folder: Path, *words: str) -> dict:
    scored = run("evaluate", str(folder), "--data", "atis", "--episodes", "2", "--json", "-", *words)
    assert scored.code == 0, scored.err
    return json.loads(scored.out)


def test_a_run_is_scored_with_other_settings_of_prediction(run, trained: Path):
    plain = evaluated(run, trained)
    changed = evaluated(run, trained, "--set", "tuning.steps=2", "--set", "tuning.learning_rate=0.01")
    assert (plain["row"], plain["mode"], plain["train_corpus"], plain["corpus"]) == (
        "joint_spans", "joint", "snips+atis", "atis",
    )  # fmt: skip
    assert (plain["tuning_steps"], changed["tuning_steps"]) == (0, 2)
    assert plain["train_episodes"] == 4
    assert (
        changed["config"]["learner"]["tuning"] | {"steps": 0, "learning_rate": 1.5e-4}
        == (plain["config"]["learner"]["tuning"])
    )
    assert changed["config"]["learner"]["width"] == 8
    metrics = ("intent_accuracy", "slot_f1_strict")
    assert [changed[name]["per_episode"] for name in metrics] != [plain[name]["per_episode"] for name in metrics]
    assert evaluated(run, trained)["slot_f1_strict"] == plain["slot_f1_strict"], "nothing of the run was changed"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--set", "width=16"], "and nothing else without training it anew"),
        (["--set", "learner.tuning.steps=2"], "--set learner.tuning.steps: a trained joint_spans can be given"),
        (["--set", "tuning.steps=many"], "--set: tuning.steps: input should be a valid integer"),
        (["--set", "tuning.steps"], "expected key=value"),
    ],
)
def test_settings_that_cannot_be_changed_are_told_in_a_line(run, trained: Path, words: list[str], expected: str):
    told = run("evaluate", str(trained), "--data", "atis", "--episodes", "1", *words)
    assert told.code in (1, 2)
    assert expected in told.err
    assert "Traceback" not in told.err


def test_a_run_on_several_corpora_is_scored_on_one_that_is_named(run, trained: Path):
    told = run("evaluate", str(trained), "--episodes", "1")
    assert told.code == 2
    assert "the run was trained on snips, atis: name one to score on with --data" in told.err
