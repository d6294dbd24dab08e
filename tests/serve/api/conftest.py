from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from fastapi.testclient import TestClient

from handful.data.bot_settings import BotSettings
from handful.parser.models import Model, model_for
from handful.serve.app import create_app
from handful.serve.logs import Log
from handful.serve.settings import ServeSettings
from handful.serve.start import start
from handful.serve.store import Store

Serve = Callable[..., TestClient]


def _from_to(start: str, end: str) -> str:
    return f'get me from [{start}]{{"entity": "city", "role": "from"}} to [{end}]{{"entity": "city", "role": "to"}}'


FLY = [
    "fly to [Oslo](city)",
    "a flight to [Rome](city) please",
    "i want to fly to [Lisbon](city)",
    _from_to("Paris", "Bonn"),
    _from_to("Oslo", "Rome"),
    _from_to("Berlin", "Prague"),
]
GREET = ["hello there", "good morning", "hi", "hey you"]


@pytest.fixture(scope="session")
def model() -> Model:
    """The real one, loaded once: a server's own start is tested elsewhere."""
    return model_for(BotSettings())


@pytest.fixture
def serve(model: Model) -> Iterator[Serve]:
    """A server in this process, on a store in memory; it is left alone when the test ends."""
    with ExitStack() as open_clients:

        def served(
            settings: ServeSettings | None = None,
            *,
            token: str | None = None,
            store: Store | None = None,
            log: io.StringIO | None = None,
        ) -> TestClient:
            settings = settings or ServeSettings()
            store = store or Store.open("sqlite://", most_examples=settings.most_examples)
            service = start(store, None, settings, token=token, log=Log(log or io.StringIO()), load=lambda: model)
            client = TestClient(create_app(service), base_url="http://127.0.0.1:5005", raise_server_exceptions=False)
            return open_clients.enter_context(client)

        yield served


@pytest.fixture
def client(serve: Serve) -> TestClient:
    """Of a server with the bot `travel`."""
    client = serve()
    add_travel(client)
    return client


def add_travel(client: TestClient) -> None:
    assert client.post("/v1/bots", json={"name": "travel"}).status_code == 201
    examples = [{"intent": "fly", "marked": text} for text in FLY] + [{"intent": "greet", "text": t} for t in GREET]
    assert client.post("/v1/bots/travel/examples", json={"examples": examples}).status_code == 201
