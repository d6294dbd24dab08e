"""What operators and browsers ask for: is it alive, is it ready, how is it doing; and the playground's files."""

from __future__ import annotations

from importlib import resources
from typing import Literal

import anyio.to_thread
from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from handful import __version__
from handful.serve.answers import Told
from handful.serve.refusals import Refusal
from handful.serve.security import bearer, require
from handful.serve.service import Here, failures, known_caller

routes = APIRouter(tags=["operations"])
_KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


class State(Told):
    state: Literal["ready", "alive"]


@routes.head("/healthz", include_in_schema=False)
@routes.get("/healthz", response_model=State)
async def alive() -> dict[str, str]:
    """The process answers."""
    return {"state": "alive"}


@routes.head("/readyz", include_in_schema=False)
@routes.get("/readyz", response_model=State, responses={503: failures()[503]})
async def ready(service: Here) -> dict[str, str]:
    """Send sentences here: the model is loaded, and the store can be reached."""
    if service.live.failed:
        raise Refusal(503, "NoModel", "the model cannot be loaded: the server's log says why")
    if not service.live.ready:
        raise Refusal(503, "Loading", "the model is being loaded", retry_after=1)
    await anyio.to_thread.run_sync(service.store.ping)
    return {"state": "ready"}


@routes.get(
    "/metrics",
    response_class=PlainTextResponse,
    responses={status: told for status, told in failures().items() if status in {401, 403, 503}},
)
async def metrics(request: Request, service: Here) -> Response:
    """For Prometheus. Where there are tokens, one is needed."""
    require(await known_caller(service, bearer(request.headers.get("authorization"))), "read")
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


@routes.head("/", include_in_schema=False)
@routes.get("/", include_in_schema=False)
async def home(request: Request) -> Response:
    """A person gets the playground, a program Rasa's greeting."""
    if "text/html" in request.headers.get("accept", ""):
        return _file("index.html")
    return PlainTextResponse(f"Hello from handful: {__version__}", headers={"vary": "accept"})


@routes.get("/page/{name}", include_in_schema=False)
async def page(name: str) -> Response:
    return _file(name)


def _read_page() -> dict[str, bytes]:
    """All of it, once: what is not in here cannot be asked for."""
    folder = resources.files("handful.serve") / "page"
    return {
        entry.name: entry.read_bytes()
        for entry in folder.iterdir()
        if entry.is_file() and _kind(entry.name) is not None
    }


def _kind(name: str) -> str | None:
    return next((kind for ending, kind in _KINDS.items() if name.endswith(ending)), None)


_PAGE = _read_page()


def _file(name: str) -> Response:
    if name not in _PAGE:
        raise Refusal(404, "NotFound", f"there is no page file '{name[:80]}'")
    # Asked for again each time: a page of yesterday must not speak to a server of today.
    headers = {"cache-control": "no-cache", "vary": "accept"}
    return Response(_PAGE[name], media_type=f"{_kind(name)}; charset=utf-8", headers=headers)
