"""A whole store in one file, and back: of SQLite or PostgreSQL, into either.

Lines of JSON, packed: first what it is, then the rows of every table, last how many there were and their sum. So half a
file is known for one.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, insert, select, text

from handful.errors import HandfulError
from handful.serve.store.engine import HEAD
from handful.serve.store.errors import NewerStore, StoreDamaged, told
from handful.serve.store.schema import TABLES
from handful.serve.store.store import Store

FORMAT = 1
_AT_ONCE = 1000  # rows
Counts = dict[str, int]


def backup(store: Store, file: Path) -> Counts:
    """One moment of the store, whatever is written meanwhile. The file is there whole or not at all."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}.partial")
    database, counts, total = store.database, Counter[str](), hashlib.sha256()
    try:
        # It holds what people said, and the sums of tokens.
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        with gzip.open(temporary, "wb") as out, database.lock, told(store.url), database.engine.connect() as plain:
            # A transaction of SQLite sees one moment as it is; it must not hold up those who write.
            options = {"reading": True} if database.is_sqlite else {"isolation_level": "REPEATABLE READ"}
            connection = plain.execution_options(**options)

            def write(row: dict[str, Any]) -> None:
                line = json.dumps(row, ensure_ascii=False).encode() + b"\n"
                total.update(line)
                out.write(line)

            with connection.begin():
                write({"handful": "store", "format": FORMAT, "revision": HEAD, "made": datetime.now(UTC).isoformat()})
                for table in TABLES:
                    for row in connection.execute(select(table)):
                        write({"table": table.name, "row": dict(row._mapping)})
                        counts[table.name] += 1
            out.write(json.dumps({"counts": counts, "sha256": total.hexdigest()}).encode() + b"\n")
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(file)
    except OSError as error:
        raise HandfulError(f"{file}: cannot be written: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)
    return dict(counts)


def restore_backup(store: Store, file: Path) -> Counts:
    """Into a store that is empty: what is there is never overwritten. All of it or nothing."""
    counts = _looked_through(file)
    database = store.database
    with database.lock, told(store.url), database.engine.begin() as connection:
        for table in TABLES:
            if connection.execute(select(func.count()).select_from(table)).scalar_one():
                raise HandfulError(f"{store.url}: has {table.name} already, expected an empty store to restore to")
        tables = {table.name: table for table in TABLES}
        waiting: list[dict[str, Any]] = []
        name = ""
        for line in _lines(file):
            row = json.loads(line)
            if "table" not in row:
                continue
            if row["table"] != name or len(waiting) >= _AT_ONCE:
                _insert(connection, tables.get(name), waiting)
                name, waiting = row["table"], []
            waiting.append(row["row"])
        _insert(connection, tables.get(name), waiting)
        if not database.is_sqlite:
            _set_sequences(connection)
    return counts


def _insert(connection: Connection, table: Any, rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(insert(table), rows)


def _set_sequences(connection: Connection) -> None:
    """PostgreSQL counts on from what it has given out itself, and knows nothing of rows that came with a number."""
    for table in TABLES:
        if "id" in table.c:
            connection.execute(
                text(
                    f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), "
                    f"(SELECT COALESCE(MAX(id), 0) + 1 FROM {table.name}), false)"
                )
            )


def _looked_through(file: Path) -> Counts:
    """Before anything is written: is it whole, and one of ours?"""
    total, counts, end, first = hashlib.sha256(), Counter[str](), None, True
    known = {table.name for table in TABLES}
    for line in _lines(file):
        if end is not None:
            raise StoreDamaged(f"{file}: goes on behind its end")
        try:
            row = json.loads(line)
            if not isinstance(row, dict):
                raise TypeError(row)
            if first:
                first = False
                if row["handful"] != "store":
                    raise KeyError("handful")
                if row["format"] > FORMAT or row["revision"] > HEAD:
                    raise NewerStore(f"{file}: a newer handful has made it: upgrade handful")
            elif "sha256" in row:
                end = row
                continue
            elif row["table"] not in known:
                raise KeyError(row["table"])
            else:
                counts[row["table"]] += 1
        except (ValueError, KeyError, TypeError) as error:
            raise StoreDamaged(f"{file}: is no backup of a store, or is damaged") from error
        total.update(line)
    if end is None or (end.get("sha256"), end.get("counts")) != (total.hexdigest(), dict(counts)):
        raise StoreDamaged(f"{file}: is damaged, or only a part of a backup; nothing was restored")
    return dict(counts)


def _lines(file: Path) -> Iterator[bytes]:
    try:
        with gzip.open(file, "rb") as opened:
            yield from opened
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise StoreDamaged(f"{file}: is no backup of a store, or is damaged: {error}") from error
    except OSError as error:
        raise HandfulError(f"{file}: cannot be read: {error.strerror or error}") from error
