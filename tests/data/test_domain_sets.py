from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from handful.data.board_texts import board_texts, without_texts
from handful.data.corpora import load_corpus
from handful.data.domain_sets import (
    NO_INTENT,
    DomainLine,
    DomainSet,
    TrainingDomain,
    load_domain_set,
    read_domain_lines,
    text_key,
    training_domains,
)
from handful.data.domain_sources import DOMAIN_SETS, DomainSource
from handful.data.labels import humanised, qualified, unqualified
from handful.data.sgd_schemas import load_sgd_schemas
from handful.data.sources import DataSet, verify
from handful.errors import ConfigError, DataError, Problem
from handful.learners.span_support import SpanSupport
from handful.types import Slot, Utterance

GOOD = {"tokens": ["to", "Rome"], "slots": ["O", "B-city"], "intent": "fly", "domain": "travel"}
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


# -- reading ---------------------------------------------------------------------------------------------------------


def read(tmp_path: Path, *rows: object, unnamed_domain: str | None = None) -> tuple[list[DomainLine], list[Problem]]:
    file = tmp_path / "train.jsonl"
    file.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows) + "\n")
    repairs: list[Problem] = []
    return read_domain_lines(file, "train", repairs, unnamed_domain=unnamed_domain), repairs


def test_a_line_is_read(tmp_path: Path):
    [line], repairs = read(tmp_path, GOOD)
    assert line == DomainLine(("to", "Rome"), (Slot("city", 1, 2),), "travel", "fly", "train")
    assert repairs == []


@pytest.mark.parametrize(
    ("intents", "expected"), [(["a"], "a"), ([], None), (["a", "b"], None)], ids=["one", "none", "several"]
)
def test_only_a_single_intent_counts(tmp_path: Path, intents: list[str], expected: str | None):
    row = {key: value for key, value in GOOD.items() if key != "intent"}
    assert read(tmp_path, row | {"intents": intents})[0][0].intent == expected


def test_illegal_tags_are_mended_and_listed(tmp_path: Path):
    row = GOOD | {"tokens": ["a", "b", "c", "d"], "slots": ["I-x", "I-x", "B-y", "I-x"]}
    [_, line], repairs = read(tmp_path, GOOD, row)
    assert line.slots == (Slot("x", 0, 2), Slot("y", 2, 3), Slot("x", 3, 4))
    assert [str(repair) for repair in repairs] == [
        f"{tmp_path / 'train.jsonl'}:2: the tag 'I-x' of word {number} ('{word}') continues nothing: read as 'B-x'"
        for number, word in ((1, "a"), (4, "d"))
    ]


@pytest.mark.parametrize("domain", [{}, {"domain": None}, {"domain": "None"}])
def test_a_line_without_a_domain_has_that_of_its_set(tmp_path: Path, domain: dict[str, object]):
    row = {key: value for key, value in GOOD.items() if key != "domain"} | domain
    assert read(tmp_path, row, unnamed_domain="chat")[0][0].domain == "chat"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{", "not JSON: Expecting property name"),
        ("", "found an empty line, expected one JSON object a line"),
        ("[1]", "found a list of 1, expected a JSON object"),
        ('{"tokens": NaN}', "'tokens': found nan, expected a list of words"),
        ("[" * 100_000, "nested too deeply to be read"),
        ({"slots": []}, "the key 'tokens' is missing; found the keys 'slots'"),
        (GOOD | {"tokens": []}, "'tokens': found an empty list, expected at least one word"),
        (GOOD | {"tokens": ["to", 7]}, r"'tokens\[1\]': found 7, expected a text without white space"),
        (GOOD | {"tokens": ["to", "New York"]}, r"'tokens\[1\]': found the text 'New York', expected a text without"),
        (GOOD | {"slots": ["O"]}, "found 2 words and 1 tags, expected one tag a word"),
        (GOOD | {"slots": ["O", "city"]}, "found the tag 'city', expected O, B-label or I-label"),
        (GOOD | {"domain": None}, "'domain': found nothing, expected a domain's name"),
        ({**GOOD, "domain": 3}, "'domain': found 3, expected a domain's name"),
        (GOOD | {"domain": ["a"]}, "'domain': found a list of 1, expected a domain's name"),
        (GOOD | {"intent": 3}, "'intent': found 3, expected an intent's name or null"),
        (GOOD | {"intent": " "}, "'intent': found the text ' ', expected an intent's name or null"),
        (GOOD | {"intents": "a"}, "'intents': found the text 'a', expected a list of intents' names"),
        ({key: GOOD[key] for key in ("tokens", "slots", "domain")}, "the key 'intent' is missing"),
    ],
)  # fmt: skip
def test_a_bad_row_is_an_error_with_its_line(tmp_path: Path, row: object, message: str):
    with pytest.raises(DataError, match=rf"train\.jsonl:2: {message}"):
        read(tmp_path, GOOD, row, GOOD)


