"""What a change does to a bot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from handful.data.formats.annotation import CharacterSpan, annotate
from handful.data.formats.markup import parse_example
from handful.serve.store import Store
from handful.serve.store.errors import (
    BadName,
    BotExists,
    NoSuchBot,
    NoSuchExample,
    NoSuchIntent,
    TooManyExamples,
)
from handful.serve.store.values import Change, NewExample, Rest, Stamp
from handful.types import Slot, Utterance, Word
from serve.store.made import BOT, FLY, WHAT, added, change, create, ids, marked, new, shown

ALL = Rest(
    synonyms={"Oslo": ("Christiania", "Kristiania")},
    lookups={"city": ("Oslo", "Rome")},
    regexes={"code": (r"\d{3}",)},
    slot_entities={("fly", "from"): "city"},
    intent_metadata={"fly": {"owner": ["ann", 1, None, {"deep": True}]}},
    descriptions={"fly": "to be taken somewhere", "city": "a place"},
    threshold=0.25,
)


def test_a_new_bot_is_at_version_1_with_what_it_was_given(store: Store):
    done = store.create(BOT, added("hello", "hi", intent="greet"), what="made", by="ann")
    assert done.stamp.version == 1
    assert store.stamp(BOT) == done.stamp
    content = store.read(BOT)
    assert content.name == BOT
    assert content.stamp == done.stamp
    assert content.intents == ("greet",)
    assert content.examples == done.examples
    assert marked(content) == ["hello", "hi"]
    assert content.rest == Rest()


def test_a_bot_may_be_empty(store: Store):
    store.create("empty", what="made", by=None)
    content = store.read("empty")
    assert (content.intents, content.examples) == ((), ())
    assert content.document().utterances == ()


def test_bots_are_listed_by_name_with_what_they_have(store: Store):
    assert store.bots() == []
    create(store, FLY, "fly home", name="b")
    create(store, name="a")
    change(store, Change(add_intents=("greet",)), name="b")
    change(store, Change(remove=(ids(store, "b")[FLY],)), name="b")
    first, second = store.bots()
    assert (first.name, first.version, first.intents, first.examples) == ("a", 1, 0, 0)
    assert (second.name, second.version, second.intents, second.examples) == ("b", 3, 2, 1)
    assert first.made == first.changed
    assert second.made <= second.changed
    assert second.made.utcoffset() is not None


def test_a_name_is_taken_once(store: Store):
    create(store, FLY)
    with pytest.raises(BotExists, match="'travel' already"):
        create(store, "hello")
    assert shown(store) == [("fly", FLY)]
    assert store.stamp(BOT).version == 1


@pytest.mark.parametrize("name", ["", ".a", "-a", "a b", "a/b", "ä", "a" * 81, "a\n", "a\0", "\ud800"])
def test_a_name_that_a_bot_cannot_have(store: Store, name: str):
    with pytest.raises(BadName, match="expected up to 80 letters"):
        store.create(name, what="made", by=None)
    for refused in (store.stamp, store.read, store.delete):
        with pytest.raises(NoSuchBot):
            refused(name)
    assert store.bots() == []


@pytest.mark.parametrize("name", ["a", "0", "a_b.c-d", "A" * 80])
def test_a_name_that_a_bot_can_have(store: Store, name: str):
    create(store, FLY, name=name)
    assert [bot.name for bot in store.bots()] == [name]
    with pytest.raises(NoSuchBot):
        store.stamp(name.swapcase() if name.swapcase() != name else "1")


def test_whoever_asks_for_a_bot_that_is_not_there_is_told(store: Store):
    create(store, FLY)
    for asked in (
        lambda: store.read("other"),
        lambda: store.stamp("other"),
        lambda: store.delete("other"),
        lambda: store.versions("other"),
        lambda: store.compare("other", 1, 1),
        lambda: store.restore("other", 1, by=None),
        lambda: change(store, Change(), name="other"),
    ):
        with pytest.raises(NoSuchBot, match="no bot 'other'"):
            asked()


def test_a_bot_of_the_same_name_is_another_bot(store: Store):
    """Whoever remembers the old one by its stamp must not take the new one for it."""
    old = create(store, FLY)
    store.delete(BOT)
    assert store.bots() == []
    with pytest.raises(NoSuchBot):
        store.stamp(BOT)
    new = create(store, "hello")
    assert new.stamp.version == old.stamp.version == 1
    assert new.stamp.bot != old.stamp.bot
    assert new.examples[0].id != old.examples[0].id
    assert len(store.versions(BOT)) == 1
    assert shown(store) == [("fly", "hello")]


def test_deleting_one_bot_leaves_the_others(store: Store):
    create(store, FLY)
    create(store, "hello", name="other")
    store.delete(BOT)
    assert shown(store, name="other") == [("fly", "hello")]


def test_examples_keep_the_order_in_which_they_came(store: Store):
    create(store, "one", "two")
    change(store, added("three"))
    change(store, added("four", "five", intent="greet"))
    change(store, added("six"))
    assert [text for _, text in shown(store)] == ["one", "two", "three", "four", "five", "six"]


def test_the_same_sentence_may_be_there_twice(store: Store):
    first, second = create(store, FLY, FLY).examples
    assert first.id != second.id
    change(store, Change(remove=(first.id,)))
    assert [example.id for example in store.read(BOT).examples] == [second.id]


def test_a_replaced_example_keeps_its_place_and_gets_a_number_of_its_own(store: Store):
    create(store, "one", "two", "three")
    old = ids(store)["two"]
    done = change(store, Change(replace={old: new("zwei", "german")}, add=(new("four"),)))
    assert [text for _, text in shown(store)] == ["one", "zwei", "three", "four"]
    assert [example.utterance.text for example in done.examples] == ["zwei", "four"]
    assert [ids(store)[text] for text in ("zwei", "four")] == [example.id for example in done.examples]
    assert old not in ids(store).values()
    with pytest.raises(NoSuchExample, match=f"no example {old}"):
        change(store, Change(remove=(old,)))


def test_an_example_that_is_not_there_stops_the_whole_change(store: Store):
    create(store, "one", "two")
    other = create(store, "of another bot", name="other").examples[0].id
    for missing in (999_999, other):
        for refused in (
            Change(remove=(ids(store)["one"], missing), add=(new("three"),)),
            Change(replace={ids(store)["one"]: new("eins"), missing: new("x")}),
        ):
            with pytest.raises(NoSuchExample, match=str(missing)):
                change(store, refused)
    assert [text for _, text in shown(store)] == ["one", "two"]
    assert shown(store, name="other") == [("fly", "of another bot")]
    assert store.stamp(BOT).version == 1


def test_many_examples_at_once(store: Store):
    create(store, *(f"number {n}" for n in range(1500)))
    numbers = list(ids(store).values())
    change(store, Change(remove=tuple(numbers[:700]), replace={id: new(f"again {id}") for id in numbers[700:1400]}))
    assert [text for _, text in shown(store)] == [f"again {id}" for id in numbers[700:1400]] + [
        f"number {n}" for n in range(1400, 1500)
    ]


def test_all_goes_first_where_that_is_asked_for(store: Store):
    create(store, "one")
    change(store, Change(add_intents=("leave",), rest=ALL))
    change(store, Change(clear=True, add=(new("hello", "greet"),), add_intents=("fly",)))
    content = store.read(BOT)
    assert set(content.intents) == {"fly", "greet"}
    assert marked(content) == ["hello"]
    assert content.rest == Rest()
    change(store, Change(clear=True))
    assert store.read(BOT).intents == ()
    gone = store.read(BOT, 1).examples[0].id
    for refused in (Change(clear=True, remove=(gone,)), Change(clear=True, remove_intents=("fly",))):
        with pytest.raises((NoSuchExample, NoSuchIntent)):
            change(store, refused)


def test_what_is_said_beside_the_examples_is_kept(store: Store):
    create(store, FLY)
    change(store, Change(rest=ALL))
    assert store.read(BOT).rest == ALL
    change(store, added("hello"))
    assert store.read(BOT).rest == ALL
    change(store, Change(rest=replace(ALL, threshold="off")))
    assert store.read(BOT).rest.threshold == "off"
    assert store.read(BOT, 3).rest == ALL
    document = store.read(BOT).document()
    assert document.synonyms == ALL.synonyms
    assert document.settings.threshold == "off"


def test_an_example_comes_back_as_it_went(store: Store):
    text = "flieg  nach São José — 京都 👍🏿, bitte\tjetzt"
    place = text.index("São José")
    span = CharacterSpan("city", place, place + 8, value="SJO", role="to", group="1")
    city = text.index("京")
    whole = annotate(text, "fly/far away", [span, CharacterSpan("city", city, city + 2)])
    metadata = {"made": [1, 2.5, None, {"ä": "\u2028"}]}
    store.create(
        BOT, Change(add=(NewExample(whole, metadata), NewExample(parse_example(FLY, "fly")))), what="made", by=None
    )
    first, second = store.read(BOT).examples
    assert (first.utterance, first.metadata) == (whole, metadata)
    assert (second.utterance, second.metadata) == (parse_example(FLY, "fly"), None)
    assert store.read(BOT).document().example_metadata == {0: metadata}


def test_a_corpus_that_came_tokenised_keeps_its_slots(store: Store):
    """Also where our tokeniser would have cut a word in two."""
    words = ["don't", "be", "sad:ly", "late"]
    given = Utterance.from_words(words, "fly", [Slot("who", 0, 1), Slot("how", 2, 4)])
    half = Utterance("sadly late", (Word("sad", 0, 3), Word("ly", 3, 5), Word("late", 6, 10)), "fly")
    store.create(BOT, Change(add=(NewExample(given), NewExample(half))), what="made", by=None)
    found, other = (example.utterance for example in store.read(BOT).examples)
    assert found.text == given.text
    assert [(slot.label, found.slot_text(slot)) for slot in found.slots] == [("who", "don't"), ("how", "sad:ly late")]
    assert (other.text, other.slots) == (half.text, ())


def test_what_is_known_is_not_made_again(store: Store):
    create(store, "one", "two")
    before = {example.id: example for example in store.read(BOT).examples}
    change(store, added("three"))
    one, two, three = store.read(BOT, known=before).examples
    assert [one, two] == list(before.values())
    assert one is before[one.id]
    assert two is before[two.id]
    assert three.utterance.text == "three"


def test_a_change_that_changes_nothing_is_a_version_too(store: Store):
    create(store, FLY)
    assert change(store, Change()).stamp.version == 2
    assert shown(store) == shown(store, 1)


@pytest.fixture
def small(store_url: str) -> Iterator[Store]:
    opened = Store.open(store_url, most_examples=3)
    yield opened
    opened.close()


def test_a_bot_has_so_many_examples_and_no_more(small: Store):
    create(small, "one", "two")
    with pytest.raises(TooManyExamples, match="would have 4 examples, and 3 are the most"):
        change(small, added("three", "four"))
    assert small.stamp(BOT).version == 1
    change(small, added("three"))
    change(small, Change(replace={ids(small)["one"]: new("eins")}))
    change(small, Change(remove=(ids(small)["two"],), add=(new("four"),)))
    change(small, Change(clear=True, add=(new("a"), new("b"), new("c"))))
    create(small, "one", "two", "three", name="other")
    with pytest.raises(TooManyExamples):
        create(small, *"abcd", name="third")
    with pytest.raises(NoSuchBot):
        small.stamp("third")


def test_ids_of_bots_that_failed_or_went_do_not_come_back(store: Store):
    first = create(store, FLY).stamp
    with pytest.raises(BotExists):
        create(store)
    store.delete(BOT)
    second = create(store).stamp
    assert isinstance(second, Stamp)
    assert second.bot > first.bot
    assert store.versions(BOT)[0].what == "made" != WHAT
