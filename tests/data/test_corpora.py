from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from handful.data.corpora import load_corpus
from handful.data.splits import PAPER_SPLITS, split_by_intent
from handful.errors import ConfigError
from handful.types import Utterance

# The paper's Table 2, and the counts of every intent.
COUNTS = {
    ("snips", "train"): {"BookRestaurant": 2073, "SearchScreeningEvent": 2059, "RateBook": 2056, "AddToPlaylist": 2042},
    ("snips", "test"): {"PlayMusic": 2100, "GetWeather": 2100, "SearchCreativeWork": 2054},
    ("atis", "train"): {"flight": 4332, "flight_no": 21, "meal": 12, "restriction": 6, "day_name": 2},
    ("atis", "dev"): {
        "airfare": 473, "aircraft": 91, "quantity": 54, "city": 25, "ground_fare": 25, "cheapest": 1,
    },
    ("atis", "test"): {
        "ground_service": 292, "airline": 197, "abbreviation": 180, "flight_time": 55, "airport": 38, "capacity": 37,
        "distance": 30,
    },
    ("top", "train"): {
        "GET_EVENT": 10063, "GET_INFO_TRAFFIC": 8629, "UNSUPPORTED": 1484, "GET_ESTIMATED_DEPARTURE": 160,
        "UNINTELLIGIBLE": 4, "GET_EVENT_ATTENDEE_AMOUNT": 3, "GET_EVENT_ORGANIZER": 2,
    },
    ("top", "dev"): {
        "GET_ESTIMATED_DURATION": 2309, "GET_DISTANCE": 1962, "GET_LOCATION": 47, "GET_INFO_ROUTE": 13,
        "GET_EVENT_ATTENDEE": 2,
    },
    ("top", "test"): {
        "UNSUPPORTED_NAVIGATION": 2175, "GET_DIRECTIONS": 752, "GET_ESTIMATED_ARRIVAL": 538, "UNSUPPORTED_EVENT": 424,
        "GET_INFO_ROAD_CONDITION": 316, "UPDATE_DIRECTIONS": 221,
    },
}  # fmt: skip
TOTALS = {
    ("snips", "train"): 8230, ("snips", "test"): 6254, ("atis", "train"): 4373, ("atis", "dev"): 669,
    ("atis", "test"): 829, ("top", "train"): 20345, ("top", "dev"): 4333, ("top", "test"): 4426,
}  # fmt: skip


@pytest.mark.parametrize("name", ["snips", "atis", "top"])
def test_the_splits_are_the_papers(data_dir: Path, name: str):
    corpus = load_corpus(name, data_dir)
    assert {(name, split) for split in corpus.splits} == {key for key in COUNTS if key[0] == name}
    for split, utterances in corpus.splits.items():
        assert len(utterances) == TOTALS[name, split]
        assert Counter(u.intent for u in utterances) == COUNTS[name, split]
        assert all(slot.label.startswith(f"{u.intent}.") for u in utterances for slot in u.slots)
    assert corpus.mended == ()


@pytest.mark.parametrize("name", ["snips", "atis", "top"])
def test_the_authors_files_have_the_same_intents(data_dir: Path, name: str):
    ours, theirs = load_corpus(name, data_dir), load_corpus(f"released-{name}", data_dir)
    for split, utterances in theirs.splits.items():
        assert sorted(Counter(u.intent for u in utterances).values()) == sorted(COUNTS[name, split].values())
    assert set(theirs.splits) == set(ours.splits)


def test_illegal_tags_of_a_corpus_are_mended_and_counted(data_dir: Path):
    corpus = load_corpus("fb_multilingual_en", data_dir)
    assert {split: len(part) for split, part in corpus.splits.items()} == {"train": 30521, "dev": 4181, "test": 8621}
    assert [problem.place.line for problem in corpus.mended] == [1307, 305, 1431]


def test_clinc_has_its_out_of_scope_parts(data_dir: Path):
    corpus = load_corpus("clinc150", data_dir)
    assert len({u.intent for u in corpus.split("train")}) == 150
    assert {u.intent for u in corpus.split("oos_test")} == {"oos"}


def test_a_digest_names_the_content(data_dir: Path):
    corpus = load_corpus("atis", data_dir)
    assert corpus.digest("test") == load_corpus("atis", data_dir).digest("test")
    assert corpus.digest("test") != corpus.digest("dev")


def test_names_splits_and_folders_that_are_not_there(data_dir: Path, tmp_path: Path):
    with pytest.raises(ConfigError, match="did you mean 'snips'"):
        load_corpus("snip", data_dir)
    with pytest.raises(ConfigError, match="has no split 'dev'; it has train, test"):
        load_corpus("snips", data_dir).split("dev")
    with pytest.raises(ConfigError, match="`handful data get atis` fetches it"):
        load_corpus("atis", tmp_path)


def test_files_of_another_corpus_are_not_split_by_the_papers_intents():
    found = [Utterance.from_words(["hi"], "greet")]
    with pytest.raises(ConfigError, match="no split names: 'greet'"):
        split_by_intent(found, PAPER_SPLITS["snips"])
    with pytest.raises(ConfigError, match="hold no utterance of 'bye'"):
        split_by_intent(found, {"train": ("greet",), "test": ("bye",)})
