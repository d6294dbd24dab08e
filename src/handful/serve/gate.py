"""What every request goes through before it reaches its endpoint, and its answer on the way back.

A request has an id; it is turned away at once where too many are under way; its body is read whole, up to a size and
for a time; its answer has the headers that keep browsers safe; it is counted, timed and logged.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import time
from collections.abc import Mapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from handful.errors import HandfulError
from handful.serve.logs import Log
from handful.serve.metrics import Metrics
from handful.serve.refusals import Refusal, internal, refusal_of
from handful.serve.security import HEADERS, refuse_foreign
from handful.serve.settings import ServeSettings

_OPEN = {"/healthz", "/readyz", "/metrics"}  # answered however busy the server is
_REQUEST_ID = re.compile(r"[\w.:/+=-]{1,100}")
_IMPORT = re.compile(r"/v1/bots/[^/]+/import")


class Gate:
    def __init__(self, app: ASGIApp, settings: ServeSettings, metrics: Metrics, log: Log) -> None:
        self._app, self._settings, self._metrics, self._log = app, settings, metrics, log
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        request = headers.get(b"x-request-id", "")
        if not _REQUEST_ID.fullmatch(request):
            request = secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = request
        answer = _Answer(send, request)
        counted = scope["path"] not in _OPEN
        if counted:
            self._under_way += 1
            self._metrics.in_flight.set(self._under_way)
        try:
            await self._heard(scope, receive, answer, headers, counted)
        except HandfulError as error:
            await answer.refuse(refusal_of(error))
        except Exception as error:
            self._log.fault(error, request=request)
            await answer.refuse(internal())
        finally:
            if counted:
                self._under_way -= 1
                self._metrics.in_flight.set(self._under_way)
            self._told(scope, answer, time.perf_counter() - begun)

    async def _heard(
        self, scope: Scope, receive: Receive, answer: _Answer, headers: Mapping[bytes, str], counted: bool
    ) -> None:
        settings = self._settings
        if counted and self._under_way > settings.most_in_flight:
            self._metrics.turned_away.labels("busy").inc()
            raise Refusal(503, "Busy", "too many requests are under way: try again in a second", retry_after=1)
        refuse_foreign(scope["method"], headers.get(b"host"), headers.get(b"origin"), settings.hosts, settings.origins)
        most = settings.most_import if _IMPORT.fullmatch(scope["path"]) else settings.most_body
        try:
            async with asyncio.timeout(settings.body_seconds):
                body = await _body(receive, headers, most)
        except TimeoutError:
            self._metrics.turned_away.labels("slow").inc()
            raise Refusal(
                408, "RequestTimeout", f"the body did not arrive within {settings.body_seconds:g} seconds"
            ) from None
        except Refusal:
            self._metrics.turned_away.labels("large").inc()
            raise
        await self._app(scope, _given(body, receive), answer)

    def _told(self, scope: Scope, answer: _Answer, seconds: float) -> None:
        # The pattern of the path, not the path: names of bots must not make a series each.
        endpoint = getattr(scope.get("route"), "path", "none")
        status = answer.status or 499  # 499: the client went away
        self._metrics.requests.labels(scope["method"], endpoint, str(status)).observe(seconds)
        if endpoint in _OPEN and status < 400:
            return
        state: Mapping[str, Any] = scope.get("state", {})
        self._log.event(
            "request",
            request=answer.request,
            method=scope["method"],
            endpoint=endpoint,
            status=status,
            milliseconds=round(seconds * 1000, 2),
            bot=scope.get("path_params", {}).get("bot"),
            token=state.get("token"),
            reason=answer.reason or state.get("reason"),
            text=state.get("text") if self._log.with_text else None,
        )


class _Answer:
    """A `send` that adds headers to an answer, and remembers how it went."""

    def __init__(self, send: Send, request: str) -> None:
        self._send, self.request = send, request
        self.status: int | None = None
        self.reason: str | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*message.get("headers", ()), *HEADERS, (b"x-request-id", self.request.encode())]
            if all(name.lower() != b"cache-control" for name, _ in headers):
                headers.append((b"cache-control", b"no-store"))
            message = {**message, "headers": headers}
        await self._send(message)

    async def refuse(self, refusal: Refusal) -> None:
        if self.status is not None:  # the answer has begun, and cannot become another one
            return
        self.reason = refusal.reason
        body = json.dumps(refusal.as_json(), ensure_ascii=False).encode()
        extra = [(name.lower().encode(), value.encode()) for name, value in refusal.headers.items()]
        # What is left of the body is not read: the connection ends with this answer.
        close = [(b"connection", b"close")] if refusal.status in {408, 413} else []
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *extra, *close]
        await self({"type": "http.response.start", "status": refusal.status, "headers": headers})
        await self({"type": "http.response.body", "body": body})


async def _body(receive: Receive, headers: Mapping[bytes, str], most: int) -> bytes:
    announced = headers.get(b"content-length", "0")
    if announced.isdecimal() and int(announced) > most:
        raise _too_large(most)
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] != "http.request":  # the client is gone, and half a body must not pass for a whole one
            raise Refusal(400, "Disconnected", "the connection ended before the body did")
        part = message.get("body", b"")
        size += len(part)
        if size > most:
            raise _too_large(most)
        parts.append(part)
        more = message.get("more_body", False)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(most: int) -> Refusal:
    return Refusal(413, "TooLarge", f"the body is larger than {most:,} bytes, which is the most that is read here")


def _given(body: bytes, receive: Receive) -> Receive:
    """The body that was read, once; then whatever else comes, such as that the client has gone."""
    told = False

    async def again() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
