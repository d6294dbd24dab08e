"""One attempt to bring one URL into one file, going on where an earlier attempt broke off."""

from __future__ import annotations

import os
import re
import ssl
import urllib.request
from collections.abc import Generator
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError, URLError

_BLOCK = 64 * 1024
# The client errors that ask for patience; all others say the same however often they are asked.
_PASSING = {408, 425, 429}
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class BrokenError(Exception):
    """It may work the next time, from where it stopped."""


class UnresumableError(Exception):
    """It may work from zero, without the part that is there."""


class RefusedError(Exception):
    """It will not work, however often it is tried."""


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of the file is there, in bytes."""

    received: int
    total: int | None  # None: the server does not say


def _opener() -> urllib.request.OpenerDirector:
    """As urllib's default, but a redirect cannot lead to ftp: or file: addresses."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


def receive(url: str, part: Path, timeout: float) -> Generator[Extent, None, None]:
    """Append to `part` what it lacks; what arrived stays in it, however this ends."""
    offset = part.stat().st_size if part.exists() else 0
    with _ask(url, offset, timeout) as response:
        start = _extent(response, offset)
        received, total = start.received, start.total
        with part.open("ab" if received else "wb") as out:
            yield start
            while total is None or received < total:
                block = _read(response, _BLOCK if total is None else min(_BLOCK, total - received))
                if not block:
                    break
                out.write(block)
                received += len(block)
                yield Extent(received, total)
            out.flush()
            os.fsync(out.fileno())
    if total is not None and received < total:
        raise BrokenError(f"the connection ended after {received} of {total} bytes")


def _ask(url: str, offset: int, timeout: float) -> HTTPResponse:
    headers = {"User-Agent": "handful", "Accept-Encoding": "identity"}
    if offset:
        headers["Range"] = f"bytes={offset}-"
    try:
        return _opener().open(urllib.request.Request(url, headers=headers), timeout=timeout)
    except HTTPError as error:
        error.close()
        answer = f"HTTP {error.code} {error.reason}"
        if error.code == 416 and offset:
            raise UnresumableError(f"{answer} for the part already there") from error
        if error.code >= 500 or error.code in _PASSING:
            raise BrokenError(answer) from error
        raise RefusedError(answer) from error
    except URLError as error:
        if isinstance(error.reason, ssl.SSLCertVerificationError):
            raise RefusedError(str(error.reason)) from error
        raise BrokenError(_reason(error.reason)) from error
    except (OSError, HTTPException) as error:
        raise BrokenError(_reason(error)) from error
    except ValueError as error:
        raise RefusedError(f"not an address that can be asked: {error}") from error


def _extent(response: HTTPResponse, offset: int) -> Extent:
    """Where the body begins in the file, and how long the file will be."""
    length = response.headers.get("Content-Length", "")
    announced = int(length) if length.isdecimal() else None
    if response.status == 200:
        return Extent(0, announced)
    if response.status != 206:
        raise RefusedError(f"HTTP {response.status} {response.reason} without the file")
    if not offset:
        raise RefusedError("a part of the file, although the whole was asked for")
    given = response.headers.get("Content-Range", "")
    match = _CONTENT_RANGE.fullmatch(given.strip())
    if match is None or int(match[1]) != offset:
        # Appending it would spoil the file.
        raise UnresumableError(f"bytes from {offset} on were asked for, the server gives '{given}'")
    if match[2] != "*":
        return Extent(offset, int(match[2]))
    return Extent(offset, None if announced is None else offset + announced)


def _read(response: HTTPResponse, most: int) -> bytes:
    try:
        # Not read(): it would wait for a full block, and lose what it has when the line stalls.
        return response.read1(most)
    except (OSError, HTTPException) as error:
        raise BrokenError(_reason(error)) from error


def _reason(error: object) -> str:
    if isinstance(error, TimeoutError):
        return "the server did not answer in time"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
