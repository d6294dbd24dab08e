"""Why a sentence was parsed as it was."""

from __future__ import annotations

import json
import math
from functools import cache

import pytest

from handful.data.document import Document
from handful.parser.bot import Bot, starter_bot
from handful.parser.explain import Explanation
from handful.parser.parse import Parse
from handful.parser.parser import Parser
from handful.types import Utterance

TEXTS = ("send 35 dollars to Johanna", "will it be warm in Barcelona next weekend", "a table at noon", "Play  JAZZ!")


@cache
def starter() -> Parser:
    return Parser.of(starter_bot())


def log_odds(parse: Parse, best: str, second: str) -> float:
    shares = {ranked.name: ranked.confidence for ranked in parse.ranking}
    return math.log(shares[best]) - math.log(shares[second])


@pytest.mark.parametrize("text", TEXTS)
def test_neighbours_are_sorted_and_told_with_their_own_similarity(text: str):
    why = starter().explain(text, count=5)
    examples = starter().bot.document.utterances
    vectors = starter().sentence_vectors([text, *(u.text for u in examples)])
    cosines = dict(zip(examples, (vectors[1:] @ vectors[0]).tolist(), strict=True))
    nearest = sorted(cosines.values(), reverse=True)[:5]
    assert [n.similarity for n in why.nearest] == pytest.approx(nearest, abs=1e-6)
    assert [cosines[n.utterance] for n in why.nearest] == pytest.approx(nearest, abs=1e-6)
    of_second = sorted((cosines[u] for u in examples if u.intent == why.runner_up), reverse=True)
    assert [n.similarity for n in why.runner_up_nearest] == pytest.approx(of_second[:5], abs=1e-6)
    assert {n.utterance.intent for n in why.runner_up_nearest} == {why.runner_up}


def test_an_example_is_nearest_to_itself():
    found = 0
    for example in starter().bot.document.utterances[::6]:
        why = starter().explain(example.text)
        assert why.nearest[0].utterance == example
        assert why.nearest[0].similarity == pytest.approx(1.0, abs=1e-3)
        annotated = {example.slot_text(slot) for slot in example.slots}
        for slot, neighbours in why.slots:
            words = example.text[slot.start : slot.end]
            if words in annotated:  # nearly always; a bot need not say of an example what it was shown
                assert (neighbours[0].utterance, neighbours[0].words) == (example, words)
                assert neighbours[0].similarity == pytest.approx(1.0, abs=1e-3)
                found += 1
    assert found > 10


@pytest.mark.parametrize("text", TEXTS)
def test_each_slot_has_the_examples_slots_that_it_is_like(text: str):
    why = starter().explain(text, count=4)
    assert [slot for slot, _ in why.slots] == list(why.parse.slots)
    for _, neighbours in why.slots:
        assert len(neighbours) == 4
        assert [n.similarity for n in neighbours] == sorted((n.similarity for n in neighbours), reverse=True)
        for n in neighbours:
            assert -1 <= n.similarity <= 1 + 1e-6
            assert n.slot in n.utterance.slots
            start, end = n.utterance.words[n.slot.start].start, n.utterance.words[n.slot.end - 1].end
            assert n.words == n.utterance.text[start:end]


def test_a_slots_likest_neighbours_have_its_label():
    why = starter().explain("send 35 dollars to Johanna")
    assert {slot.label: neighbours[0].slot.label for slot, neighbours in why.slots} == {
        "amount": "amount",
        "person": "person",
    }


@pytest.mark.parametrize("text", TEXTS)
def test_a_word_weighs_what_the_log_odds_lose_without_it(text: str):
    why = starter().explain(text)
    best, second = why.parse.ranking.names[:2]
    assert why.runner_up == second
    whole = starter().parse(text)
    assert why.parse == whole
    assert why.log_odds == pytest.approx(log_odds(whole, best, second))
    assert sorted(weight.word for weight in why.words) == sorted(word.text for word in whole.words)
    sizes = [abs(weight.weight) for weight in why.words]
    assert sizes == sorted(sizes, reverse=True)
    loudest = why.words[0]
    (word,) = (word for word in whole.words if word.text == loudest.word)
    without = starter().parse(f"{text[: word.start]} {text[word.end :]}")
    assert len(without.words) == len(whole.words) - 1
    lost = log_odds(whole, best, second) - log_odds(without, best, second)
    assert loudest.weight == pytest.approx(lost, abs=0.02)
    assert abs(lost) > 0.1, "the loudest word has something to say"


def test_a_word_between_two_others_leaves_two_words_behind():
    """Without its apostrophe, "Luigi's" must not become one word."""
    why = starter().explain("dinner at Luigi's")
    assert [weight.word for weight in sorted(why.words, key=lambda w: w.word)] == ["'", "Luigi", "at", "dinner", "s"]


def test_json_can_be_made_of_it_and_holds_all():
    why = starter().explain(TEXTS[0])
    told = json.loads(json.dumps(why.as_json()))
    assert told["parse"] == json.loads(json.dumps(why.parse.as_json()))
    assert [row["text"] for row in told["nearest"]] == [n.utterance.text for n in why.nearest]
    assert [row["label"] for row in told["slots"]] == ["amount", "person"]
    assert told["slots"][0]["nearest"][0].keys() == {"text", "words", "slot", "similarity"}
    assert told["runner_up"]["name"] == why.runner_up
    assert told["runner_up"]["words"][0] == {"word": why.words[0].word, "weight": round(why.words[0].weight, 4)}


@pytest.mark.parametrize("text", ["", " \t", "\u200e"])
def test_a_text_without_words_has_nothing_to_explain(text: str):
    why = starter().explain(text)
    assert why == Explanation(starter().parse(text), (), (), None, (), None, ())
    assert json.loads(json.dumps(why.as_json()))["runner_up"] is None


def test_a_single_word_has_odds_and_no_words_to_weigh():
    why = starter().explain("parcel")
    assert why.log_odds is not None
    assert why.words == ()


def test_a_bot_with_one_intent_has_no_runner_up():
    only = [u for u in starter().bot.document.utterances if u.intent == "play_music"]
    why = starter().with_examples(only).explain("play some reggae")
    assert (why.runner_up, why.runner_up_nearest, why.log_odds, why.words) == (None, (), None, ())
    assert why.nearest[0].utterance.intent == "play_music"
    assert why.slots[0][1][0].slot.label == "genre"


def test_a_bot_without_slots_has_none_to_explain():
    utterances = [Utterance.from_words([word], intent) for word, intent in (("yes", "yes"), ("no", "no"))]
    why = Parser(Bot("b", Document(tuple(utterances))), starter().learner).explain("yes please")
    assert (why.parse.intent, why.slots) == ("yes", ())


def test_fewer_examples_than_are_asked_for():
    utterances = [Utterance.from_words([word], intent) for word, intent in (("yes", "yes"), ("no", "no"))]
    why = Parser(Bot("b", Document(tuple(utterances))), starter().learner).explain("yes", count=10)
    assert len(why.nearest) == 2
    assert len(why.runner_up_nearest) == 1


def test_the_untrained_learner_explains_by_sentences_alone():
    parser = Parser.of(starter_bot(), learner="prototypes")
    why = parser.explain("send 35 dollars to Johanna")
    assert why.nearest[0].utterance.intent == "send_money"
    assert why.parse.slots
    assert all(neighbours == () for _, neighbours in why.slots)
    assert why.runner_up == why.parse.ranking.names[1]
    assert why.words
    example = parser.bot.document.utterances[0]
    assert parser.explain(example.text).nearest[0].utterance == example
    json.dumps(why.as_json())
