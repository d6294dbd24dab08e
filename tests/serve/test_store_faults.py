"""A server whose database fails: clients are told, and it goes on when the database does, without a restart."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from handful import __version__
from handful.serve.store import Store
from serve.postgres import Postgres
from serve.running import Running, wait_for
from serve.test_faults import adding, everything

pytestmark = pytest.mark.slow

_BOT = "/v1/bots/travel"
_FREE = "free.this"


def add(server: Running, *texts: str, intent: str = "fly") -> httpx.Response:
    return server.client.post(f"{_BOT}/examples", json=adding(*texts, intent=intent))


def parse(server: Running, text: str) -> httpx.Response:
    return server.client.post(f"{_BOT}/parse", json={"text": text})


def refused(answer: httpx.Response, status: int, reason: str) -> str:
    """The message of an error in our shape."""
    told = answer.json()
    assert (answer.status_code, told["reason"], told["code"]) == (status, reason, status), told
    assert (told["version"], told["status"]) == (__version__, "failure")
    assert set(told) == {"version", "status", "message", "reason", "details", "help", "code"}
    assert int(answer.headers["retry-after"]) > 0
    assert "Traceback" not in told["message"]
    assert "password" not in told["message"]
    return told["message"]


Serve = Callable[..., Running]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """A server with the bot `travel`, which knows two intents."""
    servers: list[Running] = []

    def served(url: str) -> Running:
        server = Running(url, tmp_path / f"log-{len(servers)}", model=True)
        servers.append(server)
        if server.client.post("/v1/bots", json={"name": "travel"}).status_code == 201:
            assert add(server, "hello there", "good morning", intent="greet").status_code == 201
            assert add(server, "fly to rome", "a flight to oslo").status_code == 201
        return server

    yield served
    for server in servers:
        with server:
            assert not any(event["event"] == "fault" for event in server.events), server.log


# -- disks -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Of 16 MB, four of which a file takes that can be deleted."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("a disk of its own can only be made by root")
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", folder], capture_output=True, check=False)
    if made.returncode:
        pytest.skip(f"a disk of its own cannot be made here: {made.stderr.decode().strip()}")
    (folder / _FREE).write_bytes(bytes(4_000_000))
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def describe(server: Running, text: str) -> httpx.Response:
    return server.client.patch(_BOT, json={"descriptions": {"fly": text}})


def fill(server: Running) -> tuple[str, httpx.Response]:
    """What was acknowledged last, and the answer when there was no room for more. Nothing is ever overwritten."""
    kept = ""
    for number in range(1000):
        text = random.Random(number).randbytes(45_000).hex()  # which no database packs well
        answer = describe(server, text)
        if answer.status_code != 200:
            return kept, answer
        kept = text
    raise AssertionError("the disk was never full")


def description(server: Running) -> str:
    return server.client.get(_BOT).json()["intents"][1]["description"]


def still_works(server: Running, kept: str, free: Callable[[], object]) -> None:
    """On a full disk: reading does; and writing, once there is room again."""
    texts, version = everything(server)
    assert len(texts) == 4
    assert description(server) == kept
    assert parse(server, "fly to oslo").json()["version"] == version
    assert server.client.get("/readyz").status_code == 200
    free()
    wait_for(lambda: describe(server, "there is room again").status_code == 200)
    assert description(server) == "there is room again"
    assert add(server, "and for examples").json()["version"] == version + 2
    assert parse(server, "fly to oslo").json()["version"] == version + 2


def test_a_full_disk_is_told_and_room_is_used_again(serve: Serve, small_disk: Path):
    server = serve(f"sqlite:///{small_disk / 'handful.db'}")
    kept, answer = fill(server)
    assert "disk is full; nothing was changed" in refused(answer, 507, "StoreFull")
    still_works(server, kept, (small_disk / _FREE).unlink)


def test_a_full_disk_of_postgres_is_told_and_room_is_used_again(serve: Serve, small_disk: Path, postgres: Postgres):
    """A tablespace on the small disk; the server's own log of changes lies elsewhere."""
    place = small_disk / "postgres"
    place.mkdir()
    postgres.own(place)
    for folder in small_disk.parents[:4]:  # so that PostgreSQL's user may go there
        folder.chmod(folder.stat().st_mode | 0o011)
    postgres.execute(f"CREATE TABLESPACE small LOCATION '{place}'")
    postgres.execute("CREATE DATABASE on_small TABLESPACE small")
    try:
        server = serve(postgres.url("on_small"))
        kept, answer = fill(server)
        assert "disk is full; nothing was changed" in refused(answer, 507, "StoreFull")
        still_works(server, kept, (small_disk / _FREE).unlink)
    finally:
        postgres.drop("on_small")
        postgres.execute("DROP TABLESPACE small")


