"""A store in one file, and back into a store of either kind."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import event

from handful.errors import HandfulError
from handful.serve.store import Store, backup, restore_backup
from handful.serve.store.errors import NewerStore, StoreDamaged
from handful.serve.store.values import Change, NewExample, Rest
from serve.postgres import Postgres
from serve.store.made import BOT, FLY, added, change, create, ids, new, shown

Opened = Callable[[str], Store]


@pytest.fixture
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Opened:
    """A second store, of the kind that is asked for."""

    def another(kind: str) -> Store:
        if kind == "sqlite":
            store = Store.open(f"sqlite:///{tmp_path / 'second.db'}")
        else:
            postgres: Postgres = request.getfixturevalue("postgres")
            name = postgres.new_database()
            request.addfinalizer(lambda: postgres.give_back(name))
            store = Store.open(postgres.url(name))
        request.addfinalizer(store.close)
        return store

    return another


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "handful.backup.gz"


def fill(store: Store) -> None:
    create(store, "one", FLY, "größer — 京都 👍🏿")
    change(store, Change(rest=Rest(threshold=0.5, descriptions={"fly": "ä"}), add_intents=("leave",)))
    change(store, Change(replace={ids(store)["one"]: NewExample(new("eins").utterance, {"a": [None, 1]})}))
    change(store, Change(remove=(ids(store)[FLY],)))
    create(store, "gone", name="gone")
    store.delete("gone")
    create(store, name="empty")
    store.add_token("ann", "write")


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_all_of_a_store_comes_back_in_a_store_of_either_kind(store: Store, file: Path, kind: str, opened: Opened):
    fill(store)
    counts = backup(store, file)
    assert (counts["bots"], counts["versions"], counts["tokens"]) == (2, 5, 1)
    other = opened(kind)
    assert restore_backup(other, file) == counts
    assert other.bots() == store.bots()
    assert other.tokens() == store.tokens()
    for version in (None, 1, 2, 3, 4):
        assert other.read(BOT, version) == store.read(BOT, version)
    assert other.versions(BOT) == store.versions(BOT)

    # It counts on: no number is given out twice.
    known = {example.id for version in (1, 2, 3, 4) for example in store.read(BOT, version).examples}
    done = change(other, added("new"))
    assert done.stamp.version == 5
    assert done.examples[0].id not in known
    made = create(other, "hello", name="second")
    assert made.stamp.bot not in {store.stamp(name).bot for name in (BOT, "empty")}
    assert other.restore(BOT, 1, by=None).stamp.version == 6
    assert shown(other) == shown(store, 1)
    assert shown(other, 5)[-1] == ("fly", "new")


def test_an_empty_store_is_a_store_too(store: Store, file: Path, opened: Opened):
    assert backup(store, file) == {}
    other = opened("sqlite")
    assert restore_backup(other, file) == {}
    create(other, FLY)


def test_what_is_there_is_never_overwritten(store: Store, file: Path, opened: Opened):
    fill(store)
    backup(store, file)
    other = opened("sqlite")
    other.add_token("bob", "read")
    with pytest.raises(HandfulError, match="has tokens already, expected an empty store"):
        restore_backup(other, file)
    assert other.bots() == []
    with pytest.raises(HandfulError, match="has bots already"):
        restore_backup(store, file)
    assert len(store.bots()) == 2


@pytest.mark.parametrize("kept", [0.0, 0.01, 0.5, 0.9, 0.999])
def test_a_part_of_a_backup_is_known_for_one(store: Store, file: Path, kept: float, opened: Opened):
    create(store, *(f"number {n}" for n in range(100)))
    backup(store, file)
    whole = file.read_bytes()
    file.write_bytes(whole[: int(len(whole) * kept)])
    refused(opened("sqlite"), file)


def refused(empty: Store, file: Path) -> None:
    with pytest.raises(StoreDamaged, match="damaged"):
        restore_backup(empty, file)
    assert empty.bots() == []
    create(empty, FLY)


def test_a_backup_that_was_changed_is_refused(store: Store, file: Path, opened: Opened):
    fill(store)
    backup(store, file)
    lines = gzip.decompress(file.read_bytes()).splitlines(keepends=True)
    empty = opened("sqlite")
    for damaged in (
        lines[:-1],
        lines[:1] + lines[2:],
        [*lines[:1], lines[1].replace(b"travel", b"travil"), *lines[2:]],
        [lines[0], *lines],
        [*lines, lines[1]],
        lines[-1:],
        [b"{}\n"],
        [b'"sha256"\n'],
        [lines[0], b'"sha256"\n'],
        [lines[0], b'{"sha256": "0"}\n'],
        [b"not json\n"],
        [b"\xff\xfe\n"],
    ):
        file.write_bytes(gzip.compress(b"".join(damaged)))
        with pytest.raises(StoreDamaged, match=r"damaged|behind its end"):
            restore_backup(empty, file)
    flipped = bytearray(gzip.compress(b"".join(lines)))
    flipped[len(flipped) // 2] ^= 0xFF
    file.write_bytes(flipped)
    with pytest.raises(StoreDamaged):
        restore_backup(empty, file)
    file.write_text("nlu:\n- intent: fly\n")
    with pytest.raises(StoreDamaged, match="is no backup of a store"):
        restore_backup(empty, file)
    assert empty.bots() == []


@pytest.mark.parametrize("newer", [{"format": 2}, {"revision": "9999"}])
def test_a_backup_of_a_newer_handful_is_refused(store: Store, file: Path, newer: dict[str, object], opened: Opened):
    backup(store, file)
    first, *rest = gzip.decompress(file.read_bytes()).splitlines(keepends=True)
    file.write_bytes(gzip.compress(json.dumps(json.loads(first) | newer).encode() + b"\n" + b"".join(rest)))
    with pytest.raises(NewerStore, match="upgrade handful"):
        restore_backup(opened("sqlite"), file)


def test_a_file_that_cannot_be_written_or_read_is_told(store: Store, tmp_path: Path):
    with pytest.raises(HandfulError, match=r"no/b\.gz: cannot be written: No such file"):
        backup(store, tmp_path / "no" / "b.gz")
    (tmp_path / "folder").mkdir()
    with pytest.raises(HandfulError, match="folder: cannot be written"):
        backup(store, tmp_path / "folder")
    with pytest.raises(HandfulError, match=r"no\.gz: cannot be read: No such file"):
        restore_backup(store, tmp_path / "no.gz")
    assert not list(tmp_path.glob("*.partial"))
    assert not list(tmp_path.glob(".*.partial"))


def test_a_backup_is_of_one_moment_while_others_write(store: Store, store_url: str, file: Path, opened: Opened):
    create(store)
    other = Store.open(store_url)
    stop = threading.Event()
    written = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            change(other, added(f"{number} a", f"{number} b"))
            number += 1
            written.set()

    writer = threading.Thread(target=write)
    writer.start()
    written.wait(10)
    backup(store, file)
    stop.set()
    writer.join()
    other.close()
    found = opened("sqlite")
    restore_backup(found, file)
    version = found.stamp(BOT).version
    assert len(found.versions(BOT, limit=10_000)) == version
    assert shown(found) == shown(store, version)
    assert len(shown(found)) == 2 * (version - 1)


def test_a_backup_keeps_nobody_from_writing(store: Store, store_url: str, file: Path):
    """However long it takes."""
    create(store, *(f"number {n}" for n in range(10)))
    other = Store.open(store_url)
    during: list[int] = []

    def write(*_: object) -> None:
        if not during:
            during.append(change(other, added("meanwhile")).stamp.version)

    event.listen(store.database.engine, "after_cursor_execute", write)
    backup(store, file)
    event.remove(store.database.engine, "after_cursor_execute", write)
    assert during == [2]
    other.close()


def test_a_store_that_cannot_be_written_to_can_be_backed_up(store: Store, file: Path, opened: Opened):
    fill(store)
    if store.database.is_sqlite:
        readonly = Store.open(store.url)
        readonly.database.engine.dispose()
        event.listen(readonly.database.engine, "connect", lambda raw, _: raw.execute("PRAGMA query_only = ON"))
        backup(readonly, file)
        readonly.close()
    else:
        backup(store, file)
    other = opened("sqlite")
    restore_backup(other, file)
    assert other.bots() == store.bots()
