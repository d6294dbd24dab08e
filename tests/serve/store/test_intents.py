"""Intents: named before they have examples, renamed, taken away."""

from __future__ import annotations

import pytest

from handful.serve.store import Store
from handful.serve.store.errors import IntentExists, NoSuchIntent
from handful.serve.store.values import Change
from serve.store.made import BOT, FLY, added, change, create, ids, marked, new, shown


def test_intents_are_declared_by_name_or_by_their_first_example(store: Store):
    create(store, FLY)
    change(store, Change(add_intents=("greet", "leave")))
    change(store, added("what now", intent="ask"))
    content = store.read(BOT)
    assert content.intents == ("fly", "greet", "leave", "ask")
    assert marked(content) == [FLY, "what now"]
    with pytest.raises(IntentExists, match="'greet' already"):
        change(store, Change(add_intents=("more", "greet")))
    assert store.read(BOT).intents == content.intents


def test_an_intent_goes_with_its_examples_alone(store: Store):
    create(store, "one", "two")
    change(store, added("hello", intent="greet"))
    change(store, Change(remove_intents=("fly",)))
    assert store.read(BOT).intents == ("greet",)
    assert shown(store) == [("greet", "hello")]
    with pytest.raises(NoSuchIntent, match="no intent 'fly'"):
        change(store, Change(remove_intents=("fly",)))
    assert store.stamp(BOT).version == 3


def test_an_intent_stays_when_its_last_example_goes(store: Store):
    create(store, FLY)
    change(store, Change(remove=tuple(ids(store).values())))
    assert store.read(BOT).intents == ("fly",)


def test_an_intent_is_renamed_in_one_change(store: Store):
    """Its examples go to the new name before the old one is taken away."""
    create(store, "one", "two")
    change(store, added("hello", intent="greet"))
    moved = {ids(store)[text]: new(text, "travel") for text in ("one", "two")}
    change(store, Change(replace=moved, add_intents=("travel",), remove_intents=("fly",)))
    assert store.read(BOT).intents == ("greet", "travel")
    assert shown(store) == [("travel", "one"), ("travel", "two"), ("greet", "hello")]
    assert store.stamp(BOT).version == 3


def test_an_intent_that_goes_and_comes_in_one_change_begins_anew(store: Store):
    create(store, "one")
    change(store, Change(add_intents=("greet",)))
    change(store, Change(remove_intents=("fly",), add=(new("two"),)))
    assert store.read(BOT).intents == ("greet", "fly")
    assert shown(store) == [("fly", "two")]
