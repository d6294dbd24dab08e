"""Rasa's contract, as an assistant relies on it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from handful import __version__
from serve.api.conftest import Serve, add_travel


def sent(client: TestClient, body: Any, path: str = "/model/parse", **params: str) -> Any:
    """As Rasa's client and curl send it: JSON in the body, and no word of what it is."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return client.post(path, content=content, params=params)


def test_a_parse_has_what_the_contract_lists(client: TestClient):
    found = sent(client, {"text": "fly to Boston", "message_id": "m1"})
    assert found.status_code == 200
    answer = found.json()
    assert answer["text"] == "fly to Boston"
    assert answer["intent"]["name"] == "fly"
    assert answer["intent"]["confidence"] > 0.5
    (entity,) = answer["entities"]
    assert {key: entity[key] for key in ("entity", "start", "end", "value", "extractor")} == {
        "entity": "city", "start": 7, "end": 13, "value": "Boston", "extractor": "handful",
    }  # fmt: skip
    assert 0 < entity["confidence_entity"] <= 1
    assert answer["text_tokens"] == [[0, 3], [4, 6], [7, 13]]
    assert [ranked["name"] for ranked in answer["intent_ranking"]] == ["fly", "greet"]


def test_roles_are_told(client: TestClient):
    answer = sent(client, {"text": "get me from Madrid to Vienna"}).json()
    assert [(e["entity"], e.get("role"), e["value"]) for e in answer["entities"]] == [
        ("city", "from", "Madrid"),
        ("city", "to", "Vienna"),
    ]


def test_what_is_out_of_scope_is_nlu_fallback_and_stands_first(client: TestClient):
    answer = sent(client, {"text": "who won the world cup in 1998"}).json()
    assert answer["intent"]["name"] == "nlu_fallback"
    assert answer["intent_ranking"][0] == answer["intent"]
    assert {ranked["name"] for ranked in answer["intent_ranking"]} == {"nlu_fallback", "fly", "greet"}


@pytest.mark.parametrize("body", [{"text": ""}, {"text": None}, {"message_id": "m"}, {"text": "  "}, {}])
def test_no_text_has_no_intent(client: TestClient, body: dict[str, Any]):
    answer = sent(client, body).json()
    assert answer["intent"] == {"name": None, "confidence": 0.0}
    assert (answer["entities"], answer["intent_ranking"]) == ([], [])


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"", "the body is empty"),
        (b"{", "the body is not JSON"),
        (b"[]", "found JSON of the type list"),
        (b"\xff\xfe", "the body is not JSON"),
        ({"txt": "hello"}, "found 'txt' and no 'text'"),
        ({"text": 7}, "text: found int, expected a string"),
    ],
)
def test_a_body_that_cannot_be_is_told_in_rasas_shape(client: TestClient, body: Any, told: str):
    found = sent(client, body)
    assert found.status_code == 400
    answer = found.json()
    assert set(answer) == {"version", "status", "message", "reason", "details", "help", "code"}
    assert (answer["status"], answer["code"], answer["reason"]) == ("failure", 400, "BadRequest")
    assert told in answer["message"]


def test_greeting_version_and_status(client: TestClient):
    assert client.get("/").text == f"Hello from handful: {__version__}"
    assert client.get("/version").json() == {"version": __version__, "minimum_compatible_version": __version__}
    assert client.get("/status").json() == {
        "model_file": "travel", "model_id": "travel-2", "num_active_training_jobs": 0,
    }  # fmt: skip


def test_each_bot_has_paths_of_its_own(client: TestClient):
    client.post("/v1/bots", json={"name": "second"})
    client.post("/v1/bots/second/examples", json={"examples": [{"intent": "only", "text": "anything"}]})
    assert sent(client, {"text": "fly to Rome"}, "/bots/travel/model/parse").json()["intent"]["name"] == "fly"
    assert sent(client, {"text": "anything"}, "/bots/second/model/parse").json()["intent"]["name"] == "only"
    assert client.get("/bots/second/status").json()["model_id"] == "second-2"
    assert client.get("/bots/second/version").json()["version"] == __version__
    assert sent(client, {"text": "x"}, "/bots/third/model/parse").status_code == 404
    clash = sent(client, {"text": "fly"})
    assert (clash.status_code, clash.json()["reason"]) == (409, "Conflict")
    assert clash.json()["details"] == {"bots": ["second", "travel"]}


def test_a_token_is_taken_from_query_body_or_header(serve: Serve):
    client = serve(token="a long secret")
    client.headers["authorization"] = "Bearer a long secret"
    add_travel(client)
    del client.headers["authorization"]
    assert sent(client, {"text": "hello"}).status_code == 401
    assert sent(client, {"text": "hello", "token": "wrong"}).status_code == 401
    assert sent(client, {"text": "hello", "token": None}).status_code == 401
    assert sent(client, {"text": "hello", "token": "a long secret"}).status_code == 200
    assert sent(client, {"text": "hello"}, token="a long secret").status_code == 200
    assert client.get("/status", params={"token": "a long secret"}).status_code == 200
    assert client.get("/status").status_code == 401


