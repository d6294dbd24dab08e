"""Any version of a bot can be read, compared and come back to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from handful.serve.store import Store
from handful.serve.store.errors import NoSuchVersion, VersionConflict
from handful.serve.store.values import Change, Difference, Rest
from serve.store.made import BOT, FLY, WHAT, added, change, create, ids, marked, new, shown


def test_every_change_makes_one_version_and_the_old_ones_stay(store: Store):
    create(store, "one")
    change(store, added("two"))
    change(store, Change(remove=(ids(store)["one"],)))
    change(store, Change(replace={ids(store)["two"]: new("zwei")}))
    change(store, Change(remove_intents=("fly",)))
    texts = [[text for _, text in shown(store, version)] for version in range(1, 6)]
    assert texts == [["one"], ["one", "two"], ["two"], ["zwei"], []]
    assert [store.read(BOT, version).intents for version in (1, 4, 5)] == [("fly",), ("fly",), ()]
    assert store.read(BOT, 2).stamp.version == 2


def test_the_history_says_when_who_and_what(store: Store):
    before = datetime.now(UTC) - timedelta(seconds=1)
    store.create(BOT, added("one"), what="from a file", by=None)
    for number in range(4):
        change(store, added(f"number {number}"))
    newest, *_, oldest = store.versions(BOT)
    assert [row.number for row in store.versions(BOT)] == [5, 4, 3, 2, 1]
    assert (newest.by, newest.what) == ("ann", WHAT)
    assert (oldest.by, oldest.what) == (None, "from a file")
    assert before <= oldest.made <= newest.made <= datetime.now(UTC)
    assert [row.number for row in store.versions(BOT, limit=2)] == [5, 4]
    assert [row.number for row in store.versions(BOT, before=3)] == [2, 1]
    assert store.versions(BOT, before=1) == []
    assert store.versions(BOT, before=99, limit=1) == [newest]


@pytest.mark.parametrize("version", [-1, 0, 2, 2**40])
def test_a_version_that_never_was(store: Store, version: int):
    create(store, FLY)
    for asked in (
        lambda: store.read(BOT, version),
        lambda: store.compare(BOT, 1, version),
        lambda: store.compare(BOT, version, 1),
        lambda: store.restore(BOT, version, by=None),
    ):
        with pytest.raises(NoSuchVersion, match=f"found version {version}, expected one from 1 to 1"):
            asked()
    assert store.stamp(BOT).version == 1


def test_whoever_says_what_they_have_seen_overwrites_nobody(store: Store):
    create(store, "one")
    change(store, added("two"), expect=1)
    for late in (
        lambda: change(store, added("three"), expect=1),
        lambda: change(store, Change(clear=True), expect=3),
        lambda: store.restore(BOT, 1, by=None, expect=1),
    ):
        with pytest.raises(VersionConflict) as conflict:
            late()
        assert conflict.value.found == 2
        assert conflict.value.expected in {1, 3}
    assert [text for _, text in shown(store)] == ["one", "two"]
    assert store.restore(BOT, 1, by=None, expect=2).stamp.version == 3


def test_an_old_version_comes_back_with_its_order_intents_and_the_rest(store: Store):
    rest = Rest(descriptions={"fly": "away"}, threshold=0.5)
    create(store, "one", "two", "three")
    change(store, Change(rest=rest, add_intents=("leave",), add=(new("hello", "greet"),)))
    good = store.read(BOT)
    change(store, Change(remove=(ids(store)["two"],)))
    change(store, Change(replace={ids(store)["three"]: new("drei")}, rest=Rest()))
    change(store, Change(remove_intents=("leave", "greet")))
    change(store, added("four"))
    done = store.restore(BOT, 2, by="bob")
    assert done.stamp.version == 7
    now = store.read(BOT)
    assert marked(now) == marked(good) == ["one", "two", "three", "hello"]
    assert now.intents == good.intents == ("fly", "leave", "greet")
    assert now.rest == rest
    assert (store.versions(BOT)[0].by, store.versions(BOT)[0].what) == ("bob", "restored version 2")
    assert [text for _, text in shown(store, 6)] == ["one", "drei", "four"]
    assert now.examples[0] == good.examples[0], "what was never gone keeps its number"
    change(store, added("five"))
    assert marked(store.read(BOT)) == ["one", "two", "three", "hello", "five"]


def test_what_was_restored_can_be_undone(store: Store):
    create(store, "one", "two")
    change(store, Change(clear=True, add=(new("three", "count"),)))
    store.restore(BOT, 1, by=None)
    store.restore(BOT, 2, by=None)
    assert shown(store) == [("count", "three")]
    assert store.read(BOT).intents == ("count",)
    store.restore(BOT, 3, by=None)
    assert shown(store) == [("fly", "one"), ("fly", "two")]
    store.restore(BOT, 5, by=None)
    assert [shown(store, version) for version in (1, 3, 5, 6)] == [[("fly", "one"), ("fly", "two")]] * 4
    assert [shown(store, version) for version in (2, 4)] == [[("count", "three")]] * 2


def test_a_difference_is_told_by_what_examples_say(store: Store):
    create(store, "one", "one", FLY)
    change(store, Change(remove=(store.read(BOT).examples[0].id,), replace={ids(store)[FLY]: new("fly to Oslo")}))
    change(store, Change(add_intents=("greet",), rest=Rest(threshold=0.5, descriptions={"fly": "away"})))
    change(store, Change(remove_intents=("fly",)))
    first = store.compare(BOT, 1, 2)
    assert [example.utterance.text for example in first.added] == ["fly to Oslo"]
    assert not first.added[0].utterance.slots
    assert [example.utterance.text for example in first.removed] == ["one", "fly to Oslo"]
    assert first.changed == first.added_intents == first.removed_intents == ()
    second = store.compare(BOT, 2, 4)
    assert (second.added_intents, second.removed_intents) == (("greet",), ("fly",))
    assert second.changed == ("descriptions", "threshold")
    back = store.compare(BOT, 4, 2)
    assert (back.added, back.removed) == (second.removed, second.added)
    store.restore(BOT, 1, by=None)
    same = store.compare(BOT, 1, 5)
    assert same == store.compare(BOT, 1, 1) == Difference((), (), (), (), ())
