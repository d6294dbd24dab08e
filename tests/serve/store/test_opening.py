"""By which names a store is found, and which databases are refused."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import text

from handful.errors import ConfigError
from handful.serve.store import Store
from handful.serve.store import engine as engines
from handful.serve.store.engine import HEAD
from handful.serve.store.errors import NewerStore, StoreDamaged, StoreError, StoreUnavailable
from serve.postgres import Postgres
from serve.store.made import FLY, create, shown

_SECRET = "open-sesame"


def test_a_store_is_there_again_when_it_is_opened_again(store: Store, store_url: str):
    create(store, FLY)
    store.close()
    again = Store.open(store_url)
    assert shown(again) == [("fly", FLY)]
    again.ping()
    again.close()


def test_a_file_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for name in ("bare.db", str(tmp_path / "a folder ä" / "b%20c@d.db")):
        Path(name).parent.mkdir(exist_ok=True)
        store = Store.open(name)
        create(store, FLY)
        store.close()
        assert Path(name).read_bytes().startswith(b"SQLite format 3")
        assert sqlite3.connect(name).execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_store_in_memory_is_one_for_all_threads():
    store, other = Store.open("sqlite://"), Store.open("sqlite://")
    create(store, FLY)
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda _: shown(store), range(50))) == [[("fly", FLY)]] * 50
    assert other.bots() == [], "each has its own"


def test_a_file_that_must_be_there(tmp_path: Path):
    file = tmp_path / "handful.db"
    with pytest.raises(StoreUnavailable, match="there is no such file"):
        Store.open(str(file), create=False)
    assert not list(tmp_path.iterdir())
    Store.open(str(file)).close()
    Store.open(f"sqlite:///{file}", create=False).close()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "mysql://u@h/db",
        "sqllite:///x.db",
        "http://example.org",
        "postgresql://u@h:port/db",
        "://",
        "postgres+x://h/db",
    ],
)
def test_what_is_no_url_of_a_store(url: str):
    with pytest.raises(ConfigError, match=r"--store: found .*, expected"):
        Store.open(url)


@pytest.mark.parametrize("url", ["postgresql+psycopg2://h/db", "postgresql+asyncpg://h/db", "sqlite+aiosqlite:///x.db"])
def test_a_driver_that_is_not_ours(url: str):
    with pytest.raises(ConfigError, match="--store: "):
        Store.open(url)


def test_a_folder_that_is_not_there_or_in_the_way(tmp_path: Path):
    for place in (tmp_path / "no" / "handful.db", tmp_path):
        with pytest.raises(StoreUnavailable, match="cannot be opened: is its folder there"):
            Store.open(f"sqlite:///{place}")


def test_a_file_that_is_no_database(tmp_path: Path):
    file = tmp_path / "notes.txt"
    file.write_text("not a database, but somebody's notes\n" * 100)
    before = file.read_bytes()
    with pytest.raises(StoreDamaged, match="is no database of SQLite"):
        Store.open(str(file))
    assert file.read_bytes() == before


def test_a_database_of_somebody_elses_is_left_alone(store_url: str):
    database = engines.connected(store_url)
    with database.engine.begin() as connection:
        connection.execute(text("CREATE TABLE customers (name TEXT)"))
        connection.execute(text("INSERT INTO customers VALUES ('ann')"))
    with pytest.raises(StoreDamaged, match="has the table 'customers' and is no store"):
        Store.open(store_url)
    with database.engine.connect() as connection:
        assert connection.execute(text("SELECT * FROM customers")).all() == [("ann",)]
    database.engine.dispose()


def test_a_store_of_a_newer_handful_is_refused(store: Store, store_url: str):
    create(store, FLY)
    with store.database.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(NewerStore, match="is of the revision 9999, which a newer handful has made: upgrade"):
        Store.open(store_url)
    with store.database.engine.begin() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == "9999"
        connection.execute(text("UPDATE alembic_version SET version_num = :head"), {"head": HEAD})
    again = Store.open(store_url)
    assert shown(again) == [("fly", FLY)]
    again.close()


def test_the_tables_are_those_that_the_code_knows(store: Store):
    """What the migrations make and what schema.py says."""
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    from handful.serve.store.schema import metadata

    with store.database.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_many_open_an_empty_store_at_once(store_url: str):
    with ThreadPoolExecutor(8) as threads:
        stores = list(threads.map(lambda _: Store.open(store_url), range(8)))
    create(stores[0], FLY)
    assert [shown(store) for store in stores] == [[("fly", FLY)]] * 8
    for store in stores:
        store.close()


def test_processes_open_an_empty_store_at_once(store_url: str):
    """They wait for each other's word, so that they are at it together."""
    program = (
        "import sys; from handful.serve.store import Store; import alembic.command, alembic.config, alembic.script\n"
        "print('here', flush=True); sys.stdin.readline(); Store.open(sys.argv[1]).close(); print('open')"
    )
    command = [sys.executable, "-c", program, store_url]
    pipe = subprocess.PIPE
    processes = [subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe, stderr=pipe) for _ in range(3)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    ended = [process.communicate(timeout=60) for process in processes]
    assert [out for out, _ in ended] == ["open\n"] * 3, ended
    store = Store.open(store_url, create=False)
    assert store.bots() == []
    store.close()


# -- passwords ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "where",
    ["postgres:{secret}@127.0.0.1:{port}/{db}", "127.0.0.1:{port}/{db}?user=postgres&password={secret}"],
)
def test_a_password_is_never_shown(postgres: Postgres, postgres_database: str, where: str):
    url = "postgresql://" + where.format(secret=_SECRET, port=postgres.port, db=postgres_database)
    store = Store.open(url)
    assert _SECRET not in store.url
    assert postgres_database in store.url
    store.close()
    messages = []
    for wrong in (f":{postgres.port}/nowhere", ":1/nowhere"):
        with pytest.raises(StoreError) as error:
            Store.open(url.replace(f":{postgres.port}/{postgres_database}", wrong))
        messages.append(str(error.value))
    assert all("cannot be reached" in message for message in messages)
    assert _SECRET not in "".join(messages)


def test_a_url_that_cannot_be_read_is_not_repeated():
    with pytest.raises(ConfigError) as error:
        Store.open(f"postgresql://ann:{_SECRET}@host:port/db")
    assert _SECRET not in str(error.value)