def test_all_bad_rows_are_told_at_once(tmp_path: Path):
    with pytest.raises(DataError) as caught:
        read(tmp_path, "1", GOOD, "2")
    assert [problem.place.line for problem in caught.value.problems] == [1, 3]


def test_an_unknown_and_a_missing_set(tmp_path: Path):
    with pytest.raises(ConfigError, match="did you mean 'wnut17'"):
        load_domain_set("wnut", tmp_path)
    with pytest.raises(ConfigError, match=r"'wnut17' is not in .*nothing to fetch: it was converted from leondz"):
        load_domain_set("wnut17", tmp_path)


# -- training --------------------------------------------------------------------------------------------------------


MADE = DomainSource(DataSet("made", "", "", "", (), not_fetched="made here"))


def domain_set(*lines: DomainLine, source: DomainSource = MADE) -> DomainSet:
    return DomainSet(source, lines)


def said(text: str, domain: str, intent: str | None) -> DomainLine:
    words = tuple(text.split())
    return DomainLine(words, (Slot("thing", 0, 1),), domain, intent, "train")


def test_equal_names_of_two_domains_are_two_intents_with_one_text():
    made = domain_set(
        said("a b", "one", "Utilities.StopIt"),
        said("c d", "two", "StopIt"),
        source=replace(MADE, intent_prefix=r"\w+\."),
    )
    domains = training_domains(made)
    assert [domain.name for domain in domains] == ["made/one", "made/two"]
    utterances = [utterance for domain in domains for utterance in domain.utterances]
    assert [utterance.intent for utterance in utterances] == ["made/one › StopIt", "made/two › StopIt"]
    assert SpanSupport(utterances, {}).intent_texts == [("stop", "it")] * 2
    assert SpanSupport(utterances, {"made/two › StopIt": "end of it"}).intent_texts[1] == ("end", "of", "it")


def test_what_is_no_intent_left_out_or_held_out_is_not_used():
    made = domain_set(
        said("kept", "one", "a"),
        said("nothing of ours", "one", "None"),
        said("my name", "one", "contentonly"),
        said("A board's text!", "one", "a"),
        said("held out", "two", "a"),
    )
    [domain] = training_domains(made, without_domains={"two"}, leave_out={text_key(["a boards text"])})
    assert domain == TrainingDomain("made/one", (made.lines[0].utterance("made/one › a"),), (), True)


def test_lines_without_an_intent_train_slots_only():
    lines = said("x y", "one", None), said("z", "one", "a")
    [domain] = training_domains(domain_set(*lines))
    assert [utterance.intent for utterance in domain.slots_only] == ["made/one › one"]
    assert [utterance.intent for utterance in domain.utterances] == ["made/one › a"]
    # Where O says nothing there is nothing to learn from them.
    [bare] = training_domains(domain_set(*lines, source=replace(MADE, has_slots=False)))
    assert (bare.slots_only, bare.has_slots) == ((), False)


def test_topics_of_one_bot_are_one_domain():
    lines = said("x", "trains", "Train-Inform"), said("y", "taxis", "Taxi-Inform"), said("z", "trains+taxis", None)
    [domain] = training_domains(domain_set(*lines, source=replace(MADE, one_bot=True)))
    assert domain.name == "made"
    assert [utterance.intent for utterance in domain.utterances] == ["made › Train-Inform", "made › Taxi-Inform"]
    assert [utterance.intent for utterance in domain.slots_only] == ["made › trains+taxis"]


