from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from handful.data.document import Document
from handful.errors import Place
from handful.parser.bot import Bot
from handful.parser.check import findings
from handful.parser.confused import confused_intents
from handful.parser.finding import Finding
from handful.types import Prediction, Ranking, Utterance


def confused(truth: Sequence[str], told: Sequence[str], *, lines: bool = False) -> list[Finding]:
    examples = [Utterance.from_words(["text", str(number)], intent) for number, intent in enumerate(truth, 1)]
    places = [Place(Path("bot.yml"), number) for number in range(1, len(truth) + 1)] if lines else ()
    return confused_intents(examples, [prediction(intent) for intent in told], places)


def prediction(intent: str) -> Prediction:
    return Prediction(Ranking((intent,), (1.0,)), (), (), ())


def test_intents_that_are_told_right_are_no_finding():
    assert confused("aaabbb", "aaabbb") == []


def test_an_intent_that_is_often_told_as_another_is_told_with_its_examples():
    (finding,) = confused("aaaaabbb", "abbaabbb", lines=True)
    assert str(finding) == (
        "bot.yml:2: 'a' and 'b' are hard to tell apart: 2 of 5 examples of 'a' are taken for 'b', "
        "such as “text 2” (and line 3); join them, or word their examples more differently"
    )


def test_both_ways_are_one_finding():
    (finding,) = confused("aaabbbb", "bbabaab")
    assert "2 of 3 examples of 'a' are taken for 'b', 2 of 4 the other way" in finding.message
    assert finding.place is None


@pytest.mark.parametrize(
    ("truth", "told"),
    [
        ("aabb", "babb"),  # one stray example
        ("aaaaaaaabb", "aaaaaabbbb"),  # two of eight
        ("aaabbccdd", "bcdbbccdd"),  # each another way
    ],
)
def test_a_few_strays_are_no_finding(truth: str, told: str):
    assert confused(truth, told) == []


def test_two_confusions_of_one_intent_are_two_findings():
    assert len(confused("aaaabbcc", "bbccbbcc")) == 2


def test_they_are_among_the_findings_of_a_bot():
    texts = ["one", "two", "three", "four"]
    bot = Bot("x", Document(tuple(Utterance.from_words([t], i) for t, i in zip(texts, "aabb", strict=True))))
    assert findings(bot) == []
    (finding,) = findings(bot, [prediction(intent) for intent in "bbbb"])
    assert "'a' and 'b' are hard to tell apart" in finding.message


def test_an_example_that_was_not_asked_for_is_not_counted():
    examples = [Utterance.from_words(["text", str(number)], intent) for number, intent in enumerate("aaaaaaaabbb")]
    told = [prediction("b"), prediction("b"), prediction("a"), *[None] * 5, *[prediction("b")] * 3]
    (finding,) = confused_intents(examples, told)
    assert "2 of 3 examples of 'a' are taken for 'b'" in str(finding)
