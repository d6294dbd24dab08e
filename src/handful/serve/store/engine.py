"""A database by its URL: connections that keep what they have acknowledged, and tables brought up to date."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import StaticPool

from handful.errors import ConfigError
from handful.serve.store.errors import NewerStore, StoreDamaged, StoreUnavailable, told

HEAD = "0001"  # the newest of migrations/versions
_WAIT = 5  # seconds for a lock, a connection, or a database that does not answer
_DRIVERS = {"sqlite", "sqlite+pysqlite", "postgresql+psycopg"}
_MIGRATING = 0x68616E64  # PostgreSQL's advisory lock: several servers may start at once


@dataclass(frozen=True, slots=True, eq=False)
class Database:
    engine: Engine
    shown: str  # the URL without its password
    lock: AbstractContextManager[Any]  # a database in memory has one connection, which threads must take turns with

    @property
    def is_sqlite(self) -> bool:
        return self.engine.dialect.name == "sqlite"


def connected(url: str, *, create: bool = True) -> Database:
    parsed = _parsed(url)
    shown = _shown(parsed)
    if parsed.get_backend_name() == "sqlite":
        return Database(
            _sqlite(parsed, shown, create), shown, threading.RLock() if _in_memory(parsed) else nullcontext()
        )
    return Database(_postgres(parsed), shown, nullcontext())


def _shown(url: URL) -> str:
    """Without a password, wherever it stands; a file as its path."""
    if url.get_backend_name() == "sqlite":
        return f"sqlite:///{url.database}" if url.database else "sqlite://"
    plain = url.difference_update_query(["password", "sslpassword"]).set(drivername="postgresql")
    return plain.render_as_string(hide_password=True)


def _parsed(url: str) -> URL:
    if url and "://" not in url:
        return URL.create("sqlite", database=url)
    if url.startswith(("postgres://", "postgresql://")):
        url = f"postgresql+psycopg://{url.split('://', 1)[1]}"
    try:
        parsed = make_url(url)
        name = parsed.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError):
        raise ConfigError(
            "--store: found no URL of a database, expected a file, sqlite:///FILE or postgresql://…"
        ) from None
    if name not in {"sqlite", "postgresql"}:
        raise ConfigError(f"--store: found a database of the kind '{name}', expected sqlite or postgresql")
    if parsed.drivername not in _DRIVERS:
        raise ConfigError(f"--store: found the driver '{parsed.drivername}', expected plain {name}://…")
    return parsed


def _in_memory(url: URL) -> bool:
    return url.database in {None, "", ":memory:"}


def _sqlite(url: URL, shown: str, create: bool) -> Engine:
    arguments: dict[str, Any] = {"connect_args": {"timeout": _WAIT, "check_same_thread": False}}
    if _in_memory(url):
        arguments["poolclass"] = StaticPool
    elif not create and not Path(url.database or "").exists():
        raise StoreUnavailable(f"{shown}: there is no such file")
    engine = create_engine(url, **arguments)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions begin where we say so
        cursor = connection.cursor()
        try:
            cursor.execute("PRAGMA foreign_keys = ON")
            cursor.execute("PRAGMA synchronous = FULL")  # a commit is on the disk when it returns
            cursor.execute("PRAGMA journal_mode = WAL")  # readers do not wait for writers
        finally:
            cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        options = connection.get_execution_options()
        if options.get("isolation_level") != "AUTOCOMMIT":
            # At once: a transaction that turns to writing half-way may find that another one was quicker.
            connection.exec_driver_sql("BEGIN" if options.get("reading") else "BEGIN IMMEDIATE")

    return engine


def _postgres(url: URL) -> Engine:
    if find_spec("psycopg") is None:
        raise ConfigError("PostgreSQL needs psycopg: pip install 'handful[serve,postgres]'")
    arguments: dict[str, Any] = {"connect_timeout": _WAIT}
    if "options" not in url.query:
        arguments["options"] = f"-c lock_timeout={_WAIT}s -c statement_timeout=60s"
    return create_engine(
        url, connect_args=arguments, pool_pre_ping=True, pool_size=10, max_overflow=20, pool_timeout=_WAIT
    )


def migrate(database: Database) -> None:
    """All tables, as this version of handful has them. A store that is up to date is only looked at."""
    with database.lock, told(database.shown), database.engine.connect() as connection:
        if _revision(connection.execution_options(isolation_level="AUTOCOMMIT"), database.shown) == HEAD:
            return
    with database.lock, told(database.shown), database.engine.begin() as connection:
        if not database.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATING})
        found = _revision(connection, database.shown)  # another server may have been quicker
        if found != HEAD:
            _upgrade(connection, found, database.shown)


def _revision(connection: Connection, shown: str) -> str | None:
    tables = inspect(connection).get_table_names()
    if "alembic_version" not in tables:
        if tables:
            raise StoreDamaged(f"{shown}: has the table '{sorted(tables)[0]}' and is no store of handful's")
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _upgrade(connection: Connection, found: str | None, shown: str) -> None:
    # Here, not above: a store that is up to date must open at once.
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    folder = Path(__file__).parent / "migrations"
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if found is not None and found not in known:
        raise NewerStore(f"{shown}: is of the revision {found}, which a newer handful has made: upgrade handful")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
