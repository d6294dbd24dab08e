"""`handful serve` in a process of its own, for tests that stop it, kill it or take its database away."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

_START = 120  # seconds: the first server makes the model's graph


class Running:
    """With `store` a URL; `log` is a file that is added to. Ready is: it answers; with `model`, also that it parses."""

    def __init__(self, store: str | None, log: Path, *words: str, model: bool = False, **environment: str) -> None:
        self.log_file = log
        begins = log.stat().st_size if log.exists() else 0
        command = [sys.executable, "-m", "handful", "serve", "--port", "0", *words]
        command += ["--store", store] if store is not None else []
        with log.open("ab") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=out, env=os.environ | environment)
        try:
            self.address = wait_for(lambda: self._address(begins), _START)
            self.client = httpx.Client(base_url=self.address, timeout=60, trust_env=False)
            self.wait_until_ready("/readyz" if model else "/healthz")
        except BaseException:
            self.kill()
            raise

    def _address(self, begins: int) -> str | None:
        told = self.log_file.read_bytes()[begins:].decode()
        if found := re.search(r"^(http://\S+?):? ", told, re.MULTILINE):
            return found[1]
        if self.process.poll() is not None:
            raise AssertionError(f"the server ended with {self.process.returncode}:\n{told}")
        return None

    def wait_until_ready(self, path: str = "/readyz", seconds: float = _START) -> None:
        wait_for(lambda: self._is(path), seconds)

    def _is(self, path: str) -> bool:
        try:
            return self.client.get(path).status_code == 200
        except httpx.TransportError:
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended with {self.process.returncode}:\n{self.log}") from None
            return False

    @property
    def log(self) -> str:
        return self.log_file.read_text()

    @property
    def events(self) -> list[dict[str, Any]]:
        """The log's lines of JSON."""
        return [json.loads(line) for line in self.log.splitlines() if line.startswith("{")]

    def kill(self) -> None:
        """As a power failure would, as far as the process is concerned."""
        self.process.kill()
        self.process.wait()

    def stop(self, how: signal.Signals = signal.SIGTERM, seconds: float = 60) -> int:
        """Its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.client.close()
        self.kill()


def wait_for(condition: Callable[[], Any], seconds: float = 30) -> Any:
    """What the condition gives, as soon as it is true."""
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, f"nothing after {seconds} seconds"
        time.sleep(0.02)
    return found
