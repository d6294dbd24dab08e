"""A PostgreSQL of the tests' own: from the installed binaries, in a temporary folder, on a free loopback port."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

_START = 30  # seconds
_OLDEST = (0,)


def binaries() -> Path | None:
    """The folder with initdb and postgres: of the newest version, where there are several."""
    installed = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = sorted(installed, key=lambda file: _version(file.parts[-3]))[-1:]
    found = [Path(on_path).resolve()] if (on_path := shutil.which("initdb")) else newest
    return next((file.parent for file in found if (file.parent / "postgres").is_file()), None)


def _version(name: str) -> tuple[int, ...]:
    return tuple(map(int, name.split("."))) if name.replace(".", "").isdecimal() else _OLDEST


class Postgres:
    """A server with its own data, which is durable as in earnest: fsync is on."""

    def __init__(self, folder: Path) -> None:
        self._bin = folder
        self._home = Path(tempfile.mkdtemp(prefix="handful-postgres-"))
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:  # it refuses to be root's
            user = _first_user("postgres", "nobody")
            self._as = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        self.own(self._home)
        made = self._run("initdb", "-D", "data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
        if made.returncode:
            raise RuntimeError(f"initdb: {made.stderr}")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._made = 0
        self._databases: list[str] = []  # that were made, and are not in use
        self.start()

    def _run(self, program: str, *words: str) -> subprocess.CompletedProcess[str]:
        command = [self._bin / program, *words]
        return subprocess.run(command, cwd=self._home, capture_output=True, text=True, check=False, **self._as)

    def own(self, folder: Path) -> None:
        """The server may write there."""
        if self._as:
            os.chown(folder, self._as["user"], self._as["group"])

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": "",
            "fsync": "on",
            "max_connections": 200,
        }
        command = [self._bin / "postgres", "-D", "data"]
        command += [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with (self._home / "log").open("ab") as log:
            self._process = subprocess.Popen(command, cwd=self._home, stdout=log, stderr=log, **self._as)
        until = time.monotonic() + _START
        while True:
            try:
                psycopg.connect(self.url(), connect_timeout=5).close()
                return
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError(f"postgres: {(self._home / 'log').read_text()}") from None
                time.sleep(0.02)

    def stop(self) -> None:
        """Connections are ended, not waited for."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(_START)

    def restart(self) -> None:
        self.stop()
        self.start()

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self._home)

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            done = connection.execute(statement.encode())
            return done.fetchall() if done.description else []

    def new_database(self) -> str:
        """Its name; there is nothing in it. Emptying one is many times as quick as making one."""
        if self._databases:
            name = self._databases.pop()
            self.end_connections(name)
            self.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public", name)
            return name
        self._made += 1
        self.execute(f"CREATE DATABASE test_{self._made}")
        return f"test_{self._made}"

    def give_back(self, database: str) -> None:
        self._databases.append(database)

    def drop(self, database: str) -> None:
        self.execute(f"DROP DATABASE {database} WITH (FORCE)")

    def end_connections(self, database: str) -> int:
        """All of a database, as an administrator would. How many there were."""
        ended = f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{database}'"
        return len(self.execute(ended))


def _first_user(*names: str) -> pwd.struct_passwd:
    known = {user.pw_name: user for user in pwd.getpwall()}
    return next(known[name] for name in names if name in known)
