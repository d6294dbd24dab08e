"""Tokens and scopes, foreign pages and names, and what an answer keeps to itself."""

from __future__ import annotations

import hmac
import io
import json

import pytest
from fastapi.testclient import TestClient

from handful.errors import ConfigError
from handful.serve import security
from handful.serve.security import Known, Tokens, caller_of, is_loopback, summed
from handful.serve.settings import ServeSettings
from handful.serve.start import refuse_open
from handful.serve.store import Store
from handful.serve.store.errors import StoreUnavailable
from serve.api.conftest import Serve

READ, WRITE, ADMIN = (
    ("GET", "/v1/bots/b", None),
    ("PATCH", "/v1/bots/b", {"threshold": "off"}),
    ("DELETE", "/v1/bots/b", None),
)


def asked(client: TestClient, what: tuple[str, str, object], token: str | None) -> int:
    method, path, body = what
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    return client.request(method, path, json=body, headers=headers).status_code


def test_a_scope_allows_what_it_says_and_less(serve: Serve):
    store = Store.open("sqlite://")
    store.create("b", what="made", by=None)
    tokens = {scope: store.add_token(scope, scope) for scope in security.SCOPES}
    client = serve(store=store)
    allowed = {scope: [asked(client, what, token) for what in (READ, WRITE, ADMIN)] for scope, token in tokens.items()}
    assert allowed == {"read": [200, 403, 403], "write": [200, 200, 403], "admin": [200, 200, 204]}
    assert [asked(client, READ, token) for token in (None, "", "wrong", tokens["read"] + "x")] == [401] * 4
    assert client.get("/v1/bots", headers={"authorization": f"Basic {tokens['read']}"}).status_code == 401
    refused = client.patch(
        "/v1/bots/b", json={"threshold": "off"}, headers={"authorization": f"Bearer {tokens['read']}"}
    )
    assert refused.json()["details"] == {"scope": "read", "needed": "write"}
    assert client.get("/v1/bots").headers["www-authenticate"] == "Bearer"


def test_a_change_names_who_made_it(serve: Serve):
    store = Store.open("sqlite://")
    token = store.add_token("anna", "admin")
    client = serve(store=store)
    client.headers["authorization"] = f"Bearer {token}"
    client.post("/v1/bots", json={"name": "b"})
    assert client.get("/v1/bots/b/versions").json()["versions"][0]["by"] == "anna"


def test_tokens_are_kept_as_sums_and_forgotten_soon(monkeypatch: pytest.MonkeyPatch):
    store = Store.open("sqlite://")
    token = store.add_token("anna", "read")
    (row,) = store.tokens()
    assert token not in repr(row)
    assert row.sha256 == summed(token)
    tokens = Tokens([], lambda: [Known(row.name, row.scope, row.sha256) for row in store.tokens()])
    assert caller_of(token, tokens.all(), guarded=True).name == "anna"
    store.remove_token("anna")
    store.add_token("bert", "read")
    assert caller_of(token, tokens.all(), guarded=True).name == "anna", "asked for again within a second"
    monkeypatch.setattr(security, "_FRESH", 0.0)
    with pytest.raises(Exception, match="not known here"):
        caller_of(token, tokens.all(), guarded=True)


def test_every_token_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch):
    compared: list[tuple[str, str]] = []
    monkeypatch.setattr(hmac, "compare_digest", lambda a, b: compared.append((a, b)) or a == b)
    known = [Known(f"t{n}", "read", summed(f"token {n}")) for n in range(5)]
    assert caller_of("token 1", known, guarded=True).name == "t1"
    assert len(compared) == 5, "whichever fits, all are looked at"


def test_without_a_token_only_this_machine_is_served():
    nobody = Tokens([], lambda: [])
    for host in ("0.0.0.0", "::", "192.168.1.7", "example.org", ""):
        with pytest.raises(ConfigError, match="found no token"):
            refuse_open(host, nobody)
    for host in ("127.0.0.1", "localhost", "::1", "127.3.2.1"):
        refuse_open(host, nobody)
    assert not is_loopback("128.0.0.1")
    refuse_open("0.0.0.0", Tokens([Known("a", "admin", summed("a"))], lambda: []))


def test_a_foreign_page_changes_nothing(client: TestClient):
    body = {"examples": [{"intent": "fly", "text": "away"}]}
    for origin in ("https://evil.example", "null", "http://127.0.0.1:6000", "http://localhost:5005"):
        refused = client.post("/v1/bots/travel/examples", json=body, headers={"origin": origin})
        assert (refused.status_code, refused.json()["reason"]) == (403, "ForeignOrigin"), origin
        assert "access-control-allow-origin" not in refused.headers
    own = client.post("/v1/bots/travel/examples", json=body, headers={"origin": "http://127.0.0.1:5005"})
    assert own.status_code == 201
    simple = client.post("/v1/bots/travel/examples", content=json.dumps(body), headers={"content-type": "text/plain"})
    assert simple.status_code == 422, "what a form of another site could send"


