"""`handful serve` as a person starts it, and what is told where it cannot be."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from cli.conftest import Ran
from serve.running import Running, wait_for

Run = Callable[..., Ran]


def test_a_bots_file_is_served_at_once_and_never_changed(bot: Path, tmp_path: Path):
    before = bot.read_bytes()
    with Running(None, tmp_path / "log", "--bot", str(bot), model=True) as server:
        assert "serving bot, read-only" in server.log
        assert "this machine alone is listened to" in server.log
        client = server.client
        answer = client.post("/model/parse", content=b'{"text": "a flight to Rome please"}').json()
        assert answer["intent"]["name"] == "fly"
        listed = client.get("/v1/bots").json()
        assert (listed["default"], listed["read_only"]) == ("bot", True)
        refused = client.post("/v1/bots/bot/examples", json={"examples": [{"intent": "fly", "text": "away"}]})
        assert (refused.status_code, refused.json()["reason"]) == (403, "ReadOnly")
    assert bot.read_bytes() == before
    assert not list(bot.parent.glob("*.db"))


def test_with_a_store_the_file_is_where_a_bot_begins(bot: Path, tmp_path: Path):
    words = ("--bot", str(bot), "--store", str(tmp_path / "b.db"))
    with Running(None, tmp_path / "log", *words, model=True) as server:
        client = server.client
        added = client.post("/v1/bots/bot/examples", json={"examples": [{"intent": "pay", "text": "pay the bill"}]})
        assert added.json()["version"] == 2
    with Running(None, tmp_path / "log", *words, model=True) as server:
        assert "the store has a bot 'bot' already" in server.log
        assert server.client.get("/v1/bots/bot").json()["version"] == 2


def test_a_tokens_life(tmp_path: Path, run: Run):
    store = str(tmp_path / "b.db")
    made = run("store", "token", "add", "anna", "--scope", "admin", "--store", store)
    token = made.out.strip()
    with Running(None, tmp_path / "log", "--store", store, "--host", "0.0.0.0", model=True) as server:
        assert "this machine alone" not in server.log
        client = server.client
        assert client.get("/v1/bots").status_code == 401
        assert client.get("/v1/bots", headers={"authorization": f"Bearer {token}"}).status_code == 200
        assert client.get("/v1/bots", headers={"authorization": f"Bearer {token}", "host": "bots.example"}).is_success
        assert token not in server.log
    kept = (tmp_path / "b.db").read_bytes()
    assert token.encode() not in kept


def test_ctrl_c_ends_it_without_a_word_too_many(bot: Path, tmp_path: Path):
    with Running(None, tmp_path / "log", "--bot", str(bot), model=True) as server:
        assert server.stop(signal.SIGINT) == 0
        assert "Traceback" not in server.log


def test_what_is_wrong_is_told_in_a_line(bot: Path, tmp_path: Path, run: Run):
    for words, told in (
        (("--bot", str(tmp_path / "no.yml")), "no.yml"),
        (("--bot", str(bot), "--host", "0.0.0.0"), "found no token, expected one where other machines"),
        (("--store", "mysql://localhost/x"), "expected sqlite or postgresql"),
        (("--store", f"{tmp_path}/no/such/folder.db"), "cannot be opened"),
        (("--store", str(tmp_path / "b.db"), "--default", "nobody"), "there is no bot 'nobody'"),
        (("--bot", str(bot), "--auth-token", "short"), "expected a token that nobody can guess"),
        (("--bot", str(bot), "--port", "99999"), "less than or equal to 65535"),
        (("--bots", str(bot)), "No such option"),
    ):
        ran = run("serve", *words)
        assert ran.code in {1, 2}, words
        assert told in ran.err
        assert "Traceback" not in ran.err


def test_a_port_that_is_taken_is_told(bot: Path, run: Run):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = run("serve", "--bot", str(bot), "--port", str(port))
    assert ran.code == 2
    assert f"127.0.0.1:{port}: cannot be listened on: Address already in use; --port names another" in ran.err


def test_a_file_that_is_no_store_is_left_as_it_is(tmp_path: Path, run: Run):
    file = tmp_path / "notes.txt"
    file.write_text("nothing that a database would write, but long enough to be looked at\n" * 20)
    before = file.read_bytes()
    ran = run("serve", "--store", str(file))
    assert ran.code == 1
    assert "is no database of SQLite" in ran.err
    assert file.read_bytes() == before


def test_logs_are_lines_of_json(bot: Path, tmp_path: Path):
    with Running(None, tmp_path / "log", "--bot", str(bot), model=True) as server:
        server.client.post("/model/parse", content=b'{"text": "take me to Xanadu"}')
        rows = server.events
    assert [row["status"] for row in rows if row["event"] == "request" and row["endpoint"] == "/model/parse"] == [200]
    assert "Xanadu" not in json.dumps(rows)


@pytest.mark.parametrize("name", ["my bot!.yml", "über.yml", "...yml"])
def test_a_files_name_becomes_one_that_a_path_can_say(bot: Path, name: str, tmp_path: Path):
    odd = bot.with_name(name)
    odd.write_bytes(bot.read_bytes())
    with Running(None, tmp_path / "log", "--bot", str(odd), model=True) as server:
        client = server.client
        (listed,) = client.get("/v1/bots").json()["bots"]
        assert client.post(f"/bots/{listed['name']}/model/parse", json={"text": "hello"}).status_code == 200


def test_several_processes_share_a_port_and_one_that_dies_is_replaced(tmp_path: Path):
    store = str(tmp_path / "b.db")
    with Running(store, tmp_path / "log", "--processes", "2", model=True) as server:
        client = server.client
        client.post("/v1/bots", json={"name": "b"})
        for number in range(10):  # each change is known to whichever process is asked
            body = {"examples": [{"intent": f"intent {number}", "text": f"sentence {number}"}]}
            with httpx.Client(base_url=server.address, timeout=60) as fresh:
                fresh.post("/v1/bots/b/examples", json=body).raise_for_status()
            with httpx.Client(base_url=server.address, timeout=60) as fresh:
                parse = fresh.post("/v1/bots/b/parse", json={"text": f"sentence {number}"}).json()
            assert (parse["version"], len(parse["intent_ranking"])) == (number + 2, number + 1)
        assert "handful_parses_total" in client.get("/metrics").text
        counts = [line for line in client.get("/metrics").text.splitlines() if line.startswith("handful_parses_total")]
        assert sum(float(line.rpartition(" ")[2]) for line in counts) == 10, "of both processes together"
        workers = _workers(server.process.pid)
        assert len(workers) == 2
        os.kill(workers[0], signal.SIGKILL)
        wait_for(lambda: len(set(_workers(server.process.pid)) - {workers[0]}) == 2)
        server.wait_until_ready("/readyz")
        with httpx.Client(base_url=server.address, timeout=60) as fresh:
            assert fresh.post("/v1/bots/b/parse", json={"text": "sentence 1"}).status_code == 200
        assert server.stop() == 0
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers[1:])


def _workers(parent: int) -> list[int]:
    """Processes that serve: children that listen, and none that only help."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(pid) for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
