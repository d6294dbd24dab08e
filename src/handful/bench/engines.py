"""Who does the runs: this machine, one after another, each in a process of its own; or a Ray cluster (ray_engine.py)."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from handful.bench.work import Done, Failed, Means, Work, do

# Hands out runs and gives each one's end once, as they come.
Engine = Callable[[Sequence[Work]], Iterator[Done | Failed]]


def here(means: Means, tell: Callable[[str], None]) -> Engine:
    """A process a run: its peak memory is its own, and what one leaves behind does not slow the next."""

    def run(works: Sequence[Work]) -> Iterator[Done | Failed]:
        for number, work in enumerate(works, 1):
            tell(f"run {number} of {len(works)}: {work.title}")
            # Not forked: torch's threads do not survive that.
            context = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(1, mp_context=context) as pool:
                try:
                    yield pool.submit(do, work, means, _print).result()
                except BrokenProcessPool:
                    yield Failed(work, "its process was killed; memory may have run out")

    return run


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201: the child's only way to be heard
