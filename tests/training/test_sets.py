from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from handful.data.corpora import Corpus, load_corpus
from handful.training.sets import training_sets
from handful.types import Utterance


def corpus(utterances: list[Utterance]) -> Corpus:
    return Corpus("snips", {"train": tuple(utterances)})


@dataclass(frozen=True)
class Sides:
    train: tuple[Utterance, ...]
    dev: tuple[Utterance, ...]


def sides(one: Corpus) -> Sides:
    """What one corpus is trained on and scored on."""
    sets = training_sets([one])
    return Sides(*sets.train, *sets.dev)


def made(count: int, intents: tuple[str, ...] = ("a", "b", "c")) -> list[Utterance]:
    return [Utterance.from_words([intent, "number", str(i)], intent) for intent in intents for i in range(count)]


def test_dev_intents_are_used_where_there_are_some(tiny_data: Path):
    atis = load_corpus("atis", tiny_data)
    sets = training_sets([atis])
    assert (sets.train, sets.dev) == ((atis.split("train"),), (atis.split("dev"),))
    assert sets.utterances == (*atis.split("train"), *atis.split("dev"))


def test_several_corpora_are_scored_on_the_dev_intents_of_those_that_have_some(tiny_data: Path):
    snips, atis = (load_corpus(name, tiny_data) for name in ("snips", "atis"))
    sets = training_sets([snips, atis])
    assert sets.train == (snips.split("train"), atis.split("train")), "nothing is held out where dev intents exist"
    assert sets.dev == (atis.split("dev"),)


def test_dev_intents_are_trained_on_where_nothing_is_scored(tiny_data: Path):
    snips, atis = (load_corpus(name, tiny_data) for name in ("snips", "atis"))
    sets = training_sets([snips, atis], ("train", "dev"), scored=False)
    assert sets.train == (snips.split("train"), (*atis.split("train"), *atis.split("dev")))
    assert sets.dev == ()


def test_without_dev_intents_a_tenth_of_every_intent_is_held_out():
    sets = sides(corpus(made(50)))
    assert Counter(u.intent for u in sets.dev) == {"a": 5, "b": 5, "c": 5}
    assert Counter(u.intent for u in sets.train) == {"a": 45, "b": 45, "c": 45}
    assert sorted((*sets.train, *sets.dev), key=repr) == sorted(made(50), key=repr)


def test_a_sentence_that_stands_often_is_on_one_side_and_counts_once():
    utterances = made(50)
    often = utterances + utterances[:20] * 30
    sets = sides(corpus(often))
    assert {u.text for u in sets.dev} == {u.text for u in sides(corpus(utterances)).dev}
    assert not {u.text for u in sets.train} & {u.text for u in sets.dev}
    assert len(sets.train) + len(sets.dev) == len(often)


def test_a_sentence_of_two_intents_is_on_one_side():
    """Its rank among the texts of one intent differs from that among the other's."""
    shared = [Utterance.from_words(["same", str(i)], intent) for i in range(40) for intent in ("a", "b")]
    sets = sides(corpus(shared + made(500, ("b",))))
    assert not {u.text for u in sets.train} & {u.text for u in sets.dev}
    assert {u.intent for u in sets.train} == {u.intent for u in sets.dev} == {"a", "b"}


def test_the_split_depends_on_nothing_but_the_sentences():
    utterances = made(50)
    expected = sides(corpus(utterances))
    shuffled = utterances[:]
    random.Random(0).shuffle(shuffled)
    found = sides(corpus(shuffled))
    assert {u.text for u in found.dev} == {u.text for u in expected.dev}
    # The order of each side is the corpus's: episodes are drawn by place.
    assert [u for u in shuffled if u in set(found.train)] == list(found.train)
    assert sides(corpus(utterances)) == expected
    # Another intent changes nothing for these.
    more = sides(corpus(utterances + made(30, ("d",))))
    assert {u.text for u in more.dev if u.intent != "d"} == {u.text for u in expected.dev}
    # Neither the first nor the last of a file, but these, on every machine.
    assert sorted(u.text for u in expected.dev if u.intent == "a") == [f"a number {i}" for i in (15, 22, 25, 47, 9)]


def test_the_tiny_snips(tiny_data: Path):
    snips = load_corpus("snips", tiny_data)
    sets = sides(snips)
    assert {u.intent for u in sets.dev} == {u.intent for u in sets.train} == {u.intent for u in snips.split("train")}
    assert not {u.text for u in sets.train} & {u.text for u in sets.dev}


@pytest.mark.parametrize("name", ["snips", "released-snips"])
def test_the_real_snips(name: str, data_dir: Path):
    snips = load_corpus(name, data_dir)
    sets = sides(snips)
    assert len(sets.train) + len(sets.dev) == len(snips.split("train")) == 8230
    assert 0.09 < len(sets.dev) / 8230 < 0.11
    assert not {u.text for u in sets.train} & {u.text for u in sets.dev}
    shares = {intent: sum(u.intent == intent for u in sets.dev) for intent in {u.intent for u in sets.train}}
    assert len(shares) == 4
    assert all(150 < share < 250 for share in shares.values())
    # No text of a test intent, and no test intent.
    assert not {u.intent for u in snips.split("test")} & shares.keys()
