"""A bot that grows and shrinks while it is used."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.errors import ConfigError
from handful.parser.bot import load_bot, starter_bot
from handful.parser.parser import Parser
from handful.types import Ranking, Slot, Utterance
from learners.made_up import SUPPORT, WORDS, made_up, utterance
from parser.grown import Counting, Interrupted, assert_equal, bot_of, texts_of

NEW = ("how much is a ticket to [Riga](city)", "what does a ticket to [Bonn](city) cost")
ASKED = ("how much is a ticket to Lisbon", "play jazz", "will it rain in Oslo", "send 20 euros to Maria", "xyzzy", "")


@cache
def shipped() -> Parser:
    """Not to be changed."""
    return Parser.of(starter_bot())


@pytest.fixture
def starter() -> Parser:
    """One's own, with the same model; what is known of the examples is known already."""
    return Parser(shipped().bot, shipped().learner, identity=shipped().identity, ready=shipped().ready)


@pytest.fixture
def small() -> Parser:
    return Parser(bot_of(*SUPPORT), made_up())


# -- adding ------------------------------------------------------------------------------------------------------------


def test_examples_are_added_as_marked_text(starter: Parser):
    assert starter.parse(ASKED[0]).intent != "price"
    starter.add(*NEW, intent="price")
    found = starter.parse(ASKED[0])
    assert found.intent == "price"
    assert [(slot.label, slot.value) for slot in found.slots] == [("city", "Lisbon")]
    assert starter.parse("play jazz").intent == "play_music"
    assert texts_of(starter)[-2:] == ["how much is a ticket to Riga", "what does a ticket to Bonn cost"]


def test_a_bot_that_grew_is_one_that_was_made_so(starter: Parser):
    starter.add(*NEW, intent="price")
    assert_equal(starter.parse_many(ASKED), Parser(starter.bot, starter.learner).parse_many(ASKED))


def test_examples_are_added_as_values(small: Parser):
    given = utterance("rome now", "sing", Slot("city", 0, 1))
    small.add(given)
    assert small.bot.document.utterances == (*SUPPORT, given)
    small.add(given, intent="sing")
    assert small.bot.document.utterances == (*SUPPORT, given, given)
    assert "sing" in small.parse("rome").ranking.names


@pytest.mark.parametrize(
    ("examples", "intent", "told"),
    [
        ([utterance("rome", "sing")], "fly", "“rome” has the intent 'sing', not 'fly'"),
        (["to [rome](city)"], None, r"expected an intent for the example 'to \[rome\]\(city\)'"),
        (["to ro[me](city)"], "fly", "the example .*ro.*me"),
        (["to [rome(city)"], "fly", r"a '\[' without its '\]'"),
        (["to [rome]"], "fly", "without a slot"),
        ([""], "fly", "at least one word"),
        (["rome"], "  ", "needs a name"),
        (["rom\ud800"], "fly", "half a character"),
        ([], "fly", "nothing to add"),
        (["fly rome", "to ["], "fly", r"a '\[' without its"),
    ],
)
def test_what_cannot_be_added_is_told_and_nothing_changes(
    small: Parser, examples: list[Utterance | str], intent: str | None, told: str
):
    before = small.parse_many(["fly to rome"])
    with pytest.raises(ConfigError, match=told):
        small.add(*examples, intent=intent)
    assert small.bot.document.utterances == SUPPORT
    assert small.parse_many(["fly to rome"]) == before


# -- removing ----------------------------------------------------------------------------------------------------------


def test_an_intent_is_removed_with_all_its_examples(small: Parser):
    assert small.remove(intent="ask") == 2
    assert small.bot.document.utterances == (*SUPPORT[:2], SUPPORT[4])
    assert set(small.parse("to rome").ranking.names) == {"Fly", "other"}
    assert "pair" not in small.bot.slots


def test_a_slots_annotations_are_removed_and_its_words_stay(small: Parser):
    assert small.remove(slot="city") == 3
    assert texts_of(small) == [u.text for u in SUPPORT]
    assert small.bot.slots == ("time", "pair")
    assert all(slot.label != "city" for text in ("fly to rome now", "to boston") for slot in small.parse(text).slots)


def test_a_slot_is_removed_from_one_intent_or_one_example(small: Parser):
    assert small.remove(slot="city", intent="ask") == 1
    assert "city" in small.bot.slots
    assert small.remove(slot="city", text="fly to boston") == 1
    assert [u.text for u in small.bot.document.utterances if any(s.label == "city" for s in u.slots)] == [
        "fly to rome now"
    ]


