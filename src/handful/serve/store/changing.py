"""What a change does to the rows of a bot, inside a transaction that holds it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Table, func, insert, select, update

from handful.serve.store.errors import IntentExists, NoSuchExample, NoSuchIntent, TooManyExamples
from handful.serve.store.rows import example_row, rest_content
from handful.serve.store.schema import at, bots, examples, intents, now, rests, versions
from handful.serve.store.values import Change, Changed, NewExample, Rest, Stamp, StoredExample

_AT_ONCE = 500  # numbers in a query


def apply(
    connection: Connection, name: str, stamp: Stamp, change: Change, *, what: str, by: str | None, when: str, most: int
) -> Changed:
    """All goes, where that is asked for; examples go and are replaced; intents go and come; examples come."""
    bot, version = stamp.bot, stamp.version + 1
    if change.clear:
        for table in (examples, intents):
            _end(connection, table, now(table, bot), version)
    changing = tuple(dict.fromkeys([*change.replace, *change.remove]))
    places = _ended(connection, name, bot, changing, version)
    for intent, new in change.rename_intents.items():
        _rename(connection, name, bot, intent, new, version)
    for intent in dict.fromkeys(change.remove_intents):
        if not _end(connection, intents, now(intents, bot) & (intents.c.name == intent), version):
            raise NoSuchIntent(f"the bot '{name}' has no intent '{intent}'")
        _end(connection, examples, now(examples, bot) & (examples.c.intent == intent), version)
    added = [*((places[id], example) for id, example in change.replace.items()), *((None, e) for e in change.add)]
    _declare(connection, name, bot, change.add_intents, [e for _, e in added], version)
    made = _insert(connection, bot, added, version)
    for table in (examples, intents):
        if (count := _count(connection, table, bot)) > most:
            raise TooManyExamples(
                f"the bot '{name}' would have {count:,} {table.name}, and {most:,} are the most that a bot may have"
            )
    _set_rest(connection, bot, change, version)
    _close(connection, Stamp(bot, version), what, by, when)
    return Changed(Stamp(bot, version), tuple(made))


def restored(connection: Connection, stamp: Stamp, back: int, *, by: str | None, when: str) -> Changed:
    """What is not of the old version goes, and what is of it alone comes again, in its old place."""
    bot, version = stamp.bot, stamp.version + 1
    for table in (examples, intents, rests):
        then = select(table.c.id).where(at(table, bot, back))
        is_now = select(table.c.id).where(now(table, bot))
        gone = connection.execute(select(table).where(at(table, bot, back) & table.c.id.not_in(is_now))).all()
        _end(connection, table, now(table, bot) & table.c.id.not_in(then), version)
        rows = [{**row._mapping, "since": version, "until": None} for row in gone]
        for row in rows:
            del row["id"]
        if rows:
            connection.execute(insert(table), rows)
    _close(connection, Stamp(bot, version), f"restored version {back}", by, when)
    return Changed(Stamp(bot, version))


def _end(connection: Connection, table: Table, where: Any, version: int) -> int:
    return connection.execute(update(table).where(where).values(until=version)).rowcount


def _ended(connection: Connection, name: str, bot: int, ids: Sequence[int], version: int) -> dict[int, int]:
    """The places of examples that go."""
    places: dict[int, int] = {}
    for start in range(0, len(ids), _AT_ONCE):
        some = ids[start : start + _AT_ONCE]
        where = now(examples, bot) & examples.c.id.in_(some)
        places |= {
            row.id: row.place for row in connection.execute(select(examples.c.id, examples.c.place).where(where))
        }
        _end(connection, examples, where, version)
    missing = [id for id in ids if id not in places]
    if missing:
        raise NoSuchExample(f"the bot '{name}' has no example {missing[0]}: it may have been changed or taken away")
    return places


def _rename(connection: Connection, name: str, bot: int, intent: str, new: str, version: int) -> None:
    """In its place. Its examples are the change's own to move."""
    where = now(intents, bot) & (intents.c.name == intent)
    place = connection.execute(select(intents.c.place).where(where)).scalar()
    if place is None:
        raise NoSuchIntent(f"the bot '{name}' has no intent '{intent}'")
    if connection.execute(select(intents.c.id).where(now(intents, bot) & (intents.c.name == new))).first():
        raise IntentExists(f"the bot '{name}' has the intent '{new}' already")
    _end(connection, intents, where, version)
    connection.execute(insert(intents).values(bot=bot, place=place, since=version, name=new))


def _declare(
    connection: Connection,
    name: str,
    bot: int,
    asked: Sequence[str],
    coming: Sequence[NewExample],
    version: int,
) -> None:
    """Intents that are named, and those that examples bring."""
    there = set(connection.execute(select(intents.c.name).where(now(intents, bot))).scalars())
    if known := [intent for intent in asked if intent in there]:
        raise IntentExists(f"the bot '{name}' has the intent '{known[0]}' already")
    new = [i for i in dict.fromkeys([*asked, *(e.utterance.intent for e in coming)]) if i not in there]
    if new:
        first = _places(connection, bot, len(new))
        rows = [{"bot": bot, "place": first + n, "since": version, "name": intent} for n, intent in enumerate(new)]
        connection.execute(insert(intents), rows)


def _insert(
    connection: Connection, bot: int, added: Sequence[tuple[int | None, NewExample]], version: int
) -> list[StoredExample]:
    if not added:
        return []
    place = _places(connection, bot, len(added))
    rows = [
        {"bot": bot, "place": place + n if at is None else at, "since": version, **example_row(example)}
        for n, (at, example) in enumerate(added)
    ]
    ids = connection.execute(insert(examples).returning(examples.c.id, sort_by_parameter_order=True), rows).scalars()
    return [StoredExample(id, e.utterance, e.metadata) for id, (_, e) in zip(ids, added, strict=True)]


def _places(connection: Connection, bot: int, count: int) -> int:
    """The first of so many new places."""
    where = bots.c.id == bot
    first = connection.execute(select(bots.c.next_place).where(where)).scalar_one()
    connection.execute(update(bots).where(where).values(next_place=first + count))
    return first


def _count(connection: Connection, table: Table, bot: int) -> int:
    return connection.execute(select(func.count()).select_from(table).where(now(table, bot))).scalar_one()


def _set_rest(connection: Connection, bot: int, change: Change, version: int) -> None:
    rest = change.rest if change.rest is not None else Rest() if change.clear else None
    if rest is None:
        return
    content = rest_content(rest)
    if connection.execute(select(rests.c.content).where(now(rests, bot))).scalar_one() == content:
        return
    _end(connection, rests, now(rests, bot), version)
    connection.execute(insert(rests).values(bot=bot, since=version, content=content))


def _close(connection: Connection, stamp: Stamp, what: str, by: str | None, when: str) -> None:
    connection.execute(insert(versions).values(bot=stamp.bot, number=stamp.version, made=when, by=by, what=what))
    connection.execute(update(bots).where(bots.c.id == stamp.bot).values(version=stamp.version, changed=when))