def test_what_buttons_send_is_taken_at_its_word(client: TestClient):
    """Rasa hands `/intent{…}` on to its NLU server, and counts on being understood to the letter."""
    assert sent(client, {"text": "/greet"}).json()["intent"] == {"name": "greet", "confidence": 1.0}
    text = '/fly{"city": "Oslo", "days": [1, 2]}'
    answer = sent(client, {"text": text}).json()
    assert answer["intent"] == {"name": "fly", "confidence": 1.0}
    assert [(e["entity"], e["value"]) for e in answer["entities"]] == [("city", "Oslo"), ("days", 1), ("days", 2)]
    assert text[answer["entities"][0]["start"] : answer["entities"][0]["end"]] == text[4:]
    assert sent(client, {"text": "/restart@0.5"}).json()["intent"] == {"name": "restart", "confidence": 0.5}
    broken = sent(client, {"text": "/fly{city: Oslo}"})
    assert broken.status_code == 400
    assert "are not JSON" in broken.json()["message"]
    for odd in ('/book{"a": NaN}', '/book{"a": 1e999}', '/book{"a": "\\ud800"}', '/book{"a"'):
        assert sent(client, {"text": odd}).status_code in {200, 400}, odd
    assert sent(client, {"text": '/book{"a": NaN}'}).status_code == 400
    assert sent(client, {"text": "/ what now"}).json()["intent"]["name"] != " what now", "a slash alone is a sentence's"


def test_wit(client: TestClient):
    answer = sent(client, {"text": "get me from Madrid to Vienna"}, emulation_mode="WIT").json()
    assert answer["text"] == "get me from Madrid to Vienna"
    assert answer["intents"][0]["name"] == "fly"
    (entity,) = answer["entities"]["city:to"]
    assert entity.pop("confidence") > 0.3
    assert entity == {
        "name": "city", "role": "to", "value": "Vienna", "body": "Vienna", "start": 22, "end": 28, "entities": [],
    }  # fmt: skip
    assert "city:city" in sent(client, {"text": "fly to Boston"}, emulation_mode="WIT").json()["entities"]


def test_luis(client: TestClient):
    answer = sent(client, {"text": "get me from Madrid to Vienna"}, emulation_mode="luis").json()
    assert answer["query"] == "get me from Madrid to Vienna"
    prediction = answer["prediction"]
    assert prediction["normalizedQuery"] == answer["query"]
    assert prediction["topIntent"] == "fly"
    assert set(prediction["intents"]) == {"fly", "greet"}
    assert prediction["intents"]["fly"]["score"] > 0.5
    assert prediction["entities"]["to"] == ["Vienna"]
    (instance,) = prediction["entities"]["$instance"]["from"]
    assert (instance["type"], instance["text"], instance["startIndex"], instance["length"]) == ("city", "Madrid", 12, 6)


def test_dialogflow(client: TestClient):
    answer = sent(client, {"text": "fly to Boston"}, emulation_mode="DIALOGFLOW").json()
    assert len(answer["responseId"]) == 36
    result = answer["queryResult"]
    assert (result["queryText"], result["action"]) == ("fly to Boston", "fly")
    assert result["parameters"] == {"city": ["Boston"]}
    assert result["intent"] == {"name": "fly", "displayName": "fly"}
    assert result["intentDetectionConfidence"] > 0.5


def test_an_unknown_emulation_is_told(client: TestClient):
    found = sent(client, {"text": "hello"}, emulation_mode="ALEXA")
    assert found.status_code == 400
    assert found.json()["details"] == {"parameter": "emulation_mode", "in": "query"}
    assert "WIT, LUIS, DIALOGFLOW" in found.json()["message"]


def test_the_flow_of_rasas_http_interpreter(serve: Serve):
    """Rasa itself cannot be installed beside Python 3.11, so what its client does with `nlu: {url, token}` is done
    here: it posts the text, a message id and the token (null where there is none) as JSON to URL/model/parse, takes any
    answer but 200 for no answer, and reads intent, entities and ranking out of it."""

    def rasa_parses(client: TestClient, url: str, token: str | None, text: str) -> dict[str, Any] | None:
        params = {"token": token, "text": text, "message_id": "0f1e"}
        target = f"{url}model/parse" if url.endswith("/") else f"{url}/model/parse"
        response = client.post(target, json=params)
        return response.json() if response.status_code == 200 else None

    open_server = serve()
    add_travel(open_server)
    for url in ("http://127.0.0.1:5005", "http://127.0.0.1:5005/", "http://127.0.0.1:5005/bots/travel"):
        found = rasa_parses(open_server, url, None, "fly to Oslo")
        assert found is not None
        assert (found["intent"]["name"], found["entities"][0]["value"]) == ("fly", "Oslo")
    guarded = serve(token="a long secret")
    guarded.post("/v1/bots", json={"name": "b"}, headers={"authorization": "Bearer a long secret"})
    assert rasa_parses(guarded, "http://127.0.0.1:5005", "a long secret", "hello") is not None
    assert rasa_parses(guarded, "http://127.0.0.1:5005", "another one", "hello") is None