def test_an_example_is_removed_by_its_text(small: Parser):
    small.add("to rome", "to rome", intent="other")
    assert small.remove(text="to rome", intent="other") == 2
    assert texts_of(small) == [u.text for u in SUPPORT]
    assert small.remove(text="to rome") == 1
    assert "to rome" not in texts_of(small)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({}, "expected what to remove"),
        ({"intent": "fli"}, "no intent 'fli'; did you mean 'Fly'"),
        ({"slot": "citty"}, "no slot 'citty'; did you mean 'city'"),
        ({"text": "to rom"}, "no example has the text 'to rom'"),
        ({"text": "a b now", "intent": "ask"}, "no example of 'ask' has the text 'a b now'"),
        ({"slot": "pair", "intent": "Fly"}, "no example that was asked for has the slot 'pair'"),
    ],
)
def test_what_is_not_there_cannot_be_removed(small: Parser, asked: dict[str, str], told: str):
    with pytest.raises(ConfigError, match=told):
        small.remove(**asked)
    assert small.bot.document.utterances == SUPPORT


def test_the_last_example_stays(small: Parser):
    for intent in ("Fly", "ask"):
        small.remove(intent=intent)
    with pytest.raises(ConfigError, match="a bot cannot be empty"):
        small.remove(intent="other")
    with pytest.raises(ConfigError, match="a bot cannot be empty"):
        small.remove(text="a b now")
    assert small.parse("anything").ranking.names == ("other",)


def test_what_belongs_to_an_example_stays_with_it(tmp_path: Path):
    file = tmp_path / "bot.yml"
    file.write_text(
        "nlu:\n"
        "- intent: fly\n  metadata: {team: air}\n  examples:\n"
        "  - text: fly to [Rome](city)\n"
        "  - text: a flight to [Oslo](city)\n    metadata: {source: log}\n"
        "- intent: greet\n  metadata: {team: hello}\n  examples:\n"
        "  - text: hello\n  - text: good morning\n    metadata: {source: hand}\n"
        "- intent: bye\n  examples: |\n    - see you\n",
        encoding="utf-8",
    )
    parser = Parser(load_bot(file), made_up())
    before = {u.text: parser.bot.document.place_of(row) for row, u in enumerate(parser.bot.document.utterances)}
    assert len(set(before.values())) == 5
    parser.remove(text="fly to Rome")
    parser.remove(intent="bye")

    def kept() -> dict[str, object]:
        document = parser.bot.document
        return {document.utterances[row].text: data for row, data in document.example_metadata.items()}

    document = parser.bot.document
    assert kept() == {"a flight to Oslo": {"source": "log"}, "good morning": {"source": "hand"}}
    assert {u.text: document.place_of(row) for row, u in enumerate(document.utterances)} == {
        text: before[text] for text in ("a flight to Oslo", "hello", "good morning")
    }
    parser.remove(intent="fly")
    assert parser.bot.document.intent_metadata == {"greet": {"team": "hello"}}
    parser.add("hi", intent="greet")
    assert kept() == {"good morning": {"source": "hand"}}


def test_descriptions_of_what_is_gone_are_gone(tmp_path: Path):
    """They would be an error in the bot's file."""
    described = {"Fly": "to go by plane", "ask": "a question", "pair": "two cities", "time": "when", "city": "where"}
    parser = Parser(bot_of(*SUPPORT, descriptions=described), made_up())
    parser.remove(slot="time")
    assert parser.bot.document.descriptions.keys() == {"Fly", "ask", "pair", "city"}
    parser.remove(intent="ask")
    assert parser.bot.document.descriptions.keys() == {"Fly", "city"}
    parser.save(tmp_path / "bot.yml")
    assert load_bot(tmp_path / "bot.yml").document.descriptions == parser.bot.document.descriptions


# -- only what is new is encoded ---------------------------------------------------------------------------------------