def test_a_disk_that_turns_read_only_is_told_and_forgiven(serve: Serve, tmp_path: Path):
    file = tmp_path / "handful.db"
    server = serve(f"sqlite:///{file}")
    files = [file, file.with_name(f"{file.name}-wal")]
    fixed = subprocess.run(["chattr", "+i", *files], capture_output=True, check=False)
    if fixed.returncode:
        pytest.skip(f"files cannot be made immutable here: {fixed.stderr.decode().strip()}")
    try:
        answer = add(server, "one more")
        if answer.status_code == 201:
            pytest.skip("this system lets a file that is open be written to all the same")
        message = refused(answer, 503, answer.json()["reason"])
        assert answer.json()["reason"] in {"StoreReadOnly", "StoreUnavailable"}
        assert "nothing was changed" in message or "may have been made or not" in message
        texts, version = everything(server)
        assert len(texts) == 4
        assert parse(server, "fly to oslo").json()["version"] == version
    finally:
        subprocess.run(["chattr", "-i", *files], check=True)
    assert add(server, "two more").status_code == 201
    assert everything(server)[0][4:] == ["two more"]


def test_a_database_that_turns_read_only_is_told_and_forgiven(
    serve: Serve, postgres: Postgres, postgres_url: str, postgres_database: str
):
    server = serve(postgres_url)
    postgres.execute(f"ALTER DATABASE {postgres_database} SET default_transaction_read_only = on")
    postgres.end_connections(postgres_database)
    assert "cannot be written to; nothing was changed" in refused(add(server, "one more"), 503, "StoreReadOnly")
    assert len(everything(server)[0]) == 4
    assert parse(server, "fly to oslo").status_code == 200
    postgres.execute(f"ALTER DATABASE {postgres_database} RESET default_transaction_read_only")
    postgres.end_connections(postgres_database)
    assert add(server, "two more").status_code == 201
    assert everything(server)[0][4:] == ["two more"]


# -- connections -------------------------------------------------------------------------------------------------------


def test_dropped_connections_are_not_noticed(
    serve: Serve, postgres: Postgres, postgres_url: str, postgres_database: str
):
    server = serve(postgres_url)
    for turn in range(5):
        assert postgres.end_connections(postgres_database)
        assert add(server, f"turn {turn}").status_code == 201
        assert postgres.end_connections(postgres_database)
        assert parse(server, "fly to oslo").status_code == 200


def test_a_restart_of_postgres_is_told_and_outlived(serve: Serve, postgres: Postgres, postgres_url: str):
    server = serve(postgres_url)
    version = parse(server, "fly to oslo").json()["version"]
    for turn in range(2):
        postgres.stop()
        try:
            for answer in (add(server, "one more"), parse(server, "fly to oslo"), server.client.get("/readyz")):
                assert "cannot be reached" in refused(answer, 503, "StoreUnavailable")
            assert server.client.get("/healthz").status_code == 200
        finally:
            postgres.start()
        assert server.client.get("/readyz").status_code == 200
        assert parse(server, "fly to oslo").json()["version"] == version + turn
        assert add(server, f"turn {turn}").status_code == 201
    assert everything(server)[0][4:] == ["turn 0", "turn 1"]


# -- two servers -------------------------------------------------------------------------------------------------------


def test_a_change_through_one_server_is_used_by_the_next_parse_of_the_other(serve: Serve, store_url: str):
    servers = [serve(store_url), serve(store_url)]
    for turn in range(40):
        one, other = servers[turn % 2], servers[1 - turn % 2]
        text, intent = f"please do number {turn} now", f"number_{turn}"
        done = add(one, text, intent=intent).json()
        found = parse(other, text).json()
        assert (found["version"], found["intent"]["name"]) == (done["version"], intent)
        assert everything(other)[0][-1] == text
        if turn % 4 == 3:  # and what was taken back is not used any more
            gone = one.client.delete(f"{_BOT}/examples/{done['examples'][0]['id']}").json()
            found = parse(other, text).json()
            assert found["version"] == gone["version"]
            assert found["intent"]["name"] != intent
    assert servers[1].client.delete(_BOT).status_code == 204
    assert parse(servers[0], "hello").status_code == 404
    assert servers[0].client.post("/v1/bots", json={"name": "travel"}).status_code == 201
    assert parse(servers[1], "hello").json()["intent"]["name"] is None


def test_a_server_does_not_start_on_a_disk_that_it_cannot_write_to(small_disk: Path, tmp_path: Path):
    Store.open(str(small_disk / "handful.db")).close()
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with pytest.raises(AssertionError, match="the server ended with 1") as ended:
        Running(str(small_disk / "handful.db"), tmp_path / "log")
    assert "may it be written to?" in " ".join(str(ended.value).split())
    assert "Traceback" not in str(ended.value)
