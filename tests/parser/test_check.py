from __future__ import annotations

from pathlib import Path

import pytest

from handful.data.bot_settings import BotSettings
from handful.data.document import Document
from handful.data.formats.markup import parse_example
from handful.errors import Place
from handful.parser.bot import Bot
from handful.parser.check import findings
from handful.parser.finding import Finding, in_order, lines_of
from handful.types import Slot, Utterance
from handful.words import split_words

FILE = Path("bot.yml")


def bot(*examples: tuple[str, str], **sections) -> Bot:
    """(marked text, intent); the first stands on line 1, and so on."""
    utterances = tuple(parse_example(text, intent) for text, intent in examples)
    places = tuple(Place(FILE, number) for number in range(1, len(examples) + 1))
    return Bot("x", Document(utterances, **{"places": places, **sections}))


def told(about: Bot, part: str, *, complete: bool = True) -> list[Finding]:
    return [finding for finding in findings(about, complete=complete) if part in finding.message]


ENOUGH = [("one", "x"), ("two", "x"), ("three", "y"), ("four", "y")]


def test_nothing_odd_is_nothing_told():
    assert findings(bot(*ENOUGH)) == []


def test_one_intent_is_told():
    (finding,) = told(bot(("one", "x"), ("two", "x")), "one intent")
    assert str(finding) == "bot.yml:1: there is one intent, 'x': every sentence gets it or nothing; write a second one"


def test_one_example_is_told_with_its_line_for_each_intent():
    found = told(bot(*ENOUGH, ("hi", "greet"), ("ciao", "bye")), "one example only")
    assert [(finding.place, finding.message) for finding in found] == [
        (Place(FILE, 5), "the intent 'greet' has one example only"),
        (Place(FILE, 6), "the intent 'bye' has one example only"),
    ]
    assert found[0].hint == "five or more make it reliable"


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (("Hello, you", "x"), ("hello , YOU", "y"), "the same text under 'x', 'y': “hello , YOU” (see line 5)"),
        (
            ("to [Rome](city)", "x"),
            ("to Rome", "x"),
            "the same text with different slots in 'x': “to Rome” (see line 5)",
        ),
        (("hello", "x"), ("hello", "x"), "2 times the same example in 'x': “hello” (see line 5)"),
    ],
)
def test_what_is_said_twice_is_told(first: tuple[str, str], second: tuple[str, str], message: str):
    (finding,) = findings(bot(*ENOUGH, first, second))
    assert (finding.place, finding.message) == (Place(FILE, 6), message)


def test_labels_that_differ_by_case_are_told():
    examples = [
        ("go to [Rome](city) now", "fly"),
        ("get [Oslo](City)", "Fly"),
        ('off [Paris]{"entity": "city", "role": "from"}', "fly"),
        ('via [Lima]{"entity": "city", "role": "From"}', "Fly"),
    ]
    found = told(bot(*examples), "differ only by case")
    assert [finding.message for finding in found] == [
        "intents that differ only by case: 'fly', 'Fly' (see line 1)",
        "slots that differ only by case: 'city', 'City' (see line 1)",
        "roles of the slot 'city' that differ only by case: 'from', 'From' (see line 3)",
    ]
    assert [finding.place for finding in found] == [Place(FILE, 2), Place(FILE, 2), Place(FILE, 4)]


def test_words_with_several_values_are_told():
    values = [f'in [May]{{"entity": "month", "value": "{value}"}} {word}' for value, word in (("05", "a"), ("5", "b"))]
    (finding,) = told(bot(*((text, "plan") for text in values)), "several values")
    assert str(finding) == "bot.yml:2: “may” in the slot 'month' has several values: '05', '5'; the last one is used"


def test_synonyms_of_two_values_are_told():
    about = bot(*ENOUGH, synonyms={"New York": ("NYC", "the apple"), "Newark": ("nyc",)})
    (finding,) = findings(about)
    assert finding.message == "“nyc” is a synonym of 'New York', 'Newark'"


def test_brackets_the_wrong_way_round_are_told():
    utterance = Utterance("to city:snips/city", split_words("to city:snips/city"), "fly", (Slot("Boston", 1, 6),))
    (finding,) = told(Bot("x", Document((utterance,))), "brackets the other way round")
    assert finding.place is None


# -- a slot here, plain words there ------------------------------------------------------------------------------------


def plain(*examples: tuple[str, str]) -> list[str]:
    return [str(finding) for finding in told(bot(*examples), "and plain in")]


def test_words_that_are_a_slot_in_one_example_and_plain_in_another_are_told():
    found = plain(("fly to [New York](city)", "fly"), ("i love new york", "fly"), ("New  York please", "fly"))
    assert found == [
        "bot.yml:2: “new york” is the slot 'city' in line 1 and plain in “i love new york” (and in line 3); "
        "mark it there, too, if it means the same"
    ]


