"""Changes that are made of what a bot is, and intents that get another name."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from handful.serve.store import Store
from handful.serve.store.errors import IntentExists, NoSuchIntent, TooManyExamples, VersionConflict
from handful.serve.store.values import Change, Content, NewExample
from serve.store.made import BOT, change, create, new, shown


def described(label: str, text: str):
    def edit(content: Content) -> tuple[Change, str]:
        descriptions = {**content.rest.descriptions, label: text}
        return Change(rest=replace(content.rest, descriptions=descriptions)), f"described {label}"

    return edit


def test_many_who_add_to_the_same_thing_all_find_their_own_in_it(store: Store):
    create(store, "hello")
    with ThreadPoolExecutor(8) as threads:
        done = list(threads.map(lambda n: store.edit(BOT, described(f"label {n}", "x"), by=None), range(24)))
    assert sorted(one.stamp.version for one in done) == list(range(2, 26))
    assert set(store.read(BOT).rest.descriptions) == {f"label {n}" for n in range(24)}


def test_what_an_edit_raises_leaves_the_bot_as_it_was(store: Store):
    create(store, "hello")

    def edit(_: Content) -> tuple[Change, str]:
        raise IntentExists("not so")

    with pytest.raises(IntentExists):
        store.edit(BOT, edit, by=None)
    with pytest.raises(VersionConflict):
        store.edit(BOT, described("a", "b"), by=None, expect=7)
    assert store.stamp(BOT).version == 1
    assert store.edit(BOT, described("a", "b"), by="ann", expect=1).stamp.version == 2


def test_a_renamed_intent_keeps_its_place_and_comes_back_with_its_version(store: Store):
    for intent in ("a", "b", "c"):
        created = intent == "a"
        one = Change(add=(new(f"word {intent}", intent),))
        store.create(BOT, one, what="made", by=None) if created else change(store, one)
    content = store.read(BOT)
    moved = {
        example.id: NewExample(replace(example.utterance, intent="z"))
        for example in content.examples
        if example.utterance.intent == "a"
    }
    change(store, Change(replace=moved, rename_intents={"a": "z"}))
    assert store.read(BOT).intents == ("z", "b", "c")
    assert shown(store) == [("z", "word a"), ("b", "word b"), ("c", "word c")]
    with pytest.raises(IntentExists):
        change(store, Change(rename_intents={"z": "b"}))
    with pytest.raises(NoSuchIntent):
        change(store, Change(rename_intents={"a": "y"}))
    store.restore(BOT, 3, by=None)
    assert store.read(BOT).intents == ("a", "b", "c")


def test_intents_are_limited_as_examples_are(store_url: str):
    store = Store.open(store_url, most_examples=3)
    store.create(BOT, what="made", by=None)
    with pytest.raises(TooManyExamples, match="4 intents"):
        change(store, Change(add_intents=("a", "b", "c", "d")))
    change(store, Change(add_intents=("a", "b", "c")))
    store.close()


def test_names_are_a_few_of_them(store: Store):
    for name in ("c", "a", "b"):
        create(store, "hello", name=name)
    assert store.names(2) == ["a", "b"]
