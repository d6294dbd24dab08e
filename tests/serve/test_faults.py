"""What was acknowledged stays, whatever happens to the server: it is killed a hundred times, and stopped while busy."""

from __future__ import annotations

import random
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest

from handful.serve.store import Store
from serve.running import Running, wait_for

pytestmark = pytest.mark.slow

_LIVES = 100
_BOT = "/v1/bots/travel"


def adding(*texts: str, intent: str = "fly") -> dict[str, Any]:
    return {"examples": [{"intent": intent, "text": text} for text in texts]}


@dataclass
class Client:
    """Adds one example a request and five by turns, and remembers what was sent and what was acknowledged."""

    server: Running | None = None
    sent: list[tuple[str, ...]] = field(default_factory=list)
    acknowledged: dict[tuple[str, ...], int] = field(default_factory=dict)  # with its version
    _numbers: Any = field(default_factory=count)

    def add_until_it_breaks(self, server: Running) -> None:
        while True:
            number = next(self._numbers)
            batch = tuple(f"request {number} example {n}" for n in range(5 if number % 2 else 1))
            self.sent.append(batch)
            try:
                answer = server.client.post(f"{_BOT}/examples", json=adding(*batch))
            except httpx.TransportError:
                return
            assert answer.status_code == 201, answer.text
            self.acknowledged[batch] = answer.json()["version"]

    def check(self, server: Running) -> int:
        """How many of the requests that were never answered had been carried out all the same."""
        texts, version = everything(server)
        there = set(texts)
        assert len(there) == len(texts), "nothing is there twice"
        present = [batch for batch in self.sent if batch[0] in there]
        for batch in self.sent:
            assert sum(text in there for text in batch) in {0, len(batch)}, f"a part of {batch}"
        lost = [batch for batch in self.acknowledged if batch not in set(present)]
        assert not lost
        assert version == 1 + len(present), "a version for each request that was carried out, and no other"
        assert max(self.acknowledged.values(), default=1) <= version
        assert len(set(self.acknowledged.values())) == len(self.acknowledged)
        assert numbers(server) == list(range(version, 0, -1))
        return len(present) - len(self.acknowledged)


def everything(server: Running) -> tuple[list[str], int]:
    texts: list[str] = []
    while True:
        page = server.client.get(f"{_BOT}/examples", params={"limit": 5000, "offset": len(texts)}).json()
        texts += [example["text"] for example in page["examples"]]
        if len(texts) >= page["total"]:
            return texts, page["version"]


def numbers(server: Running) -> list[int]:
    found: list[int] = []
    while not found or found[-1] > 1:
        asked = {"limit": 500} | ({"before": found[-1]} if found else {})
        rows = server.client.get(f"{_BOT}/versions", params=asked).json()["versions"]
        assert rows
        found += [row["version"] for row in rows]
    return found


def test_a_server_that_is_killed_a_hundred_times_loses_nothing(store_url: str, tmp_path: Path):
    store = Store.open(store_url)
    store.create("travel", what="made", by=None)
    store.close()
    client, moments = Client(), random.Random(0)
    for _ in range(_LIVES):
        with Running(store_url, tmp_path / "log") as server:
            client.check(server)
            least = len(client.acknowledged) + moments.randrange(1, 4)
            adds = threading.Thread(target=client.add_until_it_breaks, args=(server,))
            adds.start()
            wait_for(lambda least=least: len(client.acknowledged) >= least)
            time.sleep(moments.uniform(0, 0.02))  # not a wait: anywhere within a request
            server.kill()
            adds.join()
    with Running(store_url, tmp_path / "log") as server:
        client.check(server)
    assert len(client.acknowledged) >= 2 * _LIVES
    assert len(client.sent) >= len(client.acknowledged) + _LIVES - 1, "each time, something was under way"


# -- being told to stop ------------------------------------------------------------------------------------------------


def in_flight(server: Running) -> int:
    found = re.search(r"^handful_requests_in_flight (\S+)$", server.client.get("/metrics").text, re.MULTILINE)
    assert found
    return int(float(found[1]))


def test_a_server_that_is_told_to_stop_answers_what_it_accepted(store_url: str, tmp_path: Path):
    store = Store.open(store_url)
    store.create("travel", what="made", by=None)
    store.close()
    with Running(store_url, tmp_path / "log", model=True) as server:
        assert server.client.post(f"{_BOT}/examples", json=adding("hello there")).status_code == 201

        def ask(number: int) -> httpx.Response:
            with httpx.Client(base_url=server.address, timeout=60, trust_env=False) as own:
                texts = [
                    f"sentence {n} of request {number}, one that is long enough to take a while" for n in range(150)
                ]
                if number % 3 == 2:
                    return own.post(f"{_BOT}/examples", json=adding(*texts))
                return own.post(f"{_BOT}/parse-many", json={"texts": texts})

        with ThreadPoolExecutor(8) as threads:
            asked = [threads.submit(ask, number) for number in range(8)]
            wait_for(lambda: in_flight(server) >= 4)
            assert server.stop() == 0, server.log[-2000:]
            answers = [one.result() for one in asked]
    assert [answer.status_code for answer in answers] == [201 if number % 3 == 2 else 200 for number in range(8)]
    store = Store.open(store_url)
    assert store.stamp("travel").version == max(
        answer.json()["version"] for answer in answers if answer.status_code == 201
    )
    assert len(store.read("travel").examples) == 301
    store.close()


def test_a_server_that_has_nothing_to_do_stops_at_once(sqlite_url: str, tmp_path: Path):
    with Running(sqlite_url, tmp_path / "log") as server:
        server.client.get("/v1/bots")  # and its connection is kept open
        begun = time.monotonic()
        assert server.stop() == 0, server.log[-2000:]
        assert time.monotonic() - begun < 5
