"""Who asks at the same time is parsed together; nobody waits for long, and nobody gets another's answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from handful.errors import ConfigError
from handful.parser.parse import Parse
from handful.serve.batching import Batcher, Parsed
from handful.serve.live import nothing


class Parsing:
    """Parses nothing, remembers what it was asked, and can be held up."""

    def __init__(self) -> None:
        self.batches: list[tuple[str, list[str]]] = []
        self.free = threading.Event()
        self.free.set()

    def __call__(self, bot: str, texts: Sequence[str]) -> Parsed:
        self.free.wait(10)
        self.batches.append((bot, list(texts)))
        if "fault" in texts:
            raise RuntimeError("a fault")
        if bot == "nobody":
            raise ConfigError("there is no bot")
        return Parsed(len(self.batches), [nothing(text) for text in texts])


def batcher(parse: Parsing, pool: ThreadPoolExecutor, most: int = 8) -> Batcher:
    return Batcher(parse, pool, window=0.001, most=most)


def texts_of(parsed: Parsed) -> list[str]:
    return [parse.text for parse in parsed.parses]


@pytest.fixture
def pool():
    with ThreadPoolExecutor(2) as executor:
        yield executor


def test_those_who_come_while_a_batch_is_under_way_go_together(pool: ThreadPoolExecutor):
    parse = Parsing()

    async def ask() -> list[Parsed]:
        asked = batcher(parse, pool)
        parse.free.clear()
        first = asyncio.create_task(asked.parse("b", ["first"]))
        await asyncio.sleep(0.02)
        rest = [asyncio.create_task(asked.parse("b", [f"text {n}", "second"])) for n in range(3)]
        await asyncio.sleep(0.02)
        parse.free.set()
        return list(await asyncio.gather(first, *rest))

    found = asyncio.run(ask())
    assert [texts for _, texts in parse.batches] == [
        ["first"],
        ["text 0", "second", "text 1", "second", "text 2", "second"],
    ]
    assert [texts_of(parsed) for parsed in found] == [["first"], *([f"text {n}", "second"] for n in range(3))]
    assert [parsed.version for parsed in found] == [1, 2, 2, 2], "a batch is parsed by one version of the bot"


def test_a_batch_is_no_larger_than_allowed_and_a_request_is_never_cut(pool: ThreadPoolExecutor):
    parse = Parsing()

    async def ask() -> None:
        asked = batcher(parse, pool, most=4)
        parse.free.clear()
        waiting = [asyncio.create_task(asked.parse("b", [str(n)] * size)) for n, size in enumerate([1, 3, 2, 6, 1])]
        await asyncio.sleep(0.02)
        parse.free.set()
        await asyncio.gather(*waiting)

    asyncio.run(ask())
    assert [len(texts) for _, texts in parse.batches] == [1 + 3, 2, 6, 1]


def test_bots_do_not_wait_for_each_other(pool: ThreadPoolExecutor):
    parse = Parsing()

    async def ask() -> set[str]:
        asked = batcher(parse, pool)
        parse.free.clear()
        waiting = [asyncio.create_task(asked.parse(bot, ["x"])) for bot in ("a", "b")]
        await asyncio.sleep(0.02)
        parse.free.set()
        await asyncio.gather(*waiting)
        return {bot for bot, _ in parse.batches}

    assert asyncio.run(ask()) == {"a", "b"}


def test_a_fault_in_one_text_is_its_own(pool: ThreadPoolExecutor):
    parse = Parsing()

    async def ask() -> list[Parsed | BaseException]:
        asked = batcher(parse, pool)
        parse.free.clear()
        texts = ["held", "fine", "fault", "good"]
        waiting = [asyncio.create_task(asked.parse("b", [text])) for text in texts]
        await asyncio.sleep(0.02)
        parse.free.set()
        return list(await asyncio.gather(*waiting, return_exceptions=True))

    _, fine, fault, good = asyncio.run(ask())
    assert isinstance(fine, Parsed)
    assert isinstance(good, Parsed)
    assert (texts_of(fine), texts_of(good)) == (["fine"], ["good"])
    assert isinstance(fault, RuntimeError)


def test_what_a_person_can_mend_is_told_to_all_and_tried_once(pool: ThreadPoolExecutor):
    parse = Parsing()

    async def ask() -> list[Parsed | BaseException]:
        asked = batcher(parse, pool)
        return list(await asyncio.gather(*(asked.parse("nobody", ["x"]) for _ in range(3)), return_exceptions=True))

    assert all(isinstance(found, ConfigError) for found in asyncio.run(ask()))
    assert len(parse.batches) == 1


def test_who_has_gone_is_not_parsed_for(pool: ThreadPoolExecutor):
    parse = Parsing()

    async def ask() -> None:
        asked = batcher(parse, pool)
        parse.free.clear()
        first = asyncio.create_task(asked.parse("b", ["first"]))
        await asyncio.sleep(0.02)
        gone = asyncio.create_task(asked.parse("b", ["gone"]))
        stays = asyncio.create_task(asked.parse("b", ["stays"]))
        await asyncio.sleep(0.02)
        gone.cancel()
        parse.free.set()
        await asyncio.gather(first, stays)
        await asked.finish()
        assert asked.waiting == 0

    asyncio.run(ask())
    assert [texts for _, texts in parse.batches] == [["first"], ["stays"]]


def test_thousands_at_once_each_get_their_own(pool: ThreadPoolExecutor):
    parse = Parsing()

    async def ask() -> list[Parsed]:
        asked = batcher(parse, pool, most=64)
        return list(await asyncio.gather(*(asked.parse(f"b{n % 3}", [str(n)]) for n in range(3000))))

    found = asyncio.run(ask())
    assert [texts_of(parsed) for parsed in found] == [[str(n)] for n in range(3000)]
    assert max(len(texts) for _, texts in parse.batches) == 64
    assert all(isinstance(parse, Parse) for parsed in found for parse in parsed.parses)


def test_what_waits_is_shared_by_the_workers_that_are_free(pool: ThreadPoolExecutor):
    parse = Parsing()

    async def ask() -> None:
        asked = Batcher(parse, pool, window=0.001, most=32, at_once=2)
        parse.free.clear()
        waiting = [asyncio.create_task(asked.parse("b", [str(n)])) for n in range(8)]
        await asyncio.sleep(0.02)
        parse.free.set()
        await asyncio.gather(*waiting)

    asyncio.run(ask())
    assert sorted(len(texts) for _, texts in parse.batches) == [4, 4]
