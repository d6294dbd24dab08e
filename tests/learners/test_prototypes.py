from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from handful.data.bio import illegal_positions
from handful.encoders.encoding import Encoding
from handful.encoders.memory import RememberingEncoder
from handful.errors import ConfigError
from handful.learners.prototypes import PrototypeLearner, PrototypesConfig
from handful.types import Slot, Utterance, Words
from oracles import prototypes as oracle


class ByLexicon:
    """Each word has a fixed vector; a sentence is the mean of its words. Enough to work results out by hand."""

    def __init__(self, **vectors: Sequence[float]) -> None:
        self._vectors = vectors

    def encode(self, sentences: Sequence[Words]) -> list[Encoding]:
        found = [np.array([self._vectors[word] for word in words], np.float32) for words in sentences]
        return [Encoding(words.mean(axis=0), words) for words in found]


ENCODER = ByLexicon(fly=(1, 0, 0), rome=(0, 1, 0), oslo=(0.1, 1, 0), play=(0, 0, 1), jazz=(0, 0.6, 0.8))
SUPPORT = [
    Utterance.from_words(["fly", "rome"], "travel", [Slot("city", 1, 2)]),
    Utterance.from_words(["fly", "fly", "rome"], "travel", [Slot("city", 2, 3)]),
    Utterance.from_words(["play", "jazz"], "music", [Slot("genre", 1, 2)]),
]


def test_the_intent_is_the_nearest_prototypes_with_the_probability_of_equation_6():
    config = PrototypesConfig(intent_temperature=0.3)
    (found,) = PrototypeLearner(ENCODER, config).adapt(SUPPORT).predict([("fly", "jazz")])

    def sentence(*words: str) -> list[float]:
        return oracle.unit(ENCODER.encode([words])[0].sentence.tolist())

    travel = oracle.mean([sentence("fly", "rome"), sentence("fly", "fly", "rome")])
    music = sentence("play", "jazz")
    expected = oracle.probabilities(sentence("fly", "jazz"), [music, travel], 0.3)
    assert found.intent == "travel"
    assert [ranked.name for ranked in found.ranking] == ["travel", "music"]
    assert [ranked.confidence for ranked in found.ranking] == pytest.approx(expected[::-1], abs=1e-6)


def test_only_slots_seen_with_the_intent_compete():
    (found,) = PrototypeLearner(ENCODER).adapt(SUPPORT).predict([("fly", "fly", "oslo")])
    assert found.intent == "travel"
    assert found.tags == ("O", "O", "B-city")
    assert found.slots == (Slot("city", 2, 3),)
    (music,) = PrototypeLearner(ENCODER).adapt(SUPPORT).predict([("play", "play", "rome")])
    assert music.tags[2] in {"O", "B-genre"}


def test_a_distance_is_part_prototype_part_nearest_word():
    support = [
        Utterance.from_words(["rome", "jazz", "play"], "a", [Slot("x", 0, 1), Slot("x", 1, 2)]),
        Utterance.from_words(["fly"], "a"),
    ]
    for share in (0.0, 0.25, 1.0):
        config = PrototypesConfig(nearest_share=share, slot_temperature=0.5)
        (found,) = PrototypeLearner(ENCODER, config).adapt(support).predict([("oslo",)])
        encoded = ENCODER.encode([(word,) for word in ("oslo", "rome", "jazz", "play", "fly")])
        oslo, rome, jazz, play, fly = (oracle.unit(word.sentence.tolist()) for word in encoded)
        near = min(oracle.squared_distance(oslo, word) for word in (rome, jazz))
        x = (1 - share) * oracle.squared_distance(oslo, oracle.mean([rome, jazz])) + share * near
        near = min(oracle.squared_distance(oslo, word) for word in (play, fly))
        o = (1 - share) * oracle.squared_distance(oslo, oracle.mean([play, fly])) + share * near
        assert found.tags == ("B-x",)
        assert found.slot_confidences[0] == pytest.approx(1 / (1 + np.exp((x - o) / 0.5)), abs=1e-5)


def test_an_i_seen_only_after_its_b_is_never_predicted_alone(minilm: RememberingEncoder):
    support = [
        Utterance.from_words(["fly", "to", "new", "york"], "travel", [Slot("city", 2, 4)]),
        Utterance.from_words(["play", "some", "jazz"], "music", [Slot("genre", 2, 3)]),
    ]
    adapted = PrototypeLearner(minilm).adapt(support)
    sentences = [("york",), ("york", "york"), ("to", "york", "please"), ("fly", "to", "los", "angeles")]
    for candidates in (None, {"O", "B-city", "I-city"}, {"I-city"}, set()):
        for found in adapted.predict(sentences, tag_candidates=candidates):
            assert illegal_positions(found.tags) == []
            assert candidates is None or set(found.tags) - {"O"} <= candidates


def test_roles_come_back_as_roles():
    support = [
        Utterance.from_words(["fly", "rome"], "travel", [Slot("city", 1, 2, role="to")]),
        Utterance.from_words(["play"], "music"),
    ]
    (found,) = PrototypeLearner(ENCODER).adapt(support).predict([("fly", "oslo")])
    assert found.slots == (Slot("city", 1, 2, role="to"),)
    assert found.tags == ("O", "B-city:to")


def test_labels_that_cannot_be_told_apart_are_refused():
    support = [
        Utterance.from_words(["rome"], "a", [Slot("city", 0, 1, role="to")]),
        Utterance.from_words(["oslo"], "a", [Slot("city:to", 0, 1)]),
    ]
    with pytest.raises(ConfigError, match="are both called 'city:to'"):
        PrototypeLearner(ENCODER).adapt(support)


def test_a_support_without_o_and_one_without_slots_both_predict():
    full = PrototypeLearner(ENCODER).adapt([Utterance.from_words(["rome"], "a", [Slot("city", 0, 1)])])
    assert full.predict([("oslo", "rome")])[0].tags == ("B-city", "B-city")
    none = PrototypeLearner(ENCODER).adapt([Utterance.from_words(["rome"], "a")])
    assert none.predict([("oslo", "rome")])[0].tags == ("O", "O")
    assert full.predict([("oslo",)], tag_candidates=set())[0].tags == ("O",)


def test_nothing_to_adapt_to_is_refused_and_nothing_to_predict_is_nothing():
    with pytest.raises(ConfigError, match="support set is empty"):
        PrototypeLearner(ENCODER).adapt([])
    assert PrototypeLearner(ENCODER).adapt(SUPPORT).predict([]) == []


def test_a_misspelt_or_impossible_setting_is_an_error():
    with pytest.raises(ValueError, match="temprature"):
        PrototypesConfig.model_validate({"temprature": 1})
    with pytest.raises(ValueError, match="greater than 0"):
        PrototypesConfig(intent_temperature=0)
