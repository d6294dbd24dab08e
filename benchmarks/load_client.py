"""A client that asks a server on this machine for parses, as fast as it answers or at a given rate, for some seconds.

A process of its own, so that its work is not the server's: python benchmarks/load_client.py '{"port": 5005, …}'. It
speaks just enough HTTP for that, since a full client would take as much of the two cores as the server. What it found
goes to stdout as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Load:
    port: int
    path: str
    sentences: str  # a file, one a line
    connections: int
    seconds: float
    rate: float | None = (
        None  # requests a second, whether answered or not; None: each connection asks when it is answered
    )
    most: int = 1_000_000  # requests


@dataclass(slots=True)
class Seen:
    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[tuple[int, float]] = field(default_factory=list)  # status, and how long it took
    late: int = 0  # of a given rate: requests for which no connection was free


class Connection(asyncio.Protocol):
    def __init__(self, done: Any) -> None:
        self.done, self.buffer, self.begun = done, b"", 0.0
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def ask(self, request: bytes) -> None:
        self.begun = time.perf_counter()
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, end, body = self.buffer.partition(b"\r\n\r\n")
        if not end:
            return
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        if len(body) >= length:
            self.buffer = b""
            self.done(self, int(head[9:12]), time.perf_counter() - self.begun)

    def connection_lost(self, exc: Exception | None) -> None:
        self.done(self, 0, 0.0)


def requests_of(load: Load) -> list[bytes]:
    found = []
    for text in Path(load.sentences).read_text(encoding="utf-8").splitlines():
        body = json.dumps({"text": text}).encode()
        head = f"POST {load.path} HTTP/1.1\r\nHost: 127.0.0.1:{load.port}\r\nContent-Type: application/json\r\n"
        found.append(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return found


async def run(load: Load) -> Seen:
    loop, seen, idle = asyncio.get_running_loop(), Seen(), deque[Connection]()
    requests, end, asked, open_now = cycle(requests_of(load)), 0.0, 0, 0
    over = loop.create_future()

    def answered(connection: Connection, status: int, seconds: float) -> None:
        nonlocal open_now
        seen.statuses[status] += 1
        if status == 0:
            open_now -= 1
            return
        seen.seconds.append((status, seconds))
        (idle.append if load.rate is not None else ask)(connection)

    def ask(connection: Connection) -> None:
        nonlocal asked, open_now
        if time.perf_counter() < end and asked < load.most:
            asked += 1
            connection.ask(next(requests))
            return
        open_now -= 1
        if open_now == 0 and not over.done():
            over.set_result(None)

    made = [
        await loop.create_connection(lambda: Connection(answered), "127.0.0.1", load.port)
        for _ in range(load.connections)
    ]
    open_now = len(made)
    end = time.perf_counter() + load.seconds
    if load.rate is None:
        for _, connection in made:
            ask(connection)
        await asyncio.wait_for(over, load.seconds + 60)
    else:
        idle.extend(connection for _, connection in made)
        await _at_rate(load, seen, idle, requests, end)
    return seen


async def _at_rate(load: Load, seen: Seen, idle: deque[Connection], requests: Any, end: float) -> None:
    assert load.rate is not None
    begun, sent = time.perf_counter(), 0
    while (now := time.perf_counter()) < end:
        while sent < (now - begun) * load.rate:
            sent += 1
            if idle:
                idle.popleft().ask(next(requests))
            else:
                seen.late += 1
        await asyncio.sleep(0.001)
    for _ in range(200):  # what is under way
        if len(idle) >= load.connections - seen.statuses[0]:
            return
        await asyncio.sleep(0.05)


def main() -> None:
    load = Load(**json.loads(sys.argv[1]))
    begun = time.perf_counter()
    seen = asyncio.run(run(load))
    took = time.perf_counter() - begun
    good = sorted(seconds for status, seconds in seen.seconds if status == 200)
    refused = sorted(seconds for status, seconds in seen.seconds if status != 200)

    def at(share: float, of: list[float]) -> float | None:
        return round(of[min(int(len(of) * share), len(of) - 1)] * 1000, 2) if of else None

    print(
        json.dumps(
            {
                "seconds": round(took, 2),
                "statuses": {str(status): count for status, count in sorted(seen.statuses.items())},
                "answered_per_second": round(
                    len(good) / load.seconds if load.most == 1_000_000 else len(good) / took, 1
                ),
                "milliseconds": {"p50": at(0.5, good), "p95": at(0.95, good), "p99": at(0.99, good)},
                "refused_milliseconds": {"p50": at(0.5, refused), "p99": at(0.99, refused)},
                "late": seen.late,
            }
        )
    )


if __name__ == "__main__":
    main()
