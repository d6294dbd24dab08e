"""A database that is away, full, read-only or held by others: told in words, nothing half done, and then it goes on."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import event

from handful.serve.store import Store
from handful.serve.store import engine as engines
from handful.serve.store.errors import StoreDamaged, StoreFull, StoreReadOnly, StoreUnavailable
from handful.serve.store.values import Change
from serve.postgres import Postgres
from serve.store.made import BOT, FLY, added, change, create, shown

LONG = "x" * 5000


@contextmanager
def listening(store: Store, what: str, listener: Callable[..., Any]) -> Iterator[None]:
    event.listen(store.database.engine, what, listener)
    try:
        yield
    finally:
        event.remove(store.database.engine, what, listener)


@pytest.fixture
def in_postgres(postgres_url: str) -> Iterator[Store]:
    store = Store.open(postgres_url)
    yield store
    store.close()


@pytest.fixture
def in_sqlite(sqlite_url: str) -> Iterator[Store]:
    store = Store.open(sqlite_url)
    yield store
    store.close()


# -- connections -------------------------------------------------------------------------------------------------------


def test_dropped_connections_are_made_anew(in_postgres: Store, postgres: Postgres, postgres_database: str):
    create(in_postgres, FLY)
    for turn in range(3):
        assert postgres.end_connections(postgres_database)
        if turn:
            assert shown(in_postgres)[0] == ("fly", FLY)
        else:
            change(in_postgres, added("hello"))
    assert in_postgres.stamp(BOT).version == 2


def test_a_connection_that_is_dropped_within_a_change_undoes_it(
    in_postgres: Store, postgres: Postgres, postgres_database: str
):
    create(in_postgres, FLY)

    def drop(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("INSERT INTO versions"):
            assert postgres.end_connections(postgres_database)

    with (
        listening(in_postgres, "before_cursor_execute", drop),
        pytest.raises(StoreUnavailable, match="cannot be reached"),
    ):
        change(in_postgres, added("one", "two"))
    assert shown(in_postgres) == [("fly", FLY)]
    assert change(in_postgres, added("three")).stamp.version == 2


def test_a_server_that_restarts_is_missed_and_found_again(postgres: Postgres, in_postgres: Store):
    create(in_postgres, FLY)
    postgres.stop()
    try:
        for asked in (in_postgres.ping, in_postgres.bots, lambda: change(in_postgres, added("one"))):
            with pytest.raises(StoreUnavailable, match="cannot be reached"):
                asked()
        with pytest.raises(StoreUnavailable):
            Store.open(in_postgres.url)
    finally:
        postgres.start()
    in_postgres.ping()
    assert change(in_postgres, added("two")).stamp.version == 2
    assert [text for _, text in shown(in_postgres)] == [FLY, "two"]


@pytest.mark.parametrize("arrives", [True, False])
def test_a_connection_lost_at_commit_leaves_open_what_was_done(
    in_postgres: Store, postgres: Postgres, postgres_database: str, arrives: bool, monkeypatch: pytest.MonkeyPatch
):
    """Whether the commit reached the database or not, nobody can know: so that is what is told."""
    create(in_postgres, FLY)

    def lose(raw: psycopg.Connection) -> None:
        if arrives:
            raw.commit()
        assert postgres.end_connections(postgres_database)
        raw.execute("SELECT 1")

    with monkeypatch.context() as patch:
        patch.setattr(in_postgres.database.engine.dialect, "do_commit", lose)
        with pytest.raises(StoreUnavailable, match="may have been made or not; look at"):
            change(in_postgres, added("one"))
    assert in_postgres.stamp(BOT).version == (2 if arrives else 1)
    assert len(shown(in_postgres)) == (2 if arrives else 1)


def test_a_database_that_is_no_more(in_postgres: Store, postgres: Postgres, postgres_database: str):
    postgres.drop(postgres_database)
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        in_postgres.bots()
    postgres.execute(f"CREATE DATABASE {postgres_database}")


# -- locks -------------------------------------------------------------------------------------------------------------


def test_a_lock_that_is_held_too_long_is_told_and_harms_nothing(store_url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(engines, "_WAIT", 1)
    store = Store.open(store_url)
    create(store, FLY)
    holder = engines.connected(store_url)
    with holder.engine.begin() as connection:
        if not holder.is_sqlite:
            connection.exec_driver_sql("SELECT * FROM bots FOR UPDATE")
        with pytest.raises(StoreUnavailable, match="for too long: try again"):
            change(store, added("one"))
        assert shown(store) == [("fly", FLY)], "reading waits for nobody"
        store.ping()
    assert change(store, added("two")).stamp.version == 2
    assert [text for _, text in shown(store)] == [FLY, "two"]
    holder.engine.dispose()
    store.close()


def test_more_at_once_than_there_are_connections(in_postgres: Store, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(in_postgres.database.engine.pool, "_timeout", 0.1)
    engine = in_postgres.database.engine
    held = [engine.connect() for _ in range(30)]
    with pytest.raises(StoreUnavailable, match="all connections are in use: try again"):
        in_postgres.ping()
    for connection in held:
        connection.close()
    in_postgres.ping()


# -- full --------------------------------------------------------------------------------------------------------------


def test_a_full_disk_is_told_and_room_is_used_again(in_sqlite: Store):
    """As SQLite finds it: a limit of pages stands for the disk."""
    create(in_sqlite, FLY)
    limit: list[int] = []

    def limited(connection: Any) -> None:
        connection.exec_driver_sql(f"PRAGMA max_page_count = {limit[0]}")

    with in_sqlite.database.engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    with listening(in_sqlite, "begin", limited):
        limit[:] = [pages]
        with pytest.raises(StoreFull, match="the disk is full; nothing was changed"):
            change(in_sqlite, added(LONG, LONG, LONG))
        with pytest.raises(StoreFull):
            create(in_sqlite, LONG, name="other")
        assert shown(in_sqlite) == [("fly", FLY)]
        assert [bot.name for bot in in_sqlite.bots()] == [BOT]
        limit[:] = [pages + 100]
        assert change(in_sqlite, added(LONG)).stamp.version == 2
    assert [text for _, text in shown(in_sqlite)] == [FLY, LONG]


# -- read-only ---------------------------------------------------------------------------------------------------------


def test_a_database_that_became_read_only_is_read_and_not_written(store: Store, request: pytest.FixtureRequest):
    create(store, FLY)
    statement = "PRAGMA query_only = ON" if store.database.is_sqlite else "SET TRANSACTION READ ONLY"
    with listening(store, "begin", lambda connection: connection.exec_driver_sql(statement)):
        for refused in (
            lambda: change(store, added("one")),
            lambda: create(store, name="other"),
            lambda: store.delete(BOT),
            lambda: store.add_token("ann", "read"),
        ):
            with pytest.raises(StoreReadOnly, match="nothing was changed"):
                refused()
        assert shown(store) == [("fly", FLY)]
        store.ping()
    if store.database.is_sqlite:  # it holds for as long as the connection does
        store.database.engine.dispose()
    assert change(store, added("two")).stamp.version == 2


def test_a_damaged_file_is_told(sqlite_url: str, tmp_path: Path):
    store = Store.open(sqlite_url)
    create(store, *(f"number {n} {LONG}" for n in range(20)))
    store.close()
    file = tmp_path / "handful.db"
    whole = file.read_bytes()
    assert len(whole) > 50_000
    file.write_bytes(whole[:8192] + b"\xff" * (len(whole) - 8192))
    with pytest.raises(StoreDamaged, match=r"restore a backup"):
        Store.open(sqlite_url).read(BOT)


def test_other_processes_that_hold_the_file_are_waited_for(in_sqlite: Store, tmp_path: Path):
    """A backup program, or somebody with sqlite3 in a shell."""
    create(in_sqlite, FLY)
    shell = sqlite3.connect(tmp_path / "handful.db", isolation_level=None, check_same_thread=False)
    shell.execute("BEGIN IMMEDIATE")
    waiting = threading.Thread(target=lambda: change(in_sqlite, Change()))
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive(), "it waits"
    assert in_sqlite.stamp(BOT).version == 1, "and whoever reads does not"
    shell.execute("COMMIT")
    waiting.join(10)
    assert in_sqlite.stamp(BOT).version == 2
    shell.close()