def test_an_intent_that_has_the_slot_is_looked_at_and_others_are_not():
    rome = ("fly to [Rome](city)", "fly")
    assert plain(rome, ("[Oslo](city) weather", "weather"), ("weather in rome", "weather"))
    assert not plain(rome, ("the rome of today", "history"))


@pytest.mark.parametrize(
    "examples",
    [
        [("remind [me](who)", "a"), ("tell me [Tom](who)", "a")],  # too short to mean anything
        [("at [8](time)", "a"), ("table 8 at [9](time)", "a")],
        [("to [Rome](city)", "a"), ("the [Rome Hotel](hotel)", "a")],  # part of another slot
        [("to [Rome](city)", "a"), ("to romeo", "a")],
        [("to [Rome](city)", "a"), ("to Rome", "a")],  # told as the same text with other slots
    ],
)
def test_what_is_no_contradiction_is_not_told(examples: list[tuple[str, str]]):
    assert not plain(*examples)


def test_the_longest_known_words_are_told_and_not_their_parts():
    (finding,) = plain(("to [New York](city)", "a"), ("to [York](city) now", "a"), ("see new york", "a"))
    assert "“new york”" in finding


def test_without_lines_the_examples_themselves_are_named():
    about = bot(("to [Rome](city)", "a"), ("see Rome", "a"), ("x", "b"), ("y", "b"), places=())
    (finding,) = findings(about)
    assert finding.place is None
    assert finding.message == "“rome” is the slot 'city' in “to Rome” and plain in “see Rome”"


def test_a_large_bot_is_checked_in_a_moment():
    import time

    examples = [(f"number {n} goes to [town{n}](city) on day {n % 50}", f"intent{n % 100}") for n in range(5000)]
    about = bot(*examples)
    begun = time.thread_time()
    assert findings(about) == []
    assert time.thread_time() - begun < 3


# -- tables and settings -----------------------------------------------------------------------------------------------

CITIES = [("to [Rome](city)", "a"), ("off to [Oslo](city)", "a"), *ENOUGH]


def test_tables_of_no_slot_are_told_with_the_slot_that_may_be_meant():
    about = bot(
        *CITIES,
        lookups={"City": ("Rome",), "city": ("Rome",)},
        regexes={"zip": ("x",)},
        named_places={("lookup", "City"): Place(FILE, 20)},
    )
    zip_code, city = findings(about)
    assert str(city) == (
        "bot.yml:20: the lookup table 'City' has the name of no slot, and helps none; did you mean 'city'?"
    )
    assert str(zip_code) == "the regular expression 'zip' has the name of no slot, and helps none; the slots are city"


def test_a_table_of_an_entity_type_is_no_mistake():
    assert findings(bot(*CITIES, lookups={"place": ("Rome",)}, slot_entities={("a", "city"): "place"})) == []


def test_an_expression_that_may_take_forever_is_told():
    (finding,) = findings(bot(*CITIES, regexes={"city": ("[A-Z]\\w+", "(\\w+ ?)+!")}))
    assert "'city' takes very long for some texts: '(\\\\w+ ?)+!'" in finding.message


def test_folders_of_settings_that_are_not_there_are_told(tmp_path: Path):
    about = bot(*ENOUGH, settings=BotSettings(checkpoint=tmp_path / "none", encoder="a/name"))
    (finding,) = findings(about)
    assert finding.message == f"there is no folder {tmp_path / 'none'}, which the setting 'checkpoint' names"
    assert findings(bot(*ENOUGH, settings=BotSettings(checkpoint=tmp_path, encoder=tmp_path))) == []


# -- as a whole --------------------------------------------------------------------------------------------------------


def test_of_a_broken_bot_nothing_is_told_that_may_come_of_what_is_missing():
    about = bot(("hello", "x"), ("to [Rome](city)", "x"), ("Rome?", "x"), lookups={"town": ("Rome",)})
    assert [finding.message[:6] for finding in findings(about, complete=False)] == ["“rome”"]


def test_findings_are_in_the_order_of_files_and_lines():
    other = Path("a.yml")
    mixed = [
        Finding(Place(FILE, 10), "d"),
        Finding(Place(FILE, 9), "c"),
        Finding(None, "a"),
        Finding(Place(other), "b"),
    ]
    assert [finding.message for finding in in_order(mixed)] == ["a", "b", "c", "d"]


def test_lines_name_the_file_where_it_is_another_one():
    places = [Place(FILE, 1), Place(Path("a.yml"), 2), None, Place(FILE, 3), Place(FILE, 4)]
    assert lines_of(places, Place(FILE, 9)) == "line 1, a.yml:2, line 3 and 1 more"
    assert lines_of([None], None) == ""
