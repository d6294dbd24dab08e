from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from handful.data.domain_sets import (
    DomainLine,
    DomainSet,
    TrainingDomain,
    load_domain_set,
    read_domain_lines,
    text_key,
    training_domains,
)
from handful.data.domain_sources import DOMAIN_SETS, DomainSource
from handful.data.labels import qualified, unqualified
from handful.data.sources import DataSet
from handful.errors import ConfigError, DataError, Problem
from handful.learners.span_support import SpanSupport
from handful.types import Slot, Utterance

GOOD = {"tokens": ["to", "Rome"], "slots": ["O", "B-city"], "intent": "fly", "domain": "travel"}

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
