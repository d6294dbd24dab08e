"""The application: endpoints, the gate in front of them, and errors told in one shape."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio.to_thread
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from starlette.exceptions import HTTPException

from handful import __version__
from handful.errors import HandfulError
from handful.serve import bots, examples, operations, parsing, rasa, transfer, versions
from handful.serve.gate import Gate
from handful.serve.refusals import Refusal, refusal_of
from handful.serve.service import Service, known_caller, plain

_BEARER = "HTTPBearer"
_MOST_TOLD = 10  # of the values that do not fit
_REASONS = {404: "NotFound", 405: "MethodNotAllowed"}


def create_app(service: Service) -> FastAPI:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_load_model, service)
                yield
                tasks.cancel_scope.cancel()
        finally:
            await service.stop()

    app = FastAPI(
        title="handful",
        version=__version__,
        description="Bots that know intents and slots from a handful of examples, and learn by being told.",
        lifespan=lifespan,
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        openapi_url="/openapi.json",
        # A path with a slash too many is no path here: it might be a bot's, where an intent's was meant.
        redirect_slashes=False,
    )
    app.state.service = service
    app.add_exception_handler(HandfulError, _told)
    app.add_exception_handler(RequestValidationError, _unfit)
    app.add_exception_handler(HTTPException, _http)
    for part in (parsing, rasa, bots, examples, versions, transfer, operations):  # the first is asked most
        app.include_router(part.routes)
    app.add_middleware(
        Gate, settings=service.settings, metrics=service.metrics, log=service.log, admit=partial(_admit, service)
    )
    if service.settings.origins:  # outside the gate: a page that is let in may read its refusals, too
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(service.settings.origins),
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type"],
            expose_headers=["X-Request-ID", "X-Handful-Version", "X-Handful-Not-Written"],
        )
    app.openapi = _with_tokens(app)
    return app


def _with_tokens(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """OpenAPI, with a word on tokens for whatever may answer 401. Told here and not by a dependency of each endpoint,
    which would cost every parse a tenth of a millisecond."""
    plain_openapi = app.openapi

    def openapi() -> dict[str, Any]:
        told = plain_openapi()
        schemes = told.setdefault("components", {}).setdefault("securitySchemes", {})
        schemes[_BEARER] = {"type": "http", "scheme": "bearer", "description": "A token of `handful store token add`."}
        for methods in told["paths"].values():
            for operation in methods.values():
                if "401" in operation["responses"]:
                    operation["security"] = [{_BEARER: []}]
        return told

    return openapi


async def _admit(service: Service, token: str | None) -> None:
    """Before a body is read: whoever may not come in is not listened to."""
    await known_caller(service, token)


async def _load_model(service: Service) -> None:
    """Before the first sentence comes; until then /readyz says so."""
    try:
        model = await anyio.to_thread.run_sync(service.live.model, abandon_on_cancel=True)
    except HandfulError as error:
        service.live.failed = True
        service.log.event("model", problem=str(error))
    except Exception as error:
        service.live.failed = True
        service.log.fault(error)
    else:
        service.metrics.model.labels(model.identity).set(1)
        service.log.event("model", identity=model.identity)


def _answer(request: Request, refusal: Refusal) -> Response:
    request.state.reason = refusal.reason
    answer = plain(refusal.as_json(), refusal.status)
    answer.headers.update(refusal.headers)
    return answer


async def _told(request: Request, error: Exception) -> Response:
    assert isinstance(error, HandfulError)
    refusal = refusal_of(error)
    if refusal is not error and refusal.status >= 500:
        request.app.state.service.log.event("trouble", kind=type(error).__name__, message=str(error))
    return _answer(request, refusal)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    reason = _REASONS.get(error.status_code, "BadRequest")
    message = f"there is nothing at {request.url.path[:200]}" if error.status_code == 404 else str(error.detail)
    answer = _answer(request, Refusal(error.status_code, reason, message))
    answer.headers.update(error.headers or {})
    return answer


async def _unfit(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    if any(one["type"] == "json_invalid" for one in found):
        told = found[0].get("ctx", {}).get("error", "it does not end")
        return _answer(request, Refusal(400, "BadRequest", f"the body is not JSON: {told}"))
    if any(one["type"] == "model_attributes_type" and len(one["loc"]) == 1 for one in found):
        return _answer(
            request, Refusal(422, "Unprocessable", "the body is no JSON object with Content-Type: application/json")
        )
    problems = [{"field": _field(one["loc"]), "message": _in_words(one)} for one in found[:_MOST_TOLD]]
    message = "; ".join(f"{p['field']}: {p['message']}" if p["field"] else p["message"] for p in problems)
    return _answer(request, Refusal(422, "Unprocessable", message, details={"problems": problems}))


def _field(place: Sequence[int | str]) -> str:
    """'body.examples.0.text' without where it was looked for."""
    return ".".join(str(part) for part in place[1:])


def _in_words(problem: dict[str, Any]) -> str:
    match problem["type"]:
        case "missing":
            return "is missing"
        case "extra_forbidden":
            return "is not known here"
        case _:
            return str(problem["msg"]).removeprefix("Value error, ").replace("Input should", "should")
