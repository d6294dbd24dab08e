"""The files of the domain sets, and that training on them sees no text of a board."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from handful.data.board_texts import board_texts, without_texts
from handful.data.corpora import load_corpus
from handful.data.domain_sets import (
    NO_INTENT,
    DomainSet,
    TrainingDomain,
    load_domain_set,
    training_domains,
)
from handful.data.domain_sources import DOMAIN_SETS
from handful.data.sources import verify
from handful.errors import DataError

LINES = {
    "sgd_intent_turns_cat": 34_714,
    "topv2_messaging_music_timer": 16_890,
    "multidogo": 41_574,
    "ms_skills_lu": 10_513,
    "luis_samples": 1_172,
    "multiwoz21": 14_124,
    "camrest676": 1_866,
    "homeassistant_en": 1_074,
    "braun2017": 452,
    "dstc11_track2": 2_407,
    "crossner": 5_239,
    "wnut17": 5_576,
}


Trainable = Mapping[str, tuple[TrainingDomain, ...]]


@pytest.fixture(scope="module")
def loaded(data_dir: Path) -> dict[str, DomainSet]:
    return {name: load_domain_set(name, data_dir) for name in DOMAIN_SETS}


@pytest.fixture(scope="module")
def forbidden(data_dir: Path) -> frozenset[str]:
    return board_texts(data_dir)


@pytest.fixture(scope="module")
def trainable(loaded: dict[str, DomainSet], forbidden: frozenset[str]) -> Trainable:
    return {name: training_domains(found, leave_out=forbidden) for name, found in loaded.items()}


@pytest.mark.parametrize("name", DOMAIN_SETS)
def test_the_pinned_sums_are_those_of_the_files(name: str, data_dir: Path):
    assert verify(DOMAIN_SETS[name].data, data_dir) == []
    files = {file.path for file in DOMAIN_SETS[name].data.files}
    there = {str(path.relative_to(data_dir)) for path in (data_dir / "domains" / name).rglob("*.json*")}
    assert files == there


def test_every_line_is_read(loaded: dict[str, DomainSet]):
    assert {name: len(found.lines) for name, found in loaded.items()} == LINES
    assert sum(LINES.values()) == 135_601
    assert all(found.mended == () for found in loaded.values())
    for found in loaded.values():
        assert f"{len(found.lines):,} lines" in found.source.data.title


def test_no_two_intents_of_a_domain_become_one(loaded: dict[str, DomainSet]):
    for found in loaded.values():
        intents = {(line.domain, line.intent) for line in found.lines if line.intent is not None}
        bare = Counter((domain, found.source.bare_intent(intent)) for domain, intent in intents)
        assert max(bare.values(), default=1) == 1, bare.most_common(1)


def test_multidogos_names_are_all_spelt_out(loaded: dict[str, DomainSet]):
    found = loaded["multidogo"]
    intents = {line.intent for line in found.lines if line.intent is not None} - NO_INTENT
    single_words = {intent for intent in intents if " " not in found.source.bare_intent(intent)}
    assert single_words == {"confirmation", "rejection"}


def test_counts_of_what_trains(trainable: Trainable):
    counts = {
        name: (
            len(domains),
            len({utterance.intent for domain in domains for utterance in domain.utterances}),
            any(domain.slots_only for domain in domains),
        )
        for name, domains in trainable.items()
    }
    assert counts == {
        "sgd_intent_turns_cat": (45, 88, False),
        "topv2_messaging_music_timer": (3, 32, False),
        "multidogo": (6, 73, False),
        "ms_skills_lu": (17, 140, False),
        "luis_samples": (23, 82, False),
        "multiwoz21": (1, 15, True),
        "camrest676": (1, 2, True),
        "homeassistant_en": (1, 31, False),
        "braun2017": (3, 13, False),
        "dstc11_track2": (3, 77, False),
        "crossner": (5, 0, True),
        "wnut17": (1, 0, True),
    }


# -- no leak ---------------------------------------------------------------------------------------------------------


def plain_key(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def test_the_forbidden_texts_are_those_of_whole_files(data_dir: Path, forbidden: frozenset[str]):
    """Read anew, by paths found on the disk: a board that board_texts forgets shows here."""
    texts: list[str] = []
    folders = [data_dir / "snips", data_dir / "fb_multilingual_en", data_dir / "boards" / "intents"]
    files = [path for folder in folders for path in sorted(folder.rglob("seq.in"))]
    assert len(files) == 16
    for path in files:
        texts += path.read_text(encoding="utf-8").split("\n")
    episode_files = sorted((data_dir / "boards").glob("snips_*/*.json"))
    assert len(episode_files) == 18
    for path in episode_files:
        for episodes in json.loads(path.read_text(encoding="utf-8")).values():
            for part in (part for episode in episodes for part in episode.values()):
                texts += [" ".join(words) for words in part["seq_ins"]]
    for path in sorted((data_dir / "boards" / "nlupp").glob("*.jsonl")):
        texts += [" ".join(json.loads(line)["tokens"]) for line in path.read_text(encoding="utf-8").splitlines()]
    english = sorted((data_dir / "boards" / "xsid").glob("en.*.conll"))
    assert len(english) == 2
    for path in english:
        for block in path.read_text(encoding="utf-8").split("\n\n"):
            rows = [row.split("\t") for row in block.split("\n") if row and not row.startswith("#")]
            texts.append(" ".join(row[1] for row in rows))
    for rows in json.loads((data_dir / "clinc150" / "data_full.json").read_text(encoding="utf-8")).values():
        texts += [text for text, _ in rows]
    for corpus in ("atis", "top"):
        texts += [utterance.text for utterance in load_corpus(corpus, data_dir).split("test")]
    keys = {plain_key(text) for text in texts} - {""}
    assert len(texts) > 150_000
    assert [key for key in keys if key not in forbidden] == []
    assert "" not in forbidden


def test_what_training_uses_shares_no_text_with_a_board(trainable: Trainable, forbidden: frozenset[str]):
    for domains in trainable.values():
        used = (utterance for domain in domains for utterance in (*domain.utterances, *domain.slots_only))
        assert [utterance.text for utterance in used if plain_key(utterance.text) in forbidden] == []


def test_nothing_else_is_left_out(loaded: dict[str, DomainSet], trainable: Trainable, forbidden: frozenset[str]):
    left_out = {}
    for name, found in loaded.items():
        lines = [line for line in found.lines if line.intent not in NO_INTENT]
        left_out[name] = sum(plain_key(" ".join(line.words)) in forbidden for line in lines)
        used = sum(len(domain.utterances) + len(domain.slots_only) for domain in trainable[name])
        assert used == len(lines) - left_out[name]
    assert (left_out["multidogo"], left_out["ms_skills_lu"], left_out["crossner"]) == (121, 107, 0)


@pytest.mark.parametrize("corpus", ["atis", "top"])
def test_the_papers_train_and_dev_intents_share_no_text_with_a_board(
    corpus: str, data_dir: Path, forbidden: frozenset[str]
):
    loaded_corpus = load_corpus(corpus, data_dir)
    utterances = [*loaded_corpus.split("train"), *loaded_corpus.split("dev")]
    kept = without_texts(utterances, forbidden)
    assert 0 < len(utterances) - len(kept) < 100
    assert [utterance.text for utterance in kept if plain_key(utterance.text) in forbidden] == []


def test_a_missing_board_is_an_error(tmp_path: Path, data_dir: Path):
    for name in ("snips", "fb_multilingual_en"):
        (tmp_path / name).symlink_to(data_dir / name)
    with pytest.raises(DataError, match=r"boards/intents/banking77/train_5/seq\.in: there is no such file"):
        board_texts(tmp_path)
