"""Who does the runs: this machine, one after another, each in a process of its own, or a cluster (ray_engine.py)."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection

from handful.bench.work import Done, Failed, Means, Tell, Work, do

# Hands out runs and gives each one's end once, as they come.
Engine = Callable[[Sequence[Work]], Iterator[Done | Failed]]


def here(means: Means, tell: Tell) -> Engine:
    """A process a run: its peak memory is its own, and what one leaves behind does not slow the next."""

    def run(works: Sequence[Work]) -> Iterator[Done | Failed]:
        for number, work in enumerate(works, 1):
            tell(f"run {number} of {len(works)}: {work.title}")
            yield _alone(work, means)

    return run


def _alone(work: Work, means: Means) -> Done | Failed:
    context = multiprocessing.get_context("spawn")  # not forked: torch's threads do not survive that
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(theirs, work, means), name=work.title)
    process.start()
    theirs.close()
    try:
        end = ours.recv()
        process.join()
        return end
    except EOFError:
        process.join()
        killed = "was killed; memory may have run out" if process.exitcode == -signal.SIGKILL else "ended early"
        return Failed(work, f"its process {killed} (exit code {process.exitcode})")
    finally:  # whoever stops the grid stops the run that is under way; it goes on from its last epoch
        if process.is_alive():
            process.terminate()
            process.join()


def _child(answer: Connection, work: Work, means: Means) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches both; the parent decides
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # an exception, so that what was begun is ended, too
    threading.Thread(target=_end_with_parent, daemon=True).start()
    answer.send(do(work, means, _print))


def _end_with_parent() -> None:
    """A run whose grid is gone would train on unseen, and hold its folder."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def _print(line: str) -> None:
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - the child's only way to be heard
