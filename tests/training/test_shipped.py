"""The checkpoint that comes with the package: what it was trained on, what it weighs, and that it is the default."""

from __future__ import annotations

from pathlib import Path

import pytest

from handful.data.board_texts import board_texts
from handful.data.corpora import load_corpus
from handful.data.domain_sets import text_key
from handful.data.splits import PAPER_SPLITS
from handful.errors import CheckpointError
from handful.learners.joint_spans import JointSpansLearner
from handful.training.checkpoint import read_about
from handful.training.config import load_config
from handful.training.sets import domain_training_sets, domains_version
from handful.training.shipped import READY, ready_learner, shipped_folder

ROOT = Path(__file__).parent.parent.parent


def test_it_is_what_its_config_makes():
    assert read_about(shipped_folder()).config == load_config(ROOT / "configs" / "shipped.yml")


def test_no_text_of_a_board_and_no_test_intent_was_in_its_training_set(data_dir: Path):
    about = read_about(shipped_folder())
    config = about.config
    corpora = [load_corpus(name, data_dir) for name in config.corpora]
    sets = domain_training_sets(corpora, config.train_splits, config.domain_sets, data_dir, hold_out=False)
    # The very data that it was trained on, by the sum that was noted in training.
    assert about.data_version == domains_version(sets.domains)
    assert "snips" not in config.corpora
    trained = [u for domain in sets.domains for u in (*domain.utterances, *domain.slots_only)]
    boards = board_texts(data_dir)
    assert not {text_key(utterance.sentence) for utterance in trained} & boards
    by_name = {domain.name: domain for domain in sets.domains}
    for corpus in corpora:
        intents = {utterance.intent for utterance in by_name[corpus.name].utterances}
        assert intents == {*PAPER_SPLITS[corpus.name]["train"], *PAPER_SPLITS[corpus.name]["dev"]}
        # Which is not so by itself: some sentences of train intents are test sentences, too.
        everything = {text_key(u.sentence) for split in config.train_splits for u in corpus.split(split)}
        assert everything & boards


def test_it_weighs_no_more_than_16_megabytes():
    files = [file for file in shipped_folder().iterdir() if file.is_file()]
    assert sum(file.stat().st_size for file in files) <= 16_000_000
    assert {file.suffix for file in files} == {".json", ".safetensors", ".md"}


def test_its_card_names_the_licences_and_limits():
    card = (shipped_folder() / "CARD.md").read_text(encoding="utf-8")
    for wanted in (
        "CC BY-SA",
        "CDLA-Permissive",
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