def test_only_what_is_new_is_encoded():
    """Intents' names are read as sentences."""
    model = Counting(made_up())
    parser = Parser(bot_of(*SUPPORT), model)
    assert sorted(model.seen) == sorted([*{u.sentence for u in SUPPORT}, ("ask",), ("fly",), ("other",)])
    assert sorted(model.slot_names) == [("city",), ("pair",), ("time",)]
    model.seen, model.slot_names = [], []
    parser.add("fly to [oslo](city)", "fly to [boston](city)", intent="Fly")
    assert (model.seen, model.slot_names) == ([("fly", "to", "oslo")], [])
    parser.add("la la", "sing [la](song)", intent="sing")
    assert model.seen[1:] == [("la", "la"), ("sing", "la"), ("sing",)]
    assert model.slot_names == [("song",)]
    model.seen, model.slot_names = [], []
    parser.remove(intent="sing")
    parser.remove(slot="city")
    parser.add("la la", intent="sing")
    parser.with_examples(SUPPORT[1:])
    assert (model.seen, model.slot_names) == ([], [])
    parser.parse("to rome now")
    assert model.seen == [("to", "rome", "now")]


def test_with_examples_leaves_the_parser_as_it_was(small: Parser):
    before = small.parse_many(["fly to rome", "a b"])
    small.threshold = 0.25
    other = small.with_examples(SUPPORT[2:])
    assert other.threshold == 0.25
    assert set(other.parse("fly").ranking.names) == {"ask", "other"}
    other.add("la", intent="sing")
    assert small.bot.document.utterances == SUPPORT
    small.threshold = "auto"
    assert small.parse_many(["fly to rome", "a b"]) == before


# -- threads -----------------------------------------------------------------------------------------------------------


def test_a_parser_that_grows_while_it_parses_never_mixes_states(small: Parser):
    """Each answer is that of the bot before or after a change, never of something between."""
    stop, failures, answers = threading.Event(), [], []

    def ask() -> None:
        try:
            while not stop.is_set():
                answers.append(frozenset(small.parse("fly to rome now").ranking.names))
                small.explain("fly to rome")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    states = {frozenset(small.bot.intents)}
    for number in range(30):
        small.add(f"la [{WORDS[number % 8]}](s{number}) la", f"lo {number}", intent=f"sing {number}")
        states.add(frozenset(small.bot.intents))
        if number % 3 == 2:
            small.remove(intent=f"sing {number - 1}")
            states.add(frozenset(small.bot.intents))
    stop.set()
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert set(answers) <= states
    assert len(set(answers)) > 1, "the bot grew while it was asked"


@pytest.mark.parametrize("ask", [Parser.parse, Parser.explain])
def test_an_answer_is_that_of_the_bot_that_was_asked(ask: Callable[[Parser, str], object]):
    """Whatever is added or taken away before it comes."""
    model = Interrupted(made_up())
    parser = Parser(bot_of(*SUPPORT), model)
    before = ask(Parser(bot_of(*SUPPORT), made_up()), "fly to rome now")
    model.meanwhile = lambda: (parser.remove(intent="ask"), parser.remove(intent="other"))
    assert ask(parser, "fly to rome now") == before
    assert parser.bot.intents == ("Fly",)
    assert ask(parser, "fly to rome now") != before
    assert parser.parse("fly to rome now").ranking == Ranking(("Fly",), (1.0,))


# -- any sequence ------------------------------------------------------------------------------------------------------

Change = Callable[[Parser], object]


def _attempted(parser: Parser, **what: str) -> None:
    with suppress(ConfigError):  # there is nothing of the kind, or it is all that is left
        parser.remove(**what)


@st.composite
def changes(draw: st.DrawFn) -> Change:
    text = " ".join(draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3)))
    intent, label = (
        draw(st.sampled_from(["Fly", "ask", "other", "new"])),
        draw(st.sampled_from(["city", "time", "new"])),
    )
    kinds: list[Change] = [
        lambda parser: parser.add(f"{text} [rome]({label})", intent=intent),
        lambda parser: _attempted(parser, slot=label),
        lambda parser: _attempted(parser, intent=intent),
        lambda parser: _attempted(parser, text=parser.bot.document.utterances[0].text),
    ]
    return draw(st.sampled_from(kinds))


@settings(deadline=None, max_examples=60)
@given(st.lists(changes(), max_size=6), st.integers(0, 5))
def test_any_changes_leave_a_parser_like_one_made_anew(steps: list[Change], seed: int):
    learner = made_up(seed)
    parser = Parser(bot_of(*SUPPORT), learner)
    for step in steps:
        step(parser)
    asked = ["fly to boston", "rome now !", "a", "to rome to rome"]
    assert_equal(parser.parse_many(asked), Parser(bot_of(*parser.bot.document.utterances), learner).parse_many(asked))
