"""Several write at once: nothing is lost, and every version is made once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from handful.serve.store import Store
from handful.serve.store.errors import BotExists, NoSuchBot, VersionConflict
from handful.serve.store.values import Change
from serve.store.made import BOT, added, change, create, ids, new, shown

_WRITERS, _EACH = 6, 12


def at_once(work: Callable[[int], Any], count: int = _WRITERS) -> list[Any]:
    """All begin together."""
    start = threading.Barrier(count)

    def begun(number: int) -> Any:
        start.wait()
        return work(number)

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(begun, range(count)))


@pytest.fixture(params=["one store", "two stores"])
def stores(request: pytest.FixtureRequest, store: Store, store_url: str) -> Iterator[list[Store]]:
    """As one server's threads have it, or two servers."""
    other = store if request.param == "one store" else Store.open(store_url)
    yield [store, other]
    other.close()


def test_nothing_is_lost_and_versions_have_no_gaps(stores: list[Store]):
    create(stores[0])

    def write(writer: int) -> list[int]:
        own = stores[writer % 2]
        return [change(own, added(f"{writer} {n}", f"{writer} {n} b")).stamp.version for n in range(_EACH)]

    made = at_once(write)
    changes = _WRITERS * _EACH
    assert sorted(version for own in made for version in own) == list(range(2, changes + 2))
    assert all(own == sorted(own) for own in made)
    numbers = [row.number for row in stores[1].versions(BOT, limit=1000)]
    assert numbers == list(range(changes + 1, 0, -1))
    expected = {("fly", f"{writer} {n}{end}") for writer in range(_WRITERS) for n in range(_EACH) for end in ("", " b")}
    found = shown(stores[1])
    assert len(found) == 2 * changes
    assert set(found) == expected
    for version in (2, changes // 2, changes + 1):
        texts = [text for _, text in shown(stores[0], version)]
        assert len(texts) == 2 * (version - 1)
        assert texts[1::2] == [f"{text} b" for text in texts[0::2]], "both of a change, side by side"


def test_of_those_that_have_seen_the_same_version_one_wins(stores: list[Store]):
    create(stores[0])

    def write(writer: int) -> bool:
        try:
            change(stores[writer % 2], added(f"{writer}"), expect=1)
        except VersionConflict as conflict:
            return conflict.found != 2
        return True

    assert sum(at_once(write)) == 1
    assert len(shown(stores[0])) == 1


def test_one_makes_a_bot_and_the_others_are_told(stores: list[Store]):
    def make(writer: int) -> bool:
        try:
            create(stores[writer % 2], f"of {writer}")
        except BotExists:
            return False
        return True

    made = at_once(make)
    assert sum(made) == 1
    assert shown(stores[0]) == [("fly", f"of {made.index(True)}")]


def test_whoever_reads_meanwhile_sees_whole_versions(stores: list[Store]):
    create(stores[0], "0 a", "0 b")
    done = threading.Event()

    def work(number: int) -> None:
        if number == 0:
            for n in range(1, 30):
                replaced = dict(zip(ids(stores[0]).values(), (new(f"{n} a"), new(f"{n} b")), strict=True))
                change(stores[0], Change(replace=replaced))
            done.set()
            return
        seen = 0
        while not done.is_set():
            content = stores[1].read(BOT)
            texts = [example.utterance.text for example in content.examples]
            assert texts == [f"{content.stamp.version - 1} a", f"{content.stamp.version - 1} b"]
            assert content.stamp.version >= seen
            seen = content.stamp.version

    at_once(work, 3)


def test_what_is_acknowledged_is_seen_by_the_next_that_asks(store: Store, store_url: str):
    create(store)
    other = Store.open(store_url)
    pair = [store, other]
    for turn in range(40):
        done = change(pair[turn % 2], added(f"number {turn}"))
        assert pair[1 - turn % 2].stamp(BOT) == done.stamp
        assert shown(pair[1 - turn % 2])[-1] == ("fly", f"number {turn}")
    other.close()


def test_a_bot_that_is_deleted_while_it_is_changed_is_gone_whole(stores: list[Store]):
    for turn in range(5):
        create(stores[0], "one", name=f"bot-{turn}")

        def work(writer: int, name: str = f"bot-{turn}") -> None:
            try:
                if writer == 0:
                    stores[0].delete(name)
                for n in range(3):
                    change(stores[writer % 2], added(f"{writer} {n}"), name=name)
                    assert shown(stores[writer % 2], name=name)
            except NoSuchBot:
                pass

        at_once(work, 3)
        with pytest.raises(NoSuchBot):
            stores[1].read(f"bot-{turn}")
        create(stores[1], "new", name=f"bot-{turn}")
        assert shown(stores[0], name=f"bot-{turn}") == [("fly", "new")]
