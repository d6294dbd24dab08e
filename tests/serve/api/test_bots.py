"""Bots, examples, intents and versions over HTTP: what is told, and that the next parse knows it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from handful.serve.settings import ServeSettings
from serve.api.conftest import FLY, GREET, Serve


def parsed(client: TestClient, text: str, bot: str = "travel") -> Any:
    return client.post(f"/v1/bots/{bot}/parse", json={"text": text}).json()


def test_an_empty_bot_says_nothing_and_gains_an_intent_with_slots_at_once(serve: Serve):
    client = serve()
    made = client.post("/v1/bots", json={"name": "b"})
    assert (made.status_code, made.json()) == (201, {"version": 1, "examples": []})
    assert parsed(client, "fly to Rome", "b")["intent"] == {"name": None, "confidence": 0.0}
    examples = [{"marked": text} for text in FLY]
    done = client.post("/v1/bots/b/intents", json={"name": "fly", "description": "a flight", "examples": examples})
    assert done.status_code == 201
    assert [example["marked"] for example in done.json()["examples"]] == FLY
    found = parsed(client, "fly to Boston", "b")
    assert (found["version"], found["intent"]["name"]) == (2, "fly")
    assert [(slot["label"], slot["value"]) for slot in found["slots"]] == [("city", "Boston")]


def test_the_starter_bot_parses(serve: Serve):
    client = serve()
    client.post("/v1/bots", json={"name": "b", "starter": True})
    assert parsed(client, "send 35 dollars to Johanna", "b")["intent"]["name"] == "send_money"
    assert client.get("/v1/bots/b").json()["examples"] == 70


def test_bots_are_listed_looked_at_and_deleted(client: TestClient):
    client.post("/v1/bots", json={"name": "empty"})
    listed = client.get("/v1/bots").json()
    assert (listed["default"], listed["read_only"], listed["scope"]) == (None, False, "admin")
    rows = {bot["name"]: (bot["version"], bot["intents"], bot["examples"]) for bot in listed["bots"]}
    assert rows == {"empty": (1, 0, 0), "travel": (2, 2, len(FLY) + len(GREET))}
    view = client.get("/v1/bots/travel").json()
    assert view["intents"] == [
        {"name": "fly", "examples": len(FLY), "description": None},
        {"name": "greet", "examples": len(GREET), "description": None},
    ]
    assert [(slot["label"], slot["role"], slot["examples"]) for slot in view["slots"]] == [
        ("city", None, 3), ("city", "from", 3), ("city", "to", 3),
    ]  # fmt: skip
    assert client.delete("/v1/bots/empty").status_code == 204
    assert client.delete("/v1/bots/empty").status_code == 404
    assert client.get("/v1/bots").json()["default"] == "travel"


def test_a_name_is_taken_once_and_may_be_used_again(client: TestClient):
    assert client.post("/v1/bots", json={"name": "travel"}).status_code == 409
    assert parsed(client, "hello")["intent"]["name"] == "greet"
    client.delete("/v1/bots/travel")
    client.post("/v1/bots", json={"name": "travel"})
    client.post("/v1/bots/travel/examples", json={"examples": [{"intent": "other", "text": "hello"}]})
    assert parsed(client, "hello")["intent"]["name"] == "other", "at version 2, as the bot of that name before it was"


def test_an_example_by_characters_is_as_good_as_a_marked_one(client: TestClient):
    slot = {"slot": "city", "start": 7, "end": 11, "role": "to", "value": "OSL"}
    body = {"examples": [{"intent": "fly", "text": "go now Oslo", "slots": [slot]}]}
    (added,) = client.post("/v1/bots/travel/examples", json=body).json()["examples"]
    assert added["slots"] == [{**slot, "group": None}]
    assert added["marked"] == 'go now [Oslo]{"entity": "city", "value": "OSL", "role": "to"}'
    listed = client.get("/v1/bots/travel/examples", params={"intent": "fly", "limit": 1, "offset": len(FLY)}).json()
    assert (listed["examples"], listed["total"]) == ([added], len(FLY) + 1)


def test_correcting_keeps_the_place_and_removing_makes_room(client: TestClient):
    examples = client.get("/v1/bots/travel/examples").json()["examples"]
    first = examples[0]["id"]
    done = client.put(f"/v1/bots/travel/examples/{first}", json={"intent": "fly", "marked": "off to [Kyiv](city)"})
    assert done.json()["version"] == 3
    after = client.get("/v1/bots/travel/examples").json()["examples"]
    assert [example["text"] for example in after] == ["off to Kyiv", *(example["text"] for example in examples[1:])]
    again = client.put(f"/v1/bots/travel/examples/{first}", json={"intent": "fly", "text": "x"})
    assert (again.status_code, again.json()["reason"]) == (404, "NotFound")
    assert client.delete(f"/v1/bots/travel/examples/{after[0]['id']}").json()["version"] == 4
    assert client.get("/v1/bots/travel/examples").json()["total"] == len(examples) - 1


def test_of_several_examples_all_are_added_or_none(client: TestClient):
    body = {"examples": [{"intent": "fly", "text": "fine"}, {"intent": "fly", "marked": "[Oslo(city)"}]}
    refused = client.post("/v1/bots/travel/examples", json=body)
    assert refused.status_code == 422
    assert refused.json()["message"].startswith("examples.1: a '[' without its ']'")
    assert client.get("/v1/bots/travel").json()["version"] == 2


@pytest.mark.parametrize(
    ("example", "told"),
    [
        ({"intent": "fly"}, "expected either 'text' (with 'slots') or 'marked'"),
        ({"intent": "fly", "text": "a", "marked": "a"}, "expected either"),
        ({"intent": "fly", "text": "a b", "slots": [{"slot": "c", "start": 0, "end": 9}]}, "the text has 3 characters"),
        ({"intent": "fly", "text": "abc", "slots": [{"slot": "c", "start": 0, "end": 2}]}, "cuts the word 'abc'"),
        ({"intent": "fly", "text": "  "}, "at least one word"),
        ({"intent": " ", "text": "a"}, "needs a name"),
        ({"intent": "fly", "text": "a", "slot": []}, "examples.0.slot: is not known here"),
        ({"text": "a"}, "examples.0.intent: is missing"),
        ({"intent": "fly", "text": "a\x00b"}, "NUL"),
        ({"intent": "fly", "text": "\ud800"}, "unable to parse raw data as a unicode string"),
        ({"intent": "fly", "text": "a" * 2001}, "at most 2,000"),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(client: TestClient, example: dict[str, Any], told: str):
    refused = client.post(
        "/v1/bots/travel/examples",
        content=json.dumps({"examples": [example]}),
        headers={"content-type": "application/json"},
    )
    assert refused.status_code == 422
    assert told in refused.json()["message"]
    assert "examples.0" in refused.json()["message"]


def test_intents_are_renamed_described_and_removed(client: TestClient):
    client.patch("/v1/bots/travel/intents/greet", json={"description": "somebody says hello"})
    done = client.patch("/v1/bots/travel/intents/greet", json={"name": "chitchat/hello"})
    assert done.status_code == 200
    assert parsed(client, "hello")["intent"]["name"] == "chitchat/hello"
    intents = client.get("/v1/bots/travel").json()["intents"]
    assert intents[1] == {"name": "chitchat/hello", "examples": 4, "description": "somebody says hello"}
    assert client.patch("/v1/bots/travel/intents/fly", json={"name": "chitchat/hello"}).status_code == 409
    assert client.delete("/v1/bots/travel/intents/chitchat/hello").status_code == 200
    assert [ranked["name"] for ranked in parsed(client, "hello")["intent_ranking"]] == ["fly"]
    assert client.delete("/v1/bots/travel/intents/greet").status_code == 404
    assert client.patch("/v1/bots/travel/intents/greet", json={"name": "x"}).status_code == 404


def test_an_intent_may_wait_for_its_examples(client: TestClient):
    assert client.post("/v1/bots/travel/intents", json={"name": "later"}).status_code == 201
    assert client.post("/v1/bots/travel/intents", json={"name": "later"}).status_code == 409
    assert client.get("/v1/bots/travel/examples", params={"intent": "later"}).json()["total"] == 0
    assert client.get("/v1/bots/travel/examples", params={"intent": "never"}).status_code == 404
    messages = [finding["message"] for finding in client.get("/v1/bots/travel/check").json()["findings"]]
    assert "the intent 'later' has no examples" in messages


def test_the_threshold_is_a_change_like_others(client: TestClient):
    odd = "who won the world cup in 1998"
    assert parsed(client, odd)["rejected"]
    assert client.patch("/v1/bots/travel", json={"threshold": "off"}).json()["version"] == 3
    assert not parsed(client, odd)["rejected"]
    for wrong in (2, -0.1, "none", True, None):
        code = client.patch("/v1/bots/travel", json={"threshold": wrong}).status_code
        assert code == (200 if wrong is None else 422), wrong
    told = client.patch("/v1/bots/travel", json={"descriptions": {"ctiy": "a town"}})
    assert (told.status_code, told.json()["message"]) == (422, "descriptions: the bot has no intent or slot 'ctiy'")
    client.patch("/v1/bots/travel", json={"descriptions": {"city": "a town"}})
    assert client.get("/v1/bots/travel").json()["slots"][0]["description"] == "a town"


def test_versions_are_listed_read_compared_and_restored(client: TestClient):
    client.post("/v1/bots/travel/intents", json={"name": "pay", "examples": [{"text": "pay the bill"}]})
    client.delete("/v1/bots/travel/intents/greet")
    rows = client.get("/v1/bots/travel/versions").json()
    assert rows["version"] == 4
    assert [(row["version"], row["what"]) for row in rows["versions"]] == [
        (4, "removed the intent greet"),
        (3, "added the intent pay"),
        (2, f"added {len(FLY) + len(GREET)} examples of 2 intents"),
        (1, "an empty bot"),
    ]
    older = client.get("/v1/bots/travel/versions", params={"before": 3, "limit": 1}).json()["versions"]
    assert [row["version"] for row in older] == [2]
    difference = client.get("/v1/bots/travel/compare", params={"older": 2, "newer": 4}).json()
    assert [example["text"] for example in difference["added"]] == ["pay the bill"]
    assert [example["text"] for example in difference["removed"]] == GREET
    assert (difference["added_intents"], difference["removed_intents"]) == (["pay"], ["greet"])
    assert client.get("/v1/bots/travel", params={"version": 2}).json()["examples"] == len(FLY) + len(GREET)
    assert client.post("/v1/bots/travel/restore", json={"version": 2}).json() == {"version": 5, "examples": []}
    assert parsed(client, "hello")["intent"]["name"] == "greet"
    assert client.post("/v1/bots/travel/restore", json={"version": 6}).status_code == 404
    assert client.get("/v1/bots/travel", params={"version": 9}).status_code == 404


def test_whoever_has_seen_an_older_version_changes_nothing(client: TestClient):
    away = {"examples": [{"intent": "fly", "text": "away"}]}
    assert client.post("/v1/bots/travel/examples", json=away, params={"expect": 2}).status_code == 201
    refused = client.post("/v1/bots/travel/examples", json=away, params={"expect": 2})
    assert (refused.status_code, refused.json()["reason"]) == (409, "VersionConflict")
    assert refused.json()["details"] == {"version": 3}
    for method, path, body in (
        ("PATCH", "/v1/bots/travel", {"threshold": 0.5}),
        ("POST", "/v1/bots/travel/restore", {"version": 1}),
        ("DELETE", "/v1/bots/travel/intents/fly", None),
    ):
        assert client.request(method, path, json=body, params={"expect": 2}).status_code == 409
    assert client.get("/v1/bots/travel").json()["version"] == 3


def test_too_many_examples_are_refused_whole(serve: Serve):
    client = serve(ServeSettings(most_examples=3))
    client.post("/v1/bots", json={"name": "b"})
    four = {"examples": [{"intent": "a", "text": f"word {n}"} for n in range(4)]}
    refused = client.post("/v1/bots/b/examples", json=four)
    assert (refused.status_code, refused.json()["reason"]) == (413, "TooManyExamples")
    assert client.get("/v1/bots/b").json()["examples"] == 0
    four["examples"].pop()
    assert client.post("/v1/bots/b/examples", json=four).status_code == 201
