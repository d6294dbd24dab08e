"""The checkpoint that comes with the package: what it was trained on, what it weighs, and that it is the default."""

from __future__ import annotations

from pathlib import Path

import pytest

from handful.data.corpora import load_corpus
from handful.data.splits import PAPER_SPLITS
from handful.errors import CheckpointError
from handful.learners.joint_spans import JointSpansLearner
from handful.training.checkpoint import read_about
from handful.training.config import load_config
from handful.training.sets import said, training_sets
from handful.training.shipped import READY, ready_learner, shipped_folder
from handful.training.start import corpora_version

ROOT = Path(__file__).parent.parent.parent


def test_it_is_what_its_config_makes():
    assert read_about(shipped_folder()).config == load_config(ROOT / "configs" / "shipped.yml")


def test_no_test_intent_and_no_test_text_was_in_its_training_set(data_dir: Path):
    about = read_about(shipped_folder())
    config = about.config
    corpora = [load_corpus(name, data_dir) for name in config.corpora]
    # The very data that it was trained on, by the sums that were noted in training.
    assert about.data_version == corpora_version(corpora)
    sets = training_sets(corpora, config.train_splits, scored=config.dev.episodes > 0, leave_out=config.leave_out)
    tested = [utterance for corpus in corpora for utterance in corpus.split("test")]
    assert not sets.dev
    for corpus, trained in zip(corpora, sets.train, strict=True):
        intents = {utterance.intent for utterance in trained}
        assert intents == {*PAPER_SPLITS[corpus.name]["train"], *PAPER_SPLITS[corpus.name]["dev"]}
        assert not intents & set(PAPER_SPLITS[corpus.name]["test"])
    assert not {said(u) for u in sets.utterances} & {said(u) for u in tested}
    # Which is not so by itself: TOP has sentences in two splits, with two intents.
    everything = training_sets(corpora, config.train_splits, scored=False)
    assert {said(u) for u in everything.utterances} & {said(u) for u in tested}


def test_it_weighs_no_more_than_16_megabytes():
    files = [file for file in shipped_folder().iterdir() if file.is_file()]
    assert sum(file.stat().st_size for file in files) <= 16_000_000
    assert {file.suffix for file in files} == {".json", ".safetensors", ".md"}


def test_its_card_names_the_licences_and_limits():
    card = (shipped_folder() / "CARD.md").read_text(encoding="utf-8")
    for wanted in (
        "CC0",
        "CC-BY-SA",
        "LDC",
        "English",
        "configs/shipped.yml",
        read_about(shipped_folder()).weights_sha256,
    ):
        assert wanted in card


def test_the_ready_learners():
    assert READY == ("joint_spans", "prototypes")
    assert isinstance(ready_learner("joint_spans"), JointSpansLearner)


def test_a_package_without_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("handful.training.shipped.resources.files", lambda name: tmp_path)
    with pytest.raises(CheckpointError, match=r"install the package again, or make it with `handful train configs"):
        shipped_folder()
