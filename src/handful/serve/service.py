"""What the endpoints work with, and how they come by it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import anyio.to_thread
from fastapi import Depends, Query, Request, Response
from fastapi.responses import JSONResponse

from handful.serve.answers import Failure
from handful.serve.batching import Batcher, Parsed
from handful.serve.live import LiveBot, LiveBots
from handful.serve.logs import Log
from handful.serve.metrics import Metrics
from handful.serve.refusals import Refusal
from handful.serve.security import Caller, Tokens, bearer, caller_of, matching, require
from handful.serve.settings import ServeSettings
from handful.serve.store import Store
from handful.serve.store.store import Edit
from handful.serve.store.values import Change, Changed, Scope

T = TypeVar("T")
_LISTED = 20  # bots, in an error
_LOOKS = 16  # of which one is under way: more wait too long


class Service:
    def __init__(
        self,
        store: Store,
        live: LiveBots,
        tokens: Tokens,
        settings: ServeSettings,
        log: Log,
        notes: Sequence[str] = (),
    ) -> None:
        """`notes` are for whoever starts the server."""
        self.notes = tuple(notes)
        self.store, self.live, self.tokens, self.settings, self.log = store, live, tokens, settings, log
        self.metrics = Metrics()
        live.watch = self.metrics.loaded.set
        self._parsing = ThreadPoolExecutor(settings.workers, "parse")
        # Explain, suggest and check must not hold up parsing, nor one of them the others.
        self._looking, self._looks = ThreadPoolExecutor(2, "look"), 0
        self.batcher = Batcher(
            lambda name, texts: live.parse(name or self.default_bot(), texts),
            self._parsing,
            window=settings.window,
            most=settings.most_batch,
            at_once=settings.workers,
            observe=self.metrics.batches.observe,
        )

    async def parsed(self, bot: str | None, texts: list[str]) -> Parsed:
        """None: the default bot. Which one that is, is looked up once a batch."""
        found = await self.batcher.parse(bot or "", texts)
        for parse in found.parses:
            result = "rejected" if parse.rejected else "empty" if parse.intent is None else "understood"
            self.metrics.parses.labels(result).inc()
        return found

    async def looked_at(self, bot: str, look: Callable[[LiveBot], T]) -> T:
        """Of the bot as it is now, away from the event loop and from parsing."""
        if self._looks >= _LOOKS:
            raise Refusal(503, "Busy", "too many explanations are asked for: try again in a second", retry_after=1)
        self._looks += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._looking, lambda: look(self.live.now(bot)))
        finally:
            self._looks -= 1

    def changed(self, bot: str, change: Change, what: str, caller: Caller, expect: int | None) -> Changed:
        done = self.store.change(bot, change, what=what, by=caller.name, expect=expect)
        self.metrics.changes.inc()
        return done

    def edited(self, bot: str, edit: Edit, caller: Caller, expect: int | None) -> Changed:
        done = self.store.edit(bot, edit, by=caller.name, expect=expect)
        self.metrics.changes.inc()
        return done

    def default_bot(self) -> str:
        """The bot of Rasa's own paths."""
        if self.settings.default_bot is not None:
            return self.settings.default_bot
        names = self.store.names(_LISTED)
        if len(names) == 1:
            return names[0]
        told = "there is no bot yet" if not names else "there are several bots, and none is the default"
        raise Refusal(
            409,
            "Conflict",
            f"{told}: name one with --default, or ask /bots/NAME/model/parse",
            details={"bots": names},
        )

    async def stop(self) -> None:
        await self.batcher.finish()
        self._parsing.shutdown()
        self._looking.shutdown(wait=False, cancel_futures=True)
        self.store.close()


async def _service(request: Request) -> Service:
    """Not a plain function: each request would have a thread for it."""
    return request.app.state.service


Here = Annotated[Service, Depends(_service)]


async def known_caller(service: Service, given: str | None) -> Caller:
    tokens = service.tokens
    if given and (fixed := matching(given, tokens.fixed)) is not None:  # holds when the store is away, too
        return Caller(fixed.name, fixed.scope)
    known = tokens.fresh
    if known is None:  # only now and then is the store asked
        known = await anyio.to_thread.run_sync(tokens.all)
    return caller_of(given, known, guarded=tokens.guarded)


def _scoped(scope: Scope) -> Callable[..., Any]:
    async def caller(request: Request) -> Caller:
        service: Service = request.app.state.service
        found = await known_caller(service, bearer(request.headers.get("authorization")))
        request.state.token = found.name
        require(found, scope)
        if scope != "read" and service.settings.read_only:
            raise Refusal(
                403, "ReadOnly", "a bot's file is served, which is never changed: --store keeps bots that can be"
            )
        return found

    return caller


Reader = Annotated[Caller, Depends(_scoped("read"))]
Writer = Annotated[Caller, Depends(_scoped("write"))]
Admin = Annotated[Caller, Depends(_scoped("admin"))]
Expect = Annotated[
    int | None, Query(ge=1, le=2**31 - 1, description="The version you have seen; another one now is a 409.")
]
AtVersion = Annotated[int | None, Query(ge=1, le=2**31 - 1, description="An older version of the bot.")]


def failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What may go wrong anywhere, and what besides, for OpenAPI."""
    told = {
        400: "The request cannot be read.",
        401: "A token is missing, or not known.",
        403: "The token's scope is too small, the page is a foreign one, or the server is read-only.",
        404: "There is no such bot, version, intent or example.",
        405: "The path does not take this method.",
        408: "The body took too long.",
        409: "Somebody else was first: another version, or a name that is taken.",
        413: "Too large.",
        422: "A value does not fit; the message names it.",
        500: "A fault of the server's.",
        503: "Busy, or the store is out of reach: try again.",
        507: "The store's disk is full; nothing was changed.",
    }
    always = (400, 401, 403, 404, 408, 413, 422, 500, 503)
    return {status: {"model": Failure, "description": told[status]} for status in sorted({*always, *statuses})}


def plain(content: Any, status: int = 200) -> Response:
    """An answer that is known to fit its schema: looking at it once more would cost more than a parse."""
    return JSONResponse(content, status)


@dataclass(frozen=True, slots=True)
class Summary:
    """What a version's history says of a change."""

    verb: str
    intents: tuple[str, ...]
    count: int

    def __str__(self) -> str:
        kinds = list(dict.fromkeys(self.intents))
        of = f" of {kinds[0]}" if len(kinds) == 1 else f" of {len(kinds)} intents" if kinds else ""
        return f"{self.verb} {self.count} {'example' if self.count == 1 else 'examples'}{of}"
