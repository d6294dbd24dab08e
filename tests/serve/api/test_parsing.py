"""Parse one or many, why, what to annotate next, and what is odd about the bot."""

from __future__ import annotations

from pathlib import Path

from fastapi.testclient import TestClient

from handful.parser.parser import Parser
from handful.serve.settings import ServeSettings
from serve.api.conftest import FLY, GREET, Serve


def test_many_are_parsed_as_one_by_one_and_as_by_the_parser(client: TestClient, tmp_path: Path):
    texts = ["fly to Boston", "", "hello", "who won the world cup in 1998"]
    many = client.post("/v1/bots/travel/parse-many", json={"texts": texts}).json()
    single = [client.post("/v1/bots/travel/parse", json={"text": text}).json() for text in texts]
    assert [{**parse, "version": many["version"]} for parse in many["parses"]] == single
    file = tmp_path / "travel.yml"
    file.write_text(client.get("/v1/bots/travel/export").text, encoding="utf-8")
    own = [parse.as_json() for parse in Parser.load(file).parse_many(texts)]
    assert many["parses"] == own, "what is served is what the parser says"


def test_why(client: TestClient):
    why = client.post("/v1/bots/travel/explain", json={"text": "fly to Boston", "count": 2}).json()
    assert why["parse"]["intent"]["name"] == "fly"
    assert len(why["nearest"]) == 2
    assert why["nearest"][0]["intent"] == "fly"
    assert why["slots"][0]["nearest"][0]["slot"] == "city"
    assert why["runner_up"]["name"] == "greet"
    assert client.post("/v1/bots/travel/explain", json={"text": "", "count": 0}).status_code == 422


def test_what_to_annotate_next_comes_as_the_bot_understands_it(client: TestClient):
    texts = ["fly to Boston", "hi", "HI", "", "good evening to you", "fly to boston"]
    found = client.post("/v1/bots/travel/suggest", json={"texts": texts, "count": 5}).json()
    assert (found["known"], found["repeated"], found["wordless"]) == (2, 1, 1)
    assert {suggestion["text"] for suggestion in found["suggestions"]} == {"fly to Boston", "good evening to you"}
    (flight,) = [s for s in found["suggestions"] if s["text"] == "fly to Boston"]
    assert (flight["intent"], flight["marked"]) == ("fly", "fly to [Boston](city)")


def test_an_empty_bot_explains_nothing_and_cannot_suggest(serve: Serve):
    client = serve()
    client.post("/v1/bots", json={"name": "b"})
    why = client.post("/v1/bots/b/explain", json={"text": "hello"}).json()
    assert (why["nearest"], why["runner_up"], why["parse"]["intent"]["name"]) == ([], None, None)
    refused = client.post("/v1/bots/b/suggest", json={"texts": ["hello"]})
    assert (refused.status_code, refused.json()["reason"]) == (409, "NoExamples")
    health = client.get("/v1/bots/b/check").json()
    assert (health["asked"], health["findings"][0]["message"]) == (0, "the bot has no examples")


def test_check_names_the_example_that_it_speaks_of(client: TestClient):
    body = {"examples": [{"intent": "greet", "text": "fly to Oslo"}]}
    (added,) = client.post("/v1/bots/travel/examples", json=body).json()["examples"]
    health = client.get("/v1/bots/travel/check").json()
    assert health["asked"] == len(FLY) + len(GREET) + 1
    assert health["right"] < health["asked"]
    (finding,) = [f for f in health["findings"] if "the same text under" in f["message"]]
    assert finding["example"] == added["id"]
    assert {"intent": "greet", "other": "fly", "count": 1, "of": 5} in health["confused"]


def test_more_texts_than_a_request_may_have(serve: Serve):
    client = serve(ServeSettings(most_texts=2))
    client.post("/v1/bots", json={"name": "b"})
    assert client.post("/v1/bots/b/parse-many", json={"texts": ["a", "b"]}).status_code == 200
    refused = client.post("/v1/bots/b/parse-many", json={"texts": ["a", "b", "c"]})
    assert refused.json()["message"] == "texts: found 3, expected at most 2"
    assert client.post("/v1/bots/b/parse-many", json={"texts": []}).status_code == 422