def test_a_name_that_leads_here_is_no_way_in(client: TestClient):
    assert client.get("/v1/bots", headers={"host": "rebound.example:5005"}).json()["reason"] == "ForeignHost"
    assert client.get("/v1/bots", headers={"host": "localhost:5005"}).status_code == 200
    assert client.get("/v1/bots", headers={"host": "[::1]:5005"}).status_code == 200
    assert client.get("/v1/bots", headers={"host": "[::1"}).status_code == 403


def test_a_site_that_is_let_in_is_told_so(serve: Serve):
    client = serve(ServeSettings(origins=("https://bots.example",)), token="a long secret")
    headers = {"origin": "https://bots.example", "access-control-request-method": "POST"}
    allowed = client.options("/v1/bots", headers=headers)
    assert allowed.headers["access-control-allow-origin"] == "https://bots.example"
    other = client.options("/v1/bots", headers={**headers, "origin": "https://evil.example"})
    assert "access-control-allow-origin" not in other.headers


@pytest.mark.parametrize("path", ["/", "/v1/bots", "/nowhere", "/page/app.js", "/healthz"])
def test_every_answer_keeps_browsers_safe(client: TestClient, path: str):
    headers = client.get(path, headers={"accept": "text/html"}).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert "default-src 'self'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert "server" not in headers


@pytest.mark.parametrize("path", ["../app.py", "%2e%2e%2fapp.py", "..%5capp.py", "", ".x", "words.js%00.html"])
def test_the_page_is_all_that_can_be_had_of_the_disk(client: TestClient, path: str):
    assert client.get(f"/page/{path}").status_code == 404


def test_a_fault_of_ours_is_a_500_without_a_word_of_it(serve: Serve, monkeypatch: pytest.MonkeyPatch):
    log = io.StringIO()
    client = serve(log=log)

    def broken(*_: object) -> None:
        raise RuntimeError("the secret of somebody's sentence")

    monkeypatch.setattr(Store, "bots", broken)
    answer = client.get("/v1/bots")
    assert answer.status_code == 500
    assert answer.json()["reason"] == "InternalError"
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text
    row = next(json.loads(line) for line in log.getvalue().splitlines() if '"fault"' in line)
    assert row["kind"] == "RuntimeError"
    assert row["request"] == answer.headers["x-request-id"]
    assert "secret" not in log.getvalue()


def test_a_server_does_not_open_when_its_last_token_goes(serve: Serve, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(security, "_FRESH", 0.0)
    store = Store.open("sqlite://")
    token = store.add_token("anna", "admin")
    client = serve(store=store)
    assert client.get("/v1/bots", headers={"authorization": f"Bearer {token}"}).status_code == 200
    store.remove_token("anna")
    assert client.get("/v1/bots").status_code == 401
    assert client.get("/v1/bots", headers={"authorization": f"Bearer {token}"}).status_code == 401


def test_a_stranger_is_turned_away_before_the_body_is_read(serve: Serve):
    client = serve(token="a long secret")
    read = 0

    def body():
        nonlocal read
        for _ in range(100):
            read += 1
            yield b"a" * 10_000

    assert client.post("/v1/bots/b/import", content=body()).status_code == 401
    large = json.dumps({"text": "a" * 200_000})
    assert client.post("/model/parse", content=large).status_code == 413, "its token may be in the body, so it is read"
    assert client.post("/healthz", content="a" * 2000).status_code == 413


def test_the_fixed_token_holds_while_the_store_is_away(serve: Serve, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(security, "_FRESH", 0.0)
    client = serve(token="a long secret")
    asked_store: list[int] = []

    def gone(_: Store) -> None:
        asked_store.append(1)
        raise StoreUnavailable("postgresql://handful:…@db.internal: 10.1.2.3 does not answer")

    monkeypatch.setattr(Store, "tokens", gone)
    assert client.get("/v1/formats", headers={"authorization": "Bearer a long secret"}).status_code == 200
    assert not asked_store
    refused = client.get("/v1/bots", headers={"authorization": "Bearer another"})
    assert (refused.status_code, refused.json()["reason"]) == (503, "StoreUnavailable")
    assert "10.1.2.3" not in refused.text, "where the store lies is nobody's business"


@pytest.mark.parametrize("name", ["..", ".", "a/../b", "..\\x"])
def test_no_intent_has_a_name_that_leads_a_path_astray(client: TestClient, name: str):
    assert client.post("/v1/bots/travel/intents", json={"name": name}).status_code == 422
    added = {"examples": [{"intent": name, "text": "x"}]}
    assert client.post("/v1/bots/travel/examples", json=added).status_code == 422
    assert client.patch("/v1/bots/travel/intents/fly", json={"name": name}).status_code == 422
    marked = f"nlu:\n- intent: '{name}'\n  examples: |\n    - x\n"
    assert client.post("/v1/bots/travel/import", content=marked).status_code == 422
    assert client.delete("/v1/bots/travel/", follow_redirects=True).status_code == 404
    assert client.get("/v1/bots/travel").status_code == 200
