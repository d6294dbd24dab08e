"""Databases for the tests of the server: `store_url` runs a test on SQLite and on a real PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from handful.serve.store import Store
from serve.postgres import Postgres, binaries


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One server for all tests; what a test stops it starts again."""
    found = binaries()
    if found is None:
        reason = "PostgreSQL is not installed: found no initdb in PATH or /usr/lib/postgresql"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    server = Postgres(found)
    yield server
    server.remove()


@pytest.fixture
def postgres_database(postgres: Postgres) -> Iterator[str]:
    """The name of a database that is empty."""
    name = postgres.new_database()
    yield name
    postgres.give_back(name)


@pytest.fixture
def postgres_url(postgres: Postgres, postgres_database: str) -> str:
    return postgres.url(postgres_database)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A file that is not there yet."""
    return f"sqlite:///{tmp_path / 'handful.db'}"


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest) -> str:
    """Of a store that is empty, of either kind."""
    return request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "postgres_url")


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    opened = Store.open(store_url)
    yield opened
    opened.close()
