"""A real HTTP server on the loopback whose answers are scripted, request by request."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from handful.data.download import Event, Retrying, fetch
from handful.data.sources import DataSet


@dataclass(frozen=True)
class Answer:
    status: int = 200  # with 200, a Range is honoured by a 206 if `ranges`
    ranges: bool = True
    corrupt: bool = False
    stop_after: int | None = None  # bytes of the body after which nothing more comes
    stall: bool = False  # at that place keep the connection open, in silence
    content_range: str | None = None  # in place of the true one
    content_length: bool = True
    location: str | None = None


@dataclass(frozen=True)
class Seen:
    path: str
    range: str | None
    sent: int  # bytes of the body


@dataclass
class Server:
    files: dict[str, bytes]
    script: list[Answer] = field(default_factory=list)  # once it is used up, all is served well
    seen: list[Seen] = field(default_factory=list)
    url: str = ""
    closing: threading.Event = field(default_factory=threading.Event)

    @property
    def ranges(self) -> list[str | None]:
        return [request.range for request in self.seen]


@contextmanager
def serving(files: dict[str, bytes]) -> Iterator[Server]:
    state = Server(files)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = state.script.pop(0) if state.script else Answer()
            body, status = self._choose(answer)
            if answer.corrupt:
                body = bytes(byte ^ 0xFF for byte in body)
            shown = body if answer.stop_after is None else body[: answer.stop_after]
            # Recorded before the bytes go out, so that the client never looks too early.
            state.seen.append(Seen(self.path, self.headers.get("Range"), len(shown)))
            self.send_response(status)
            if answer.content_length:
                self.send_header("Content-Length", str(len(body)))
            if status == 206:
                self.send_header("Content-Range", answer.content_range or self._true_range())
            if answer.location is not None:
                self.send_header("Location", answer.location)
            self.end_headers()
            self.wfile.write(shown)
            self.wfile.flush()
            if answer.stall:
                state.closing.wait(10)

        def _choose(self, answer: Answer) -> tuple[bytes, int]:
            if answer.status != 200:
                return b"an error page", answer.status
            if self.path not in state.files:
                return b"an error page", 404
            content = state.files[self.path]
            if not answer.ranges or self.headers.get("Range") is None:
                return content, 200
            start = self._start()
            return (content[start:], 206) if start < len(content) else (b"", 416)

        def _start(self) -> int:
            return int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))

        def _true_range(self) -> str:
            size = len(state.files[self.path])
            return f"bytes {self._start()}-{size - 1}/{size}"

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield state
    finally:
        state.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


def get(data_set: DataSet, directory: Path, server: Server | str, attempts: int = 3) -> list[Event]:
    """Fetch with next to no patience, past any proxy of the machine."""
    mirror = server if isinstance(server, str) else server.url
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("no_proxy", "*")
        return list(fetch(data_set, directory, mirror=mirror, timeout=0.3, attempts=attempts, pause=0.0))


def files_in(directory: Path) -> dict[str, bytes]:
    found = (path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in found}


def retries(events: list[Event]) -> list[str]:
    return [event.reason for event in events if isinstance(event, Retrying)]


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
