"""Who may do what: tokens with a scope, compared by their sums in constant time; and whom a server answers to."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import get_args
from urllib.parse import urlsplit

from handful.errors import HandfulError
from handful.serve.refusals import Refusal
from handful.serve.store.values import Scope

SCOPES: tuple[Scope, ...] = get_args(Scope)

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_FRESH = 1.0  # seconds that a list of tokens is believed: so long one that was taken away may still work

HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (
        b"content-security-policy",
        b"default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; "
        b"frame-ancestors 'none'",
    ),
)


@dataclass(frozen=True, slots=True)
class Known:
    """A token as it is kept: never itself, only its sum."""

    name: str
    scope: Scope
    sha256: str


@dataclass(frozen=True, slots=True)
class Caller:
    name: str | None  # of the token; None where none is asked for
    scope: Scope

    def may(self, scope: Scope) -> bool:
        return SCOPES.index(self.scope) >= SCOPES.index(scope)


ANYONE = Caller(None, "admin")


class Tokens:
    """Those that were given at the start, and those in the store, which may change while the server runs."""

    def __init__(self, fixed: Sequence[Known], stored: Callable[[], Sequence[Known]]) -> None:
        self.fixed, self._stored = tuple(fixed), stored
        self._read: tuple[float, tuple[Known, ...]] | None = None
        self._failed: tuple[float, HandfulError] | None = None
        self._lock = threading.Lock()
        # Decided once: a server that others can reach must not open when its last token is taken away.
        self.guarded = bool(self.all())

    def all(self) -> tuple[Known, ...]:
        """One caller asks the store; the others go on with what is known, and are told of a failure it had just now."""
        if (fresh := self.fresh) is not None:
            return fresh
        if not self._lock.acquire(blocking=self._read is None):
            assert self._read is not None
            return self._read[1]
        try:
            if (fresh := self.fresh) is not None:
                return fresh
            if self._failed is not None and time.monotonic() - self._failed[0] <= _FRESH:
                raise self._failed[1]
            return self._asked()
        finally:
            self._lock.release()

    def _asked(self) -> tuple[Known, ...]:
        try:
            self._read = (time.monotonic(), (*self.fixed, *self._stored()))
        except HandfulError as error:
            self._failed = (time.monotonic(), error)
            raise
        return self._read[1]

    @property
    def fresh(self) -> tuple[Known, ...] | None:
        """What is known without asking the store; None where that is too old."""
        read = self._read
        return read[1] if read is not None and time.monotonic() - read[0] <= _FRESH else None


def summed(token: str) -> str:
    """Tokens are long and random, so a plain sum of one tells nothing of it."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def caller_of(given: str | None, known: Sequence[Known], *, guarded: bool) -> Caller:
    """Where no token ever was anybody may do anything: such a server listens to this machine alone."""
    if not guarded and not known:
        return ANYONE
    if not given:
        raise Refusal(401, "NotAuthenticated", "this server asks for a token: Authorization: Bearer …")
    if (found := matching(given, known)) is None:
        raise Refusal(401, "NotAuthenticated", "this token is not known here")
    return Caller(found.name, found.scope)


def matching(given: str, known: Sequence[Known]) -> Known | None:
    total, found = summed(given), None
    for token in known:  # all of them, whichever fits: the time tells nothing
        if hmac.compare_digest(total, token.sha256):
            found = token
    return found


def require(caller: Caller, scope: Scope) -> None:
    if not caller.may(scope):
        raise Refusal(
            403,
            "NotAuthorized",
            f"this needs a token with the scope {scope}; '{caller.name}' has {caller.scope}",
            details={"scope": caller.scope, "needed": scope},
        )


def bearer(header: str | None) -> str | None:
    kind, _, token = (header or "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else None


def refuse_foreign(
    method: str, host: str | None, origin: str | None, hosts: Sequence[str], origins: Sequence[str]
) -> None:
    """A page of another site must not use a browser's way to this server: neither by a request across sites, nor by a
    name of its own that leads here."""
    own = _hostname(f"//{host or ''}")
    if hosts and own not in hosts:
        raise Refusal(403, "ForeignHost", f"found the host {host!r}, expected {' or '.join(hosts)}")
    if origin is None or method in {"GET", "HEAD", "OPTIONS"} or origin in origins:
        return
    if origin == "null" or _netloc(origin) != (host or ""):
        raise Refusal(403, "ForeignOrigin", f"pages of {origin} may not change anything here: --allow-origin lets them")


def _netloc(url: str) -> str:
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""


def _hostname(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
