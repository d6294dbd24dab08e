from __future__ import annotations

import numpy as np
import pytest

from handful.data.document import Document
from handful.data.formats.markup import parse_example
from handful.parser.bot import Bot
from handful.parser.parser import Parser
from handful.parser.suggest import annotated, doubt, evenly, most_telling, suggest
from handful.training.shipped import ready_learner
from handful.types import Ranking

EXAMPLES = {
    "fly": ["fly to [Rome](city)", "a flight to [Oslo](city) please", "i want to fly to [New York](city)"],
    "greet": ["hello there", "good morning", "hi"],
    "play": ["play some [jazz](genre)", "put on [reggae](genre)"],
}


@pytest.fixture(scope="module")
def parser() -> Parser:
    examples = [parse_example(text, intent) for intent, texts in EXAMPLES.items() for text in texts]
    return Parser(Bot("small", Document(tuple(examples))), ready_learner("joint_spans"))


def slow_worth(taken: list[int], doubts: np.ndarray, vectors: np.ndarray) -> float:
    return sum(
        own * max((max(vectors[row] @ vectors[other], 0.0) ** 8 for other in taken), default=0.0)
        for row, own in enumerate(doubts)
    )


@pytest.mark.parametrize("seed", range(5))
def test_each_row_that_is_taken_answers_for_most_of_the_doubt_that_is_left(seed: int):
    rng = np.random.default_rng(seed)
    doubts, vectors = rng.random(12), rng.normal(size=(12, 3))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    chosen = most_telling(doubts, vectors, 5)
    assert len(set(chosen)) == 5
    for place, row in enumerate(chosen):
        before = chosen[:place]
        worth = {other: slow_worth([*before, other], doubts, vectors) for other in range(12) if other not in before}
        assert worth[row] == pytest.approx(max(worth.values()), rel=1e-5)


def test_wordings_of_one_question_are_asked_once_and_what_nobody_else_says_comes_last():
    crowd, pair, loner = np.eye(3)
    vectors = np.stack([crowd] * 5 + [pair] * 2 + [loner])
    chosen = most_telling(np.full(8, 0.5), vectors, 3)
    assert [row in {0, 1, 2, 3, 4} for row in chosen] == [True, False, False]
    assert chosen[2] == 7
    sure_of_the_crowd = np.array([0.01] * 5 + [0.5] * 2 + [0.9])
    assert most_telling(sure_of_the_crowd, vectors, 2) == [5, 7]


def test_all_are_taken_where_more_are_wanted():
    assert sorted(most_telling(np.array([0.1, 0.0, 0.3]), np.eye(3), 10)) == [0, 1, 2]


def test_doubt_is_what_the_first_intent_lacks_of_a_lead():
    assert doubt(Ranking(("a", "b", "c"), (0.5, 0.5, 0.0))) == 1.0
    assert doubt(Ranking(("a", "b"), (0.75, 0.25))) == 0.5
    assert doubt(Ranking(("a",), (1.0,))) == 0.0


def test_a_large_pool_is_looked_at_evenly():
    lines = [str(number) for number in range(100)]
    assert evenly(lines, 100) == lines
    few = [int(line) for line in evenly(lines, 12)]
    assert (few[0], few[-1], len(set(few))) == (0, 99, 12)
    assert max(np.diff(few)) - min(np.diff(few)) <= 1


def test_examples_and_repetitions_are_left_out_and_counted(parser: Parser):
    pool = ["Hello there", "fly to rome", "what's up", "  what's   up ", "", "any flights to Lima", "\t"]
    found = suggest(parser, pool, 20)
    assert {suggestion.parse.text for suggestion in found.chosen} == {"what's up", "any flights to Lima"}
    assert (found.asked, found.known, found.repeated, found.wordless) == (2, 2, 1, 2)


def test_what_the_bot_knows_well_comes_after_what_it_does_not(parser: Parser):
    pool = ["fly to Rome now", "good evening and play me a flight", "good morning all", "play some music and say hello"]
    found = suggest(parser, pool, 4)
    doubts = {suggestion.parse.text: suggestion.doubt for suggestion in found.chosen}
    assert doubts["good evening and play me a flight"] > doubts["fly to Rome now"]
    assert found.chosen[-1].parse.text in {"fly to Rome now", "good morning all"}


def test_predictions_become_examples_to_correct(parser: Parser):
    found = suggest(parser, ["please play some blues", "a flight to San Jose please", "fly us to Lima"], 3)
    utterances = annotated(found.chosen)
    intents = [utterance.intent for utterance in utterances]
    assert sorted(intents) == ["fly", "fly", "play"]
    assert intents in (["fly", "fly", "play"], ["play", "fly", "fly"]), "of an intent they stand together"
    slots = {utterance.slot_text(slot): slot.label for utterance in utterances for slot in utterance.slots}
    assert slots == {"blues": "genre", "San Jose": "city", "Lima": "city"}
