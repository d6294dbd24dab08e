"""OpenAPI says what is: whatever is sent, no fault of ours, no status and no shape that is not told."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from handful.serve.settings import ServeSettings
from serve.api.conftest import Serve, add_travel

_SUPPRESSED = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)
CHECKS: tuple[Any, ...] = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
)


@pytest.fixture
def asked(serve: Serve) -> TestClient:
    """Bots by names that a generated request may well have."""
    client = serve(ServeSettings(hosts=("testserver",)))
    add_travel(client)
    for name in ("0", "a"):
        client.post("/v1/bots", json={"name": name, "starter": name == "0"})
    return client


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_whatever_is_asked_is_answered_as_told(asked: TestClient, mode: GenerationMode):
    """Of each operation requests that fit its schema, and requests that do not."""
    schema: Any = schemathesis.openapi.from_asgi("/openapi.json", asked.app)
    seen: Counter[str] = Counter()
    operations = [found.ok() for found in schema.get_all_operations()]
    for operation in operations:
        try:
            _ask(operation, mode, seen)
        except Unsatisfiable:  # an operation that takes nothing cannot be asked wrongly
            assert mode is GenerationMode.NEGATIVE
    assert len(operations) >= 25
    assert seen["5"] == 0
    assert seen["2" if mode is GenerationMode.POSITIVE else "4"] > 50, seen


def _ask(operation: Any, mode: GenerationMode, seen: Counter[str]) -> None:
    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(max_examples=10, deadline=None, derandomize=True, database=None, suppress_health_check=_SUPPRESSED)
    def ask(case: schemathesis.Case) -> None:
        # Half of the time a bot and an intent that are there: what is made up is hardly ever the name of one.
        for part, known in (("bot", "travel"), ("intent", "fly")):
            if part in case.path_parameters and len(str(case.body)) % 2:
                case.path_parameters[part] = known
        response = case.call()
        seen[str(response.status_code)[0]] += 1
        case.validate_response(response, checks=list(CHECKS))

    ask()


def test_every_path_has_its_failures_and_a_way_to_say_who_asks(asked: TestClient):
    told = asked.get("/openapi.json").json()
    assert told["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"
    own = {path: methods for path, methods in told["paths"].items() if path.startswith("/v1/bots")}
    assert len(own) >= 12
    for path, methods in own.items():
        for method, operation in methods.items():
            where = f"{method} {path}"
            assert {"401", "403", "404", "422", "503"} <= set(operation["responses"]), where
            assert operation["security"] == [{"HTTPBearer": []}], where
            assert operation["summary"], where