@pytest.mark.parametrize(
    ("name", "intent", "text"),
    [
        ("sgd_intent_turns_cat", "Restaurants.ReserveRestaurant", "reserve restaurant"),
        ("luis_samples", "HomeAutomation.TurnOn", "turn on"),
        ("luis_samples", "OrgChart-Reports", "org chart reports"),
        ("homeassistant_en", "HassTurnOn", "turn on"),
        ("multidogo", "orderpizzaintent", "order pizza"),
        ("multidogo", "changeseatassignment", "change seat assignment"),
        ("multidogo", "rejection", "rejection"),
        ("multiwoz21", "Hotel-Inform", "hotel inform"),
    ],
)
def test_the_text_of_an_intent(name: str, intent: str, text: str):
    label = qualified("a domain", DOMAIN_SETS[name].bare_intent(intent))
    utterance = Utterance.from_words(["x"], label)
    assert SpanSupport([utterance], {}).intent_texts == [tuple(text.split())]


@pytest.mark.parametrize("label", ["faq/ask_name", "Utilities.Cancel", "a>b", "›", "a› b"])
def test_a_users_intent_keeps_its_whole_text(label: str):
    assert unqualified(label) == label


@pytest.mark.parametrize(
    ("left", "right"),
    [("What's up?", "whats UP"), ("8:30 p.m.", "8 30 pm"), ("STRASSE", "straße"), ("snake_case", "snake case")],
)
def test_texts_are_compared_by_letters_and_digits(left: str, right: str):
    assert text_key(left.split()) == text_key(right.split()) != ""


def test_texts_of_marks_alone_have_no_key():
    assert text_key(["?", "!", "_", "👍"]) == ""


# -- the files themselves --------------------------------------------------------------------------------------------


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


# -- SGD's schemas ---------------------------------------------------------------------------------------------------


def schemas(folder: Path, **changes: object) -> Path:
    for number in ("", "1", "2", "3", "4", "5"):
        for split in ("train", "dev", "test"):
            part = folder / (f"sgd_x/data/v{number}" if number else ".") / split
            part.mkdir(parents=True)
            service = {
                "service_name": f"Buses_1{number}",
                "intents": [{"name": f"FindBus{number}", "description": f"find a bus {number}"}],
                "slots": [{"name": f"to{number}", "description": f"where to {number}"}],
            }
            changed = changes if number == "3" and split == "dev" else {}
            (part / "schema.json").write_text(json.dumps([service | changed]))
    return folder


def test_schemas_of_the_test_are_read(tmp_path: Path):
    found = load_sgd_schemas(schemas(tmp_path))
    texts = found["Buses_1"].intents["FindBus"]
    assert texts.names == ("FindBus", "FindBus1", "FindBus2", "FindBus3", "FindBus4", "FindBus5")
    assert texts.descriptions[0] == "find a bus "
    assert found["Buses_1"].slots["to"].names[5] == "to5"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"slots": []}, r"found 0 slots, expected 1 as in the original schema"),
        ({"service_name": "Buses_14"}, "found the text 'Buses_14', expected a service's name that ends in 3"),
        ({"intents": None}, "found nothing, expected a list"),
    ],
)
def test_a_schema_that_does_not_fit_is_an_error(tmp_path: Path, changes: dict[str, object], message: str):
    folder = schemas(tmp_path, **changes)
    # The last of the three files counts, and in the data they are the same.
    (folder / "sgd_x/data/v3/test/schema.json").write_text((folder / "sgd_x/data/v3/dev/schema.json").read_text())
    with pytest.raises(DataError, match=rf"v3/(dev|test)/schema\.json:1.*{message}"):
        load_sgd_schemas(folder)


def test_every_label_of_sgds_lines_has_texts(data_dir: Path, loaded: dict[str, DomainSet]):
    labels = load_sgd_schemas(data_dir / "domains" / "sgd_intent_turns_cat" / "schemas")
    assert len(labels) == 45
    found = loaded["sgd_intent_turns_cat"]
    for line in found.lines:
        assert line.intent is not None
        texts = labels[line.domain].intents[found.source.bare_intent(line.intent)]
        assert len(texts.names) == len(texts.descriptions) == 6
    reworded = labels["Restaurants_1"].intents["ReserveRestaurant"].names
    assert [humanised(name) for name in reworded[:2]] == ["reserve restaurant", "reserve a table"]
