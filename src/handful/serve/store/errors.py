"""What may go wrong with a store, in words; and the one place where a database's own errors become these."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DataError, DBAPIError, InvalidRequestError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from handful.errors import HandfulError


class StoreError(HandfulError):
    """The base of all that a store tells."""


class NoSuchBot(StoreError):
    """There is no bot of this name."""


class NoSuchVersion(StoreError):
    """The bot has not been at this version."""


class NoSuchExample(StoreError):
    """The bot, as it is, has no example with this number."""


class NoSuchIntent(StoreError):
    """The bot, as it is, has no such intent."""


class NoSuchToken(StoreError):
    """There is no token of this name."""


class BotExists(StoreError):
    """The name is taken."""


class IntentExists(StoreError):
    """The bot has this intent already."""


class TokenExists(StoreError):
    """The name is taken."""


class BadName(StoreError):
    """A name that a bot or a token cannot have."""


class TooManyExamples(StoreError):
    """A bot would grow beyond what the server allows."""


class VersionConflict(StoreError):
    """Somebody else was quicker."""

    def __init__(self, bot: str, expected: int, found: int) -> None:
        super().__init__(f"the bot '{bot}' is at version {found} now, not at {expected}: look at it again")
        self.expected, self.found = expected, found


class StoreUnavailable(StoreError):
    """It cannot be reached now; later it may."""


class OutcomeUnknown(StoreUnavailable):
    """It was lost while a change was being written."""


class StoreFull(StoreError):
    """Its disk is full. Nothing was changed."""


class StoreReadOnly(StoreError):
    """It cannot be written to. Nothing was changed."""


class StoreDamaged(StoreError):
    """It is no store, or is not whole."""


class NewerStore(StoreError):
    """A newer handful has made it."""


NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")


def check_name(name: str, what: str) -> None:
    if not NAME.fullmatch(name):
        raise BadName(
            f"found {name[:100]!r} as the name of {what}, "
            "expected up to 80 letters, digits and _ . -, a letter or digit first"
        )


_UNKNOWN = (
    "while a change was being written: it may have been made or not; look at the bot's version before you try again"
)


@contextmanager
def told(shown_url: str, *, committing: bool = False) -> Iterator[None]:
    """A database's errors as a store's. `committing`: a connection that is lost now leaves open what was done."""
    try:
        yield
    except PoolTimeout as error:
        raise StoreUnavailable(f"{shown_url}: all connections are in use: try again") from error
    except DBAPIError as error:
        raise _told(error, shown_url, committing) from error
    except InvalidRequestError as error:
        raise StoreUnavailable(f"{shown_url}: the connection was lost: try again") from error
    except SQLAlchemyError as error:
        raise StoreDamaged(f"{shown_url}: {type(error).__name__}") from error


def _told(error: DBAPIError, shown_url: str, committing: bool) -> StoreError:
    of_sqlite = getattr(error.orig, "sqlite_errorname", None)
    if of_sqlite is not None:
        return _of_sqlite(of_sqlite, shown_url, str(error.orig), committing)
    return _of_postgres(error, shown_url, committing)


def _of_sqlite(name: str, shown_url: str, message: str, committing: bool) -> StoreError:
    match name:
        case _ if name.startswith("SQLITE_IOERR") and committing:
            return OutcomeUnknown(f"{shown_url}: its disk failed ({name.lower()}) {_UNKNOWN}")
        case "SQLITE_FULL":
            return StoreFull(f"{shown_url}: the disk is full; nothing was changed")
        case _ if name.startswith("SQLITE_READONLY") or name == "SQLITE_PERM":
            return StoreReadOnly(f"{shown_url}: cannot be written to; nothing was changed")
        case _ if name.startswith("SQLITE_CANTOPEN"):
            return StoreUnavailable(f"{shown_url}: cannot be opened: is its folder there, and may it be written to?")
        case _ if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return StoreUnavailable(f"{shown_url}: another process holds it for too long: try again")
        case "SQLITE_NOTADB":
            return StoreDamaged(f"{shown_url}: is no database of SQLite")
        case _ if name.startswith("SQLITE_CORRUPT"):
            return StoreDamaged(f"{shown_url}: is damaged ({message}): restore a backup")
        case _ if name.startswith("SQLITE_IOERR"):
            return StoreUnavailable(f"{shown_url}: its disk cannot be read or written ({name.lower()})")
        case _:
            return StoreDamaged(f"{shown_url}: {message}")


def _of_postgres(error: DBAPIError, shown_url: str, committing: bool) -> StoreError:
    state = getattr(error.orig, "sqlstate", None) or ""
    # The first line alone: what follows may quote somebody's words.
    primary = getattr(getattr(error.orig, "diag", None), "message_primary", None)
    message = " ".join((primary or str(error.orig)).split())
    if state.startswith("53") and state != "53300":  # disk, memory
        return StoreFull(f"{shown_url}: the database server has no room left; nothing was changed")
    if state == "25006":
        return StoreReadOnly(f"{shown_url}: the database is read-only (a standby?); nothing was changed")
    # Without a state, it is psycopg that speaks: of a connection, or of values that it cannot send.
    unsent = not state and isinstance(error, DataError)
    lost = error.connection_invalidated or state[:2] in {"08", "57"} or (state in {"53300", ""} and not unsent)
    if lost and committing:
        return OutcomeUnknown(f"{shown_url}: the connection was lost {_UNKNOWN}")
    if lost:
        return StoreUnavailable(f"{shown_url}: the database cannot be reached: {_without_password(message)}")
    if state in {"40001", "40P01", "55P03"}:
        return StoreUnavailable(f"{shown_url}: others hold what is needed for too long: try again")
    return StoreDamaged(f"{shown_url}: {_without_password(message)}")


def _without_password(message: str) -> str:
    return re.sub(r"://([^:@/\s]+):[^@/\s]+@", r"://\1:…@", message)[:300]
