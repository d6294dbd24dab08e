from __future__ import annotations

from collections import Counter

import pytest

from handful.errors import ConfigError
from handful.report.folds import split_folds
from handful.types import Slot, Utterance

CITIES = ["boston", "rome", "boston rome", "a b", "rome rome"]
FLIGHTS = [
    Utterance.from_words(["fly", "to", *city.split()], "fly", [Slot("city", 2, 2 + len(city.split()))])
    for city in CITIES
]
EXAMPLES = [*FLIGHTS, *(Utterance.from_words(["now"] * (n + 1), "wait") for n in range(5))]


def test_every_example_of_an_intent_with_two_is_asked_for_once():
    given = [*EXAMPLES, Utterance.from_words(["!"], "alone")]
    folds = split_folds(given, 4, seed=0)
    held = [utterance for _, part in folds for utterance in part]
    assert Counter(held) == Counter(given[:-1]), "the only example of an intent is always kept"
    for kept, part in folds:
        assert sorted([*kept, *part], key=repr) == sorted(given, key=repr)
        assert {u.intent for u in part} <= {u.intent for u in kept}
    sizes = [len(part) for _, part in folds]
    assert max(sizes) - min(sizes) <= 1
    assert split_folds(given, 4, seed=0) == folds
    assert split_folds(given, 4, seed=1) != folds


def test_bots_that_nothing_can_be_asked_of():
    lonely = [Utterance.from_words(["now"], "a"), Utterance.from_words(["fly"], "b")]
    assert split_folds(lonely, 4, seed=0) == []
    one_intent = [Utterance.from_words([word], "a") for word in ("now", "fly", "to")]
    assert split_folds(one_intent, 4, seed=0) == []
    with pytest.raises(ConfigError, match="expected 2 or more"):
        split_folds(lonely, 1, seed=0)
