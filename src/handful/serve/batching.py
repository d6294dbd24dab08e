"""Sentences of many clients, parsed together: a forward pass for sixteen costs much less than sixteen.

A few batches of a bot are under way at a time, one for each processor, and whoever asks meanwhile is gathered for the
next. A sentence that finds a processor free waits a few milliseconds for others, but only if the last batch had
several: a client that is alone is not kept waiting.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field

from handful.errors import HandfulError
from handful.parser.parse import Parse


@dataclass(frozen=True, slots=True)
class Parsed:
    version: int  # of the bot
    parses: list[Parse]


@dataclass(slots=True)
class _Waiting:
    texts: Sequence[str]
    answer: asyncio.Future[Parsed]


@dataclass(slots=True)
class _Queue:
    waiting: deque[_Waiting] = field(default_factory=deque)
    workers: set[asyncio.Task[None]] = field(default_factory=set)
    busy: int = 0  # workers that have a batch under way
    crowded: bool = False  # the last batch was asked for by several


ParseMany = Callable[[str, Sequence[str]], Parsed]
Observe = Callable[[int], None]


class Batcher:
    def __init__(
        self,
        parse: ParseMany,
        executor: Executor,
        *,
        window: float,
        most: int,
        at_once: int = 1,
        observe: Observe | None = None,
    ) -> None:
        """`parse` is called in the executor, for one bot at most `at_once` times at a time; `observe` is told each
        batch's size."""
        self._parse, self._executor, self._window, self._most = parse, executor, window, most
        self._at_once, self._observe = at_once, observe or (lambda _: None)
        self._queues: dict[str, _Queue] = {}

    async def parse(self, bot: str, texts: Sequence[str]) -> Parsed:
        answer: asyncio.Future[Parsed] = asyncio.get_running_loop().create_future()
        queue = self._queues.setdefault(bot, _Queue())
        queue.waiting.append(_Waiting(texts, answer))
        self._call_worker(bot, queue)
        return await answer

    @property
    def waiting(self) -> int:
        return sum(len(queue.waiting) for queue in self._queues.values())

    async def finish(self) -> None:
        """All that was asked for is answered."""
        while workers := [worker for queue in self._queues.values() for worker in queue.workers]:
            await asyncio.gather(*workers, return_exceptions=True)

    def _call_worker(self, bot: str, queue: _Queue) -> None:
        if len(queue.workers) < self._at_once:
            queue.workers.add(asyncio.create_task(self._work(bot, queue)))

    async def _work(self, bot: str, queue: _Queue) -> None:
        try:
            while queue.waiting:
                if queue.crowded and self._gathered(queue) < self._most:
                    await asyncio.sleep(self._window)
                batch = self._taken(queue)
                if batch:
                    queue.crowded = len(batch) > 1 or bool(queue.waiting)
                    if queue.waiting:
                        self._call_worker(bot, queue)
                    queue.busy += 1
                    try:
                        await self._answer(bot, batch)
                    finally:
                        queue.busy -= 1
        finally:
            task = asyncio.current_task()
            queue.workers = {worker for worker in queue.workers if worker is not task}
            if not queue.workers:
                for left in queue.waiting:  # only where this task was cancelled
                    left.answer.cancel()
                del self._queues[bot]  # nothing is kept of a bot that nobody asks

    def _gathered(self, queue: _Queue) -> int:
        return sum(len(waiting.texts) for waiting in queue.waiting)

    def _taken(self, queue: _Queue) -> list[_Waiting]:
        """Whole requests, up to the most of a batch; a larger one goes alone. What is there is shared with the workers
        that are free: two small batches side by side are done before one large."""
        most = min(self._most, math.ceil(self._gathered(queue) / (self._at_once - queue.busy)))
        batch: list[_Waiting] = []
        size = 0
        while queue.waiting and (not batch or size + len(queue.waiting[0].texts) <= most):
            waiting = queue.waiting.popleft()
            if not waiting.answer.done():  # whoever has gone away needs no answer
                batch.append(waiting)
                size += len(waiting.texts)
        return batch

    async def _answer(self, bot: str, batch: Sequence[_Waiting]) -> None:
        texts = [text for waiting in batch for text in waiting.texts]
        self._observe(len(texts))
        try:
            parsed = await self._parsed(bot, texts)
        except HandfulError as error:
            for waiting in batch:
                _fail(waiting, error)
            return
        except Exception as error:
            if len(batch) == 1:
                _fail(batch[0], error)
                return
            for waiting in batch:  # one of them is at fault, and the others shall have their answers
                await self._answer(bot, [waiting])
            return
        parses = iter(parsed.parses)
        for waiting in batch:
            own = Parsed(parsed.version, [next(parses) for _ in waiting.texts])
            if not waiting.answer.done():
                waiting.answer.set_result(own)

    async def _parsed(self, bot: str, texts: Sequence[str]) -> Parsed:
        return await asyncio.get_running_loop().run_in_executor(self._executor, self._parse, bot, texts)


def _fail(waiting: _Waiting, error: Exception) -> None:
    with contextlib.suppress(asyncio.InvalidStateError):
        waiting.answer.set_exception(error)
