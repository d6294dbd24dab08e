"""A port, and what listens on it: one process, or several that share it.

Python runs one thread at a time in a process, so beyond two processors one process leaves the others idle. Several ask
the same store, as servers on several machines would; the system deals connections out to them.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.context import SpawnContext
from multiprocessing.process import BaseProcess

import uvicorn

from handful.errors import ConfigError, HandfulError
from handful.serve.app import create_app
from handful.serve.logs import Log
from handful.serve.service import Service
from handful.serve.start import Asked, service_of

_GRACE = 30  # seconds for what was accepted before the server was told to stop
_EARLY = 5  # seconds: a process that ends by itself sooner than this after its start would end again


def bound(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """`shared`: other processes may listen on the same port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=1024, reuse_port=shared)
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise ConfigError(f"{host}:{port}: cannot be listened on: {why}; --port names another") from error


def reserved(host: str, port: int) -> socket.socket:
    """Holds a port for those who will share it, and takes no connection itself."""
    holding = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        # Somebody else's port must be told, though it may be shared with our own.
        bound(host, port).close()
        holding.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holding.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        holding.bind((host, port))
    except BaseException:
        holding.close()
        raise
    return holding


def listen(service: Service, listening: socket.socket) -> None:
    """Until the process is told to end; what was accepted before is answered."""
    config = uvicorn.Config(
        create_app(service),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE,
        timeout_keep_alive=30,
    )
    # Having finished, the server sends itself the signal once more: nothing is left to do then.
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, lambda *_: None)
    uvicorn.Server(config).run(sockets=[listening])


@dataclass(slots=True)
class _Child:
    process: BaseProcess
    begun: float


class Processes:
    """Keeps as many processes alive as were asked for, until it is told to end."""

    def __init__(self, asked: Asked, count: int, log: Log | None = None) -> None:
        self._asked, self._count, self._log = asked, count, log or Log()
        self._context = multiprocessing.get_context("spawn")
        self._children: list[_Child] = []
        self._stopping = False

    def run(self) -> None:
        _in_child(self._context, _load_model, self._asked)  # one makes the graph where it is missing
        with tempfile.TemporaryDirectory(prefix="handful-metrics-") as metrics:
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = metrics  # where the processes gather what they count
            for ending in (signal.SIGINT, signal.SIGTERM):
                signal.signal(ending, self._stop)
            try:
                self._children = [self._started() for _ in range(self._count)]
                while self._children:
                    self._wait()
            finally:
                self._end_all()

    def _started(self) -> _Child:
        process = self._context.Process(target=_serve, args=(self._asked,))
        process.start()
        return _Child(process, time.monotonic())

    def _wait(self) -> None:
        wait([child.process.sentinel for child in self._children], timeout=1.0)
        for child in [child for child in self._children if not child.process.is_alive()]:
            self._children.remove(child)
            _forget_metrics(child.process.pid)
            if self._stopping:
                continue
            code = child.process.exitcode
            self._log.event("process ended", code=code)
            if code is not None and code > 0 and time.monotonic() - child.begun < _EARLY:
                raise HandfulError(f"a server's process ended at once (exit code {code}): its log says why")
            self._children.append(self._started())

    def _stop(self, *_: object) -> None:
        self._stopping = True
        for child in self._children:
            with suppress(ProcessLookupError, OSError):
                child.process.terminate()

    def _end_all(self) -> None:
        self._stop()
        for child in self._children:
            child.process.join(_GRACE + 5)
            if child.process.is_alive():
                child.process.kill()


def _serve(asked: Asked) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the first process tells the others
    try:
        service = _service(asked)
        listening = bound(asked.host, asked.port, shared=True)
    except HandfulError as error:
        Log().event("trouble", kind=type(error).__name__, message=str(error))
        sys.exit(1)
    listen(service, listening)


def _load_model(asked: Asked) -> None:
    service = _service(asked)
    service.live.model()
    service.store.close()


def _service(asked: Asked) -> Service:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the first process has told them
        return service_of(asked)


def _in_child(context: SpawnContext, work: Callable[[Asked], None], asked: Asked) -> None:
    process = context.Process(target=work, args=(asked,))
    process.start()
    process.join()
    if process.exitcode:
        raise HandfulError(f"the model could not be loaded (exit code {process.exitcode})")


def _forget_metrics(pid: int | None) -> None:
    from prometheus_client.multiprocess import mark_process_dead

    if pid is not None:
        mark_process_dead(pid)
