"""Records of results, and the log that a run leaves."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from handful.data.corpora import load_corpus
from handful.episodes.sampler import EpisodeSampler
from handful.errors import CheckpointError, ConfigError
from handful.learners.fomaml import FomamlConfig
from handful.training.config import RunConfig
from handful.training.details import Details
from handful.training.evaluate import evaluate_episode, summary
from handful.training.events import DevScored
from handful.training.loop import Trainer
from handful.training.measure import Scoring, dev_curve, labels_of, measured, peak_mb, trained
from handful.training.records import read_events
from handful.training.scoring import METRICS, EpisodeScore

pytestmark = pytest.mark.usefixtures("one_thread")

Config = Callable[..., RunConfig]
Start = Callable[..., Trainer]

LEARNERS = {
    "proto": ({"name": "proto"}, {"decoding": "joint"}),
    "retriever": ({"name": "retriever", "width": 4, "decoding": "independent"}, {"decoding": "independent"}),
    "finetune": (
        {"name": "finetune", "fitting": {"steps": 2}},
        {"decoding": "joint", "tuning_steps": 2},
    ),
    "fomaml": ({"name": "fomaml", "fitting": {"steps": 1}}, {"decoding": "joint", "tuning_steps": 1}),
}


@pytest.fixture
def run(tmp_path: Path, tiny_config: Config, start: Start) -> Callable[..., Path]:
    def made(**changes: object) -> Path:
        optimiser = {"episodes_per_step": 2, "learning_rate": 0.01}
        list(start(tiny_config(epochs=1, optimiser=optimiser, **changes), tmp_path / "run").train())
        return tmp_path / "run"

    return made


@pytest.mark.parametrize("name", LEARNERS)
def test_a_record_says_what_was_measured_and_how(name: str, run: Callable[..., Path], tiny_data: Path):
    settings, of_prediction = LEARNERS[name]
    scored = trained(run(learner=settings, u_max=30, train_seed=4))
    corpus = load_corpus("atis", tiny_data)
    sampler = EpisodeSampler(corpus.split("test"), u_max=25, seed=7, query_cap=2)
    told: list[EpisodeScore] = []
    record = measured(scored, corpus, sampler, Scoring("atis", 25, episodes=3, seed=7), told.append)

    expected = {
        "row": name,
        "mode": "single",
        "train_corpus": "atis",
        "train_u_max": 30,
        "train_seed": 4,
        "train_episodes": 4,
        "corpus": "atis",
        "split": "test",
        "u_max": 25,
        "episodes": 3,
        "episode_seed": 7,
        "query_cap": 2,
        "data_version": corpus.digest("test"),
        **of_prediction,
    }
    assert {key: record[key] for key in expected} == expected
    measures = {"encoder", "train_seconds", "eval_seconds", "peak_mb", "config", "details"}
    assert set(record) == {*expected, *measures, *METRICS}
    assert RunConfig.model_validate(record["config"]).learner == scored.learner.config
    assert json.loads(json.dumps(record)) == record

    details = Details()
    scores = [evaluate_episode(scored.learner, episode, details) for episode in sampler.episodes(3)]
    assert told == scores
    assert record["details"] == details.record()
    for metric, interval in summary(scores).items():
        assert record[metric]["mean"] == round(100 * interval.mean, 2)
        assert record[metric]["ci95"] == (None if interval.ci95 is None else round(100 * interval.ci95, 2))
        assert record[metric]["per_episode"] == [round(100 * getattr(score, metric), 2) for score in scores]
    queries = sum(len(episode.query) for episode in sampler.episodes(3))
    assert sum(row[1] for row in record["details"]["shots"]) == queries


def test_one_episode_has_no_interval(run: Callable[..., Path], tiny_data: Path):
    corpus = load_corpus("atis", tiny_data)
    sampler = EpisodeSampler(corpus.split("dev"), u_max=20, seed=0)
    record = measured(
        trained(run(learner={"name": "proto"})), corpus, sampler, Scoring("atis", 20, episodes=1, split="dev")
    )
    assert [record[metric]["ci95"] for metric in METRICS] == [None] * len(METRICS)
    assert record["split"] == "dev"
    assert record["data_version"] == corpus.digest("dev")


def test_settings_of_prediction_are_given_anew_and_stand_in_the_record(run: Callable[..., Path]):
    folder = run(learner={"name": "fomaml", "fitting": {"steps": 1}})
    changed = trained(folder, {"fitting.steps": 4, "decoding": "independent"})
    assert (changed.about["tuning_steps"], changed.about["decoding"]) == (4, "independent")
    assert isinstance(changed.learner.config, FomamlConfig)
    assert changed.learner.config.fitting.rate == FomamlConfig().fitting.rate
    assert changed.about["config"]["learner"]["fitting"]["steps"] == 4
    assert trained(folder).about["tuning_steps"] == 1, "nothing of the run was changed"
    with pytest.raises(ConfigError, match="--set slot_weight: a trained fomaml can be given 'decoding', 'fitting'"):
        trained(folder, {"slot_weight": 2})


def test_a_run_on_several_corpora_is_filed_as_joint(tiny_config: Config):
    found = labels_of(tiny_config(data=["snips", "atis"], learner={"name": "proto"}))
    assert (found["row"], found["mode"], found["train_corpus"]) == ("proto", "joint", "snips+atis")


def test_a_peak_of_memory_is_told_on_linux():
    assert (peak_mb() or 0) > 50 or not Path("/proc/self/status").exists()


# -- the log -----------------------------------------------------------------------------------------------------------


def test_the_curve_of_dev_scores_is_that_of_the_events(tmp_path: Path, tiny_config: Config, start: Start):
    events = list(start(tiny_config(learner={"name": "proto"}), tmp_path / "run").train())
    scored = [event for event in events if isinstance(event, DevScored)]
    metrics = ("intent_accuracy", "slot_f1_strict", "slot_f1_released")
    assert len(scored) == 3
    assert dev_curve(tmp_path / "run") == [
        [event.step, *(round(event.scores[metric], 2) for metric in metrics)] for event in scored
    ]
    assert dev_curve(tmp_path / "nothing") == []


def test_a_last_line_that_was_cut_off_is_not_there_yet(tmp_path: Path):
    log = tmp_path / "events.jsonl"
    lines = ['{"event": "step", "step": 1}', '{"event": "dev", "step": 1}']
    log.write_text("\n".join([*lines, '{"event": "st']))
    assert read_events(log) == [json.loads(line) for line in lines]
    log.write_text("\n".join(lines) + "\n")
    assert read_events(log) == [json.loads(line) for line in lines]
    log.write_text("")
    assert read_events(log) == []
    assert read_events(tmp_path / "none.jsonl") == []


@pytest.mark.parametrize("bad", ["{", "", "step 2"])
def test_a_bad_line_is_told_with_its_number(bad: str, tmp_path: Path):
    log = tmp_path / "events.jsonl"
    log.write_text("\n".join(['{"event": "step"}', bad, '{"event": "step"}', ""]))
    with pytest.raises(CheckpointError, match=r"events\.jsonl, line 2: not JSON: "):
        read_events(log)
