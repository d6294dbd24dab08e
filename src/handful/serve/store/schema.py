"""The tables. Nothing that a bot had is ever overwritten: rows have the version they came with (`since`) and the one
they went with (`until`; nothing, for what is still there). So a version is a query."""

from __future__ import annotations

from sqlalchemy import JSON, Column, ForeignKey, Index, Integer, MetaData, String, Table, Text
from sqlalchemy.sql.elements import ColumnElement

metadata = MetaData()

_of_bot = "bots.id"

bots = Table(
    "bots",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(80), nullable=False, unique=True),
    Column("version", Integer, nullable=False),
    Column("next_place", Integer, nullable=False),  # of an example: its place in the order
    Column("made", String(40), nullable=False),  # times are ISO 8601, UTC
    Column("changed", String(40), nullable=False),
    sqlite_autoincrement=True,  # an id is never used again
)
versions = Table(
    "versions",
    metadata,
    Column("bot", Integer, ForeignKey(_of_bot, ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("made", String(40), nullable=False),
    Column("by", String(80)),  # the name of a token
    Column("what", Text, nullable=False),
)
intents = Table(
    "intents",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("bot", Integer, ForeignKey(_of_bot, ondelete="CASCADE"), nullable=False),
    Column("place", Integer, nullable=False),
    Column("since", Integer, nullable=False),
    Column("until", Integer),
    Column("name", Text, nullable=False),
    sqlite_autoincrement=True,
)
examples = Table(
    "examples",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("bot", Integer, ForeignKey(_of_bot, ondelete="CASCADE"), nullable=False),
    Column("place", Integer, nullable=False),
    Column("since", Integer, nullable=False),
    Column("until", Integer),
    Column("intent", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("slots", JSON, nullable=False),  # [label, first character, one past the last, value, role, group]
    Column("metadata", JSON(none_as_null=True)),
    sqlite_autoincrement=True,
)
rests = Table(
    "rests",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("bot", Integer, ForeignKey(_of_bot, ondelete="CASCADE"), nullable=False),
    Column("since", Integer, nullable=False),
    Column("until", Integer),
    Column("content", JSON, nullable=False),
    sqlite_autoincrement=True,
)
tokens = Table(
    "tokens",
    metadata,
    Column("name", String(80), primary_key=True),
    Column("scope", String(10), nullable=False),
    Column("sha256", String(64), nullable=False, unique=True),
    Column("made", String(40), nullable=False),
)
for table in (intents, examples, rests):
    Index(f"{table.name}_of_bot", table.c.bot, table.c.until, table.c.since)

TABLES = (bots, versions, intents, examples, rests, tokens)


def at(table: Table, bot: int, version: int) -> ColumnElement[bool]:
    """The rows of a bot as it was at a version."""
    return (table.c.bot == bot) & (table.c.since <= version) & (table.c.until.is_(None) | (table.c.until > version))


def now(table: Table, bot: int) -> ColumnElement[bool]:
    return (table.c.bot == bot) & table.c.until.is_(None)
