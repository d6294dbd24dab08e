"""Limits, logs, metrics, and the states of a server."""

from __future__ import annotations

import asyncio
import io
import json
import threading

import httpx
import pytest
from fastapi.testclient import TestClient

from handful.serve.live import LiveBots
from handful.serve.settings import ServeSettings
from handful.serve.store import Store
from handful.serve.store.errors import StoreUnavailable
from serve.api.conftest import Serve, add_travel


def test_a_body_that_is_too_large_is_refused_before_it_is_read(serve: Serve):
    client = serve(ServeSettings(most_body=1000))
    refused = client.post("/model/parse", content=json.dumps({"text": "a" * 2000}))
    assert (refused.status_code, refused.json()["reason"]) == (413, "TooLarge")
    piecemeal = client.post("/model/parse", content=(b"a" * 100 for _ in range(20)))
    assert piecemeal.status_code == 413, "whatever length it was said to have"
    assert client.post("/v1/bots", json={"name": "b"}).status_code == 201
    assert client.post("/v1/bots/b/import", content=b"x" * 2000).status_code == 422, "files may be larger"


def test_more_requests_than_allowed_are_turned_away_at_once(serve: Serve, monkeypatch: pytest.MonkeyPatch):
    client = serve(ServeSettings(most_in_flight=2))
    add_travel(client)
    hold = threading.Event()
    real = LiveBots.parse

    def held(self: LiveBots, name: str, texts: list[str]):
        hold.wait(10)
        return real(self, name, texts)

    monkeypatch.setattr(LiveBots, "parse", held)

    async def crowd() -> list[httpx.Response]:
        transport = httpx.ASGITransport(client.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:5005") as crowd_client:
            waiting = [
                asyncio.create_task(crowd_client.post("/v1/bots/travel/parse", json={"text": "hi"})) for _ in range(5)
            ]
            done, _ = await asyncio.wait(waiting, timeout=5, return_when=asyncio.FIRST_COMPLETED)
            while len(done) < 3:
                done, _ = await asyncio.wait(waiting, timeout=0.1)
            assert (await crowd_client.get("/healthz")).status_code == 200
            assert "handful_requests_in_flight 2.0" in (await crowd_client.get("/metrics")).text
            hold.set()
            return list(await asyncio.gather(*waiting))

    answers = asyncio.run(crowd())
    assert sorted(answer.status_code for answer in answers) == [200, 200, 503, 503, 503]
    assert {a.headers.get("retry-after") for a in answers if a.status_code == 503} == {"1"}
    assert client.post("/v1/bots/travel/parse", json={"text": "hi"}).status_code == 200
    assert 'handful_turned_away_total{reason="busy"} 3.0' in client.get("/metrics").text


def test_a_body_that_never_ends_is_not_waited_for(serve: Serve):
    client = serve(ServeSettings(body_seconds=0.2))

    async def slow() -> int:
        statuses: list[int] = []
        sent = False

        async def receive() -> dict[str, object]:
            nonlocal sent
            if sent:
                await asyncio.sleep(30)
            sent = True
            return {"type": "http.request", "body": b"{", "more_body": True}

        async def send(message: dict[str, object]) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])  # pyright: ignore[reportArgumentType]

        scope = {
            "type": "http", "method": "POST", "path": "/model/parse", "raw_path": b"/model/parse", "query_string": b"",
            "headers": [(b"host", b"127.0.0.1")], "http_version": "1.1", "scheme": "http", "root_path": "",
        }  # fmt: skip
        await client.app(scope, receive, send)  # pyright: ignore[reportArgumentType]
        return statuses[0]

    assert asyncio.run(asyncio.wait_for(slow(), 5)) == 408


