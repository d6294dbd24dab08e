from __future__ import annotations

import dataclasses

import pytest

from handful.types import Episode, Prediction, RankedIntent, Ranking, Slot, Utterance, Word


def utterance(intent: str = "book") -> Utterance:
    return Utterance.from_words(["fly", "to", "New", "York"], intent, [Slot("city", 2, 4)])


def test_words_joined_by_spaces_have_their_characters():
    found = utterance()
    assert found.text == "fly to New York"
    assert [(word.start, word.end) for word in found.words] == [(0, 3), (4, 6), (7, 10), (11, 15)]
    assert found.slot_text(found.slots[0]) == "New York"
    assert found.sentence == ("fly", "to", "New", "York")


def test_values_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        utterance().intent = "other"  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Slot("", 0, 1), "a slot needs a name"),
        (lambda: Slot("city", 2, 2), "not a span"),
        (lambda: Slot("city", -1, 2), "not a span"),
        (lambda: Word(" ", 0, 1), "visible"),
        (lambda: Word("abc", 0, 2), "does not fit"),
        (lambda: Word("new york", 0, 8), "found white space in the word"),
        (lambda: Word("york ", 0, 5), "found white space in the word"),
        (lambda: Slot("city ", 0, 1), "expected one line without white space|white space at its ends"),
        (lambda: Slot("city", 0, 1, value="\ud83d"), "half a character"),
        (lambda: Utterance.from_words(["hi"], "gre\net"), "as the name of an intent"),
        (lambda: Utterance.from_words(["h\udc00"], "greet"), "half a character"),
        (lambda: Utterance("", (), "book"), "at least one word"),
        (lambda: Utterance.from_words(["hi"], " "), "an intent needs a name"),
        (lambda: Utterance.from_words(["hi"], "greet", [Slot("x", 0, 2)]), "there are 1 words"),
        (lambda: Utterance.from_words(["a", "b"], "i", [Slot("x", 0, 2), Slot("y", 1, 2)]), "overlaps"),
        (lambda: Utterance.from_words(["a", "b"], "i", [Slot("x", 1, 2), Slot("y", 0, 1)]), "overlaps or precedes"),
        (lambda: Utterance("ab", (Word("b", 0, 1),), "i"), "not at 0"),
        (lambda: Utterance("a b", (Word("b", 2, 3), Word("a", 0, 1)), "i"), "not at 0"),
        (lambda: Episode((), (utterance(),), 0, 0), "support and query"),
        (lambda: Episode((utterance(),), (utterance("cancel"),), 0, 0), "'cancel'"),
        (lambda: Prediction(Ranking((), ()), ("O",), (), ()), "at least one intent"),
        (lambda: Ranking(("a", "b"), (0.2, 0.8)), "likeliest"),
        (lambda: Ranking(("a", "b"), (0.2,)), "one confidence"),
        (lambda: Ranking(("a",), (1.2,)), "probabilities"),
        (lambda: Ranking(("a", "b"), (1.0, -0.1)), "probabilities"),
        (lambda: Ranking(("a",), (float("nan"),)), "probabilities"),
        (lambda: Prediction(Ranking(("a",), (1.0,)), ("B-x",), (Slot("x", 0, 1),), ()), "one confidence"),
        (lambda: Prediction(Ranking(("a",), (1.0,)), ("B-y",), (Slot("x", 0, 1),), (1.0,)), "not those of the tags"),
        (lambda: Prediction(Ranking(("a",), (1.0,)), ("B-x", "I-x"), (Slot("x", 0, 1),), (1.0,)), "not those of the"),
    ],
)
def test_nonsense_is_refused(make, message: str):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_role_is_part_of_what_a_learner_tells_apart():
    assert Slot("city", 0, 1, role="to").key == "city:to"
    assert Slot("city", 0, 1).key == "city"


def test_a_ranking_reads_like_a_tuple_of_ranked_intents():
    ranking = Ranking(("a", "b", "c"), (0.5, 0.3, 0.2))
    assert list(ranking) == [RankedIntent("a", 0.5), RankedIntent("b", 0.3), RankedIntent("c", 0.2)]
    assert ranking[-1] == RankedIntent("c", 0.2)
    assert ranking[1:] == Ranking(("b", "c"), (0.3, 0.2))
    assert not ranking[3:]
