"""What a client is told when it cannot have what it asked for: a status, and Rasa's shape of an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from handful import __version__
from handful.errors import ConfigError, DataError, HandfulError
from handful.serve.store.errors import (
    BadName,
    BotExists,
    IntentExists,
    NoSuchBot,
    NoSuchExample,
    NoSuchIntent,
    NoSuchVersion,
    OutcomeUnknown,
    StoreDamaged,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
    TooManyExamples,
    VersionConflict,
)


class Refusal(HandfulError):
    """Told to the client in words; whoever raises it knows the status."""

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.reason, self.message = status, reason, message
        self.details, self.retry_after = dict(details or {}), retry_after

    @property
    def headers(self) -> dict[str, str]:
        found = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return found | ({"WWW-Authenticate": "Bearer"} if self.status == 401 else {})

    def as_json(self) -> dict[str, Any]:
        return {
            "version": __version__,
            "status": "failure",
            "message": self.message,
            "reason": self.reason,
            "details": self.details,
            "help": None,
            "code": self.status,
        }


# In this order: the first that fits.
_STATUSES: Sequence[tuple[tuple[type[HandfulError], ...], int, str]] = (
    ((NoSuchBot, NoSuchVersion, NoSuchExample, NoSuchIntent), 404, "NotFound"),
    ((BotExists, IntentExists), 409, "AlreadyThere"),
    ((VersionConflict,), 409, "VersionConflict"),
    ((TooManyExamples,), 413, "TooManyExamples"),
    ((StoreFull,), 507, "StoreFull"),
    ((StoreReadOnly,), 503, "StoreReadOnly"),
    ((StoreUnavailable,), 503, "StoreUnavailable"),
    ((StoreDamaged,), 500, "StoreDamaged"),
    ((BadName, ConfigError, DataError), 422, "Unprocessable"),
)
_RETRY = {503: 1, 507: 60}


# Of the store's own troubles a client is told this much: where it lies and what it said is the operator's business.
_WORDS: Sequence[tuple[type[HandfulError], str]] = (
    (StoreFull, "the store's disk is full; nothing was changed"),
    (StoreReadOnly, "the store cannot be written to; nothing was changed"),
    (
        OutcomeUnknown,
        "the store was lost while a change was being written: it may have been made or not; look at the bot's version "
        "before you try again",
    ),
    (StoreUnavailable, "the store cannot be reached now; nothing was changed: try again"),
    (StoreDamaged, "the store is damaged, or was given what it cannot keep; the server's log has more"),
)


def refusal_of(error: HandfulError) -> Refusal:
    if isinstance(error, Refusal):
        return error
    for kinds, status, reason in _STATUSES:
        if isinstance(error, kinds):
            details = {"version": error.found} if isinstance(error, VersionConflict) else {}
            message = next((words for kind, words in _WORDS if isinstance(error, kind)), str(error))
            return Refusal(status, reason, message, details=details, retry_after=_RETRY.get(status))
    return internal()


def internal() -> Refusal:
    """A fault of ours: what it was stands in the log, and nowhere else."""
    return Refusal(500, "InternalError", "this is a fault in handful; the server's log has it under this request's id")


def not_readable(what: str) -> Refusal:
    return Refusal(400, "BadRequest", what)
