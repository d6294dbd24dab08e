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
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from handful.errors import HandfulError
from handful.serve.logs import Log
from handful.serve.metrics import Metrics
from handful.serve.refusals import Refusal, internal, refusal_of
from handful.serve.security import HEADERS, bearer, refuse_foreign
from handful.serve.settings import ServeSettings

_OPEN = {"/healthz", "/readyz", "/metrics"}  # answered however busy the server is
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_SMALL, _SENTENCE = 1_000, 100_000  # bytes of a body where none is needed, and of a sentence under Rasa's paths
_REQUEST_ID = re.compile(r"[\w.:/+=-]{1,100}")
_IMPORT = re.compile(r"/v1/bots/[^/]+/import")


Admit = Callable[[str | None], Awaitable[None]]


class Gate:
    def __init__(self, app: ASGIApp, settings: ServeSettings, metrics: Metrics, log: Log, admit: Admit) -> None:
        """`admit` refuses a caller by its token, before anything of its body is read."""
        self._app, self._settings, self._metrics, self._log, self._admit = app, settings, metrics, log, admit
        self._under_way = 0  # requests whose body is here, and whose answer is not
        self._held = 0  # bytes of bodies, those that are being read as well

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
        try:
            await self._heard(scope, receive, answer, headers)
        except HandfulError as error:
            await answer.refuse(refusal_of(error))
        except Exception as error:
            self._log.fault(error, request=request)
            await answer.refuse(internal())
        finally:
            self._told(scope, answer, time.perf_counter() - begun)

    async def _heard(self, scope: Scope, receive: Receive, answer: _Answer, headers: Mapping[bytes, str]) -> None:
        settings, path = self._settings, scope["path"]
        refuse_foreign(scope["method"], headers.get(b"host"), headers.get(b"origin"), settings.hosts, settings.origins)
        if path.startswith("/v1/"):
            await self._admit(bearer(headers.get(b"authorization")))
        most = self._most(scope["method"], path)
        held = _Held(self, most)
        try:
            body = await self._body(receive, headers, held)
            if path in _OPEN:
                await self._app(scope, _given(body, receive), answer)
                return
            if self._under_way >= settings.most_in_flight:
                raise self._turned_away("busy", _busy())
            self._under_way += 1
            self._metrics.in_flight.set(self._under_way)
            try:
                await self._app(scope, _given(body, receive), answer)
            finally:
                self._under_way -= 1
                self._metrics.in_flight.set(self._under_way)
        finally:
            self._held -= held.size

    def _most(self, method: str, path: str) -> int:
        """Bytes of a body: as few as will do for those who need no token, or have it in the body."""
        if path in _OPEN or method in {"GET", "HEAD", "DELETE", "OPTIONS"}:
            return _SMALL
        if _IMPORT.fullmatch(path):
            return self._settings.most_import
        return self._settings.most_body if path.startswith("/v1/") else min(self._settings.most_body, _SENTENCE)

    async def _body(self, receive: Receive, headers: Mapping[bytes, str], held: _Held) -> bytes:
        seconds = self._settings.body_seconds
        announced = headers.get(b"content-length", "0")
        if announced.isdecimal() and int(announced[:20]) > held.most:
            raise self._turned_away("large", _too_large(held.most))
        parts, more = [], True
        try:
            async with asyncio.timeout(seconds):
                while more:
                    message = await receive()
                    if message["type"] != "http.request":  # half a body must not pass for a whole one
                        raise Refusal(400, "Disconnected", "the connection ended before the body did")
                    parts.append(message.get("body", b""))
                    held.add(len(parts[-1]))
                    more = message.get("more_body", False)
        except TimeoutError:
            told = f"the body did not arrive within {seconds:g} seconds"
            raise self._turned_away("slow", Refusal(408, "RequestTimeout", told)) from None
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def hold(self, size: int, held: int, most: int) -> None:
        """Of a body that is being read: is there room for so many bytes more?"""
        if held > most:
            raise self._turned_away("large", _too_large(most))
        self._held += size
        if self._held > self._settings.most_held:
            self._held -= size
            raise self._turned_away("busy", _busy())

    def _turned_away(self, reason: str, refusal: Refusal) -> Refusal:
        self._metrics.turned_away.labels(reason).inc()
        return refusal

    def _told(self, scope: Scope, answer: _Answer, seconds: float) -> None:
        # The pattern of the path, not the path: names of bots must not make a series each.
        endpoint = getattr(scope.get("route"), "path", "none")
        status = answer.status or 499  # 499: the client went away
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._metrics.requests.labels(method, endpoint, str(status)).observe(seconds)
        if endpoint in _OPEN:
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


class _Held:
    """What is held of one body."""

    def __init__(self, gate: Gate, most: int) -> None:
        self._gate, self.most, self.size = gate, most, 0

    def add(self, size: int) -> None:
        self._gate.hold(size, self.size + size, self.most)
        self.size += size


def _busy() -> Refusal:
    return Refusal(503, "Busy", "too many requests are under way: try again in a second", retry_after=1)


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
