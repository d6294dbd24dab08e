"""Bots and their versions. A change is one transaction, makes exactly one version, and returns when it is durable."""

from __future__ import annotations

import hashlib
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Self

from sqlalchemy import Connection, delete, func, insert, select
from sqlalchemy.exc import IntegrityError

from handful.serve.store.changing import apply, restored
from handful.serve.store.engine import Database, connected, migrate
from handful.serve.store.errors import (
    NAME,
    BotExists,
    NoSuchBot,
    NoSuchToken,
    NoSuchVersion,
    TokenExists,
    VersionConflict,
    check_name,
    told,
)
from handful.serve.store.rows import example_of, rest_content, rest_of, scope_of
from handful.serve.store.schema import at, bots, examples, intents, rests, tokens, versions
from handful.serve.store.values import (
    BotRow,
    Change,
    Changed,
    Content,
    Difference,
    Rest,
    Scope,
    Stamp,
    StoredExample,
    TokenRow,
    VersionRow,
)

# What shall be done to a bot, and what its history says of it.
Edit = Callable[[Content], tuple[Change, str]]


class Store:
    def __init__(self, database: Database, most_examples: int) -> None:
        self._database, self._most = database, most_examples

    @classmethod
    def open(cls, url: str, *, most_examples: int = 20_000, create: bool = True) -> Self:
        """By a file's path, sqlite:///FILE, sqlite:// (in memory), or postgresql://…; its tables are brought up to
        date. `create=False`: a file of SQLite must be there."""
        database = connected(url, create=create)
        migrate(database)
        return cls(database, most_examples)

    @property
    def url(self) -> str:
        """Without its password."""
        return self._database.shown

    def close(self) -> None:
        self._database.engine.dispose()

    def ping(self) -> None:
        with self._reading() as connection:
            connection.execute(select(1))

    # -- reading -------------------------------------------------------------------------------------------------------

    def bots(self) -> list[BotRow]:
        def counted(table: Any) -> Any:
            own = select(func.count()).where((table.c.bot == bots.c.id) & table.c.until.is_(None))
            return own.scalar_subquery()

        with self._reading() as connection:
            rows = connection.execute(
                select(bots, counted(intents).label("intents"), counted(examples).label("examples")).order_by(
                    bots.c.name
                )
            ).all()
        return [
            BotRow(row.name, row.version, row.intents, row.examples, _time(row.made), _time(row.changed))
            for row in rows
        ]

    def names(self, limit: int) -> list[str]:
        """Of the first bots, without a look at what is in them."""
        with self._reading() as connection:
            return list(connection.execute(select(bots.c.name).order_by(bots.c.name).limit(limit)).scalars())

    def stamp(self, name: str) -> Stamp:
        with self._reading() as connection:
            return self._stamp(connection, name)

    def read(
        self, name: str, version: int | None = None, *, known: Mapping[int, StoredExample] | None = None
    ) -> Content:
        """The bot as it is, or was. Examples that are `known` are not made again: what has a number never changes."""
        with self._reading() as connection:
            stamp = self._stamp(connection, name)
            if version is not None:
                stamp = self._at(stamp, name, version)
            return self._content(connection, name, stamp, known or {})

    @staticmethod
    def _content(connection: Connection, name: str, stamp: Stamp, known: Mapping[int, StoredExample]) -> Content:
        """Each version's rows stand for ever, so these queries agree without a transaction."""
        where = at(examples, stamp.bot, stamp.version)
        rows = connection.execute(select(examples).where(where).order_by(examples.c.place, examples.c.id)).all()
        where = at(intents, stamp.bot, stamp.version)
        names = connection.execute(
            select(intents.c.name).where(where).order_by(intents.c.place, intents.c.id)
        ).scalars()
        found = tuple(names)
        content = connection.execute(select(rests.c.content).where(at(rests, stamp.bot, stamp.version))).scalar()
        if content is None:  # deleted between two of the queries
            raise _no_bot(name)
        return Content(
            name, stamp, found, tuple(known.get(row.id) or example_of(row) for row in rows), rest_of(content)
        )

    def versions(self, name: str, *, before: int | None = None, limit: int = 50) -> list[VersionRow]:
        with self._reading() as connection:
            stamp = self._stamp(connection, name)
            where = versions.c.bot == stamp.bot
            if before is not None:
                where &= versions.c.number < before
            rows = connection.execute(
                select(versions).where(where).order_by(versions.c.number.desc()).limit(limit)
            ).all()
        return [VersionRow(row.number, _time(row.made), row.by, row.what) for row in rows]

    def compare(self, name: str, older: int, newer: int) -> Difference:
        before = self.read(name, older)
        after = self.read(name, newer, known={example.id: example for example in before.examples})
        had, has = set(before.intents), set(after.intents)
        return Difference(
            added=_missing(after, before),
            removed=_missing(before, after),
            added_intents=tuple(intent for intent in after.intents if intent not in had),
            removed_intents=tuple(intent for intent in before.intents if intent not in has),
            changed=tuple(
                part for part in Rest.__dataclass_fields__ if getattr(before.rest, part) != getattr(after.rest, part)
            ),
        )

    # -- changing ------------------------------------------------------------------------------------------------------

    def create(self, name: str, first: Change | None = None, *, what: str, by: str | None) -> Changed:
        """A bot at version 1, empty unless there is a first change."""
        first = first or Change()
        check_name(name, "a bot")
        when = _now()
        with self._writing() as connection:
            try:
                made = connection.execute(
                    insert(bots)
                    .values(name=name, version=0, next_place=1, made=when, changed=when)
                    .returning(bots.c.id)
                )
            except IntegrityError:
                raise BotExists(f"there is a bot '{name}' already: choose another name") from None
            bot = made.scalar_one()
            connection.execute(insert(rests).values(bot=bot, since=1, content=rest_content(first.rest or Rest())))
            return apply(connection, name, Stamp(bot, 0), first, what=what, by=by, when=when, most=self._most)

    def delete(self, name: str) -> None:
        with self._writing() as connection:
            if not NAME.fullmatch(name) or not connection.execute(delete(bots).where(bots.c.name == name)).rowcount:
                raise _no_bot(name)

    def change(self, name: str, change: Change, *, what: str, by: str | None, expect: int | None = None) -> Changed:
        """`expect` is the version that the caller has seen: where the bot has moved on, nothing is done."""
        with self._writing() as connection:
            stamp = self._locked(connection, name, expect)
            return apply(connection, name, stamp, change, what=what, by=by, when=_now(), most=self._most)

    def edit(self, name: str, edit: Edit, *, by: str | None, expect: int | None = None) -> Changed:
        """A change that is made of what the bot is. Nobody else changes it in between."""
        with self._writing() as connection:
            stamp = self._locked(connection, name, expect)
            change, what = edit(self._content(connection, name, stamp, {}))
            return apply(connection, name, stamp, change, what=what, by=by, when=_now(), most=self._most)

    def restore(self, name: str, version: int, *, by: str | None, expect: int | None = None) -> Changed:
        """A new version like an old one."""
        with self._writing() as connection:
            stamp = self._locked(connection, name, expect)
            back = self._at(stamp, name, version)
            return restored(connection, stamp, back.version, by=by, when=_now())

    # -- tokens --------------------------------------------------------------------------------------------------------

    def add_token(self, name: str, scope: Scope) -> str:
        """The token, which is told this once: what is kept is its sum."""
        check_name(name, "a token")
        token = f"hf_{secrets.token_urlsafe(32)}"
        row = {"name": name, "scope": scope, "made": _now(), "sha256": hashlib.sha256(token.encode()).hexdigest()}
        with self._writing() as connection:
            try:
                connection.execute(insert(tokens).values(row))
            except IntegrityError:
                raise TokenExists(
                    f"there is a token '{name}' already: choose another name, or remove it first"
                ) from None
        return token

    def tokens(self) -> list[TokenRow]:
        with self._reading() as connection:
            rows = connection.execute(select(tokens).order_by(tokens.c.name)).all()
        return [TokenRow(row.name, scope_of(row.scope), _time(row.made), row.sha256) for row in rows]

    def remove_token(self, name: str) -> None:
        with self._writing() as connection:
            if not NAME.fullmatch(name) or not connection.execute(delete(tokens).where(tokens.c.name == name)).rowcount:
                raise NoSuchToken(f"there is no token '{name[:80]}'")

    # -- connections ---------------------------------------------------------------------------------------------------

    @property
    def database(self) -> Database:
        return self._database

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        database = self._database
        with database.lock, told(self.url), database.engine.connect() as connection:
            yield connection.execution_options(isolation_level="AUTOCOMMIT")

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        database = self._database
        with database.lock, told(self.url), database.engine.connect() as connection:
            transaction = connection.begin()
            try:
                yield connection
            except BaseException:
                transaction.rollback()
                raise
            with told(self.url, committing=True):
                transaction.commit()

    def _stamp(self, connection: Connection, name: str) -> Stamp:
        # A name that no bot can have is not asked for: a database may choke on it.
        asked = select(bots.c.id, bots.c.version).where(bots.c.name == name)
        row = connection.execute(asked).first() if NAME.fullmatch(name) else None
        if row is None:
            raise _no_bot(name)
        return Stamp(row.id, row.version)

    def _locked(self, connection: Connection, name: str, expect: int | None) -> Stamp:
        """The bot, held until this transaction ends; SQLite holds all of the store."""
        asked = select(bots.c.id, bots.c.version).where(bots.c.name == name).with_for_update()
        row = connection.execute(asked).first() if NAME.fullmatch(name) else None
        if row is None:
            raise _no_bot(name)
        if expect is not None and expect != row.version:
            raise VersionConflict(name, expect, row.version)
        return Stamp(row.id, row.version)

    @staticmethod
    def _at(stamp: Stamp, name: str, version: int) -> Stamp:
        if not 1 <= version <= stamp.version:
            raise NoSuchVersion(f"found version {version}, expected one from 1 to {stamp.version} of the bot '{name}'")
        return Stamp(stamp.bot, version)


def _no_bot(name: str) -> NoSuchBot:
    return NoSuchBot(f"there is no bot '{name[:80]}'")


def _missing(content: Content, other: Content) -> tuple[StoredExample, ...]:
    """Examples that the other lacks. By what they say: a restored one has another number."""
    left = Counter(_said(example) for example in other.examples)
    found = []
    for example in content.examples:
        said = _said(example)
        if left[said]:
            left[said] -= 1
        else:
            found.append(example)
    return tuple(found)


def _said(example: StoredExample) -> tuple[Any, ...]:
    return example.utterance.intent, example.utterance.text, example.utterance.slots


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _time(written: str) -> datetime:
    return datetime.fromisoformat(written)