def test_half_a_file_is_never_taken_for_a_whole_one(serve: Serve):
    client = serve()
    client.post("/v1/bots", json={"name": "b"})

    async def cut() -> None:
        messages = [
            {"type": "http.request", "body": b'{"tokens": ["a"], "slots": ["O"], "intent": "x"}\n', "more_body": True},
            {"type": "http.disconnect"},
        ]

        async def receive() -> dict[str, object]:
            return messages.pop(0)

        async def send(_: object) -> None:
            pass

        scope = {
            "type": "http", "method": "POST", "path": "/v1/bots/b/import", "raw_path": b"/v1/bots/b/import",
            "query_string": b"", "headers": [(b"host", b"127.0.0.1")], "http_version": "1.1", "scheme": "http",
            "root_path": "",
        }  # fmt: skip
        await client.app(scope, receive, send)  # pyright: ignore[reportArgumentType]

    asyncio.run(cut())
    assert client.get("/v1/bots/b").json()["version"] == 1


def test_logs_have_ids_and_times_and_no_word_that_was_said(serve: Serve):
    for settings, said in ((ServeSettings(), False), (ServeSettings(log_text=True), True)):
        log = io.StringIO()
        client = serve(settings, log=log)
        client.app.state.service.log.with_text = settings.log_text  # pyright: ignore
        add_travel(client)
        answer = client.post("/model/parse", json={"text": "a flight to Xanadu"}, headers={"x-request-id": "mine-7"})
        assert answer.headers["x-request-id"] == "mine-7"
        rows = [json.loads(line) for line in log.getvalue().splitlines()]
        (row,) = [row for row in rows if row.get("request") == "mine-7"]
        assert (row["endpoint"], row["status"], row["method"]) == ("/model/parse", 200, "POST")
        assert row["milliseconds"] > 0
        assert ("Xanadu" in log.getvalue()) is said
    evil = client.get("/version", headers={"x-request-id": 'a"b\\nc'})
    assert evil.headers["x-request-id"] != 'a"b\\nc', "an id that could break a log is not taken over"


def test_metrics_count_by_endpoint_not_by_name(client: TestClient):
    for name in ("travel", "nobody", "somebody"):
        client.post(f"/v1/bots/{name}/parse", json={"text": "hello"})
    client.post("/v1/bots/travel/parse", json={"text": "who won the world cup in 1998"})
    text = client.get("/metrics").text
    assert 'handful_request_seconds_count{endpoint="/v1/bots/{bot}/parse",method="POST",status="200"} 2.0' in text
    assert 'endpoint="/v1/bots/{bot}/parse",method="POST",status="404"} 2.0' in text
    assert 'handful_parses_total{result="understood"} 1.0' in text
    assert 'handful_parses_total{result="rejected"} 1.0' in text
    assert "handful_bots_loaded 1.0" in text
    assert "handful_batch_sentences_count" in text
    assert 'handful_model_info{identity="' in text
    assert "handful_changes_total 2.0" in text
    assert "nobody" not in text


def test_alive_ready_and_out_of_reach(serve: Serve, monkeypatch: pytest.MonkeyPatch):
    client = serve()
    assert client.get("/healthz").json() == {"state": "alive"}
    for _ in range(100):
        if client.get("/readyz").status_code == 200:
            break
    assert client.get("/readyz").json() == {"state": "ready"}

    def gone(_: Store) -> None:
        raise StoreUnavailable("the database cannot be reached")

    monkeypatch.setattr(Store, "ping", gone)
    refused = client.get("/readyz")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert client.get("/healthz").status_code == 200


def test_paths_and_methods_that_are_not_there(client: TestClient):
    missing = client.get("/v2/bots")
    assert (missing.status_code, missing.json()["message"]) == (404, "there is nothing at /v2/bots")
    wrong = client.put("/v1/bots", json={})
    assert (wrong.status_code, wrong.json()["reason"]) == (405, "MethodNotAllowed")
    assert client.post("/v1/bots", content=b"{", headers={"content-type": "application/json"}).status_code == 400


def test_a_browser_gets_the_playground_and_a_program_the_greeting(client: TestClient):
    page = client.get("/", headers={"accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert page.headers["content-type"].startswith("text/html")
    assert "<!doctype html>" in page.text.lower()
    assert client.get("/", headers={"accept": "*/*"}).text.startswith("Hello from handful")
