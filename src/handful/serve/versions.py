"""/v1/bots/{bot}/versions: what a bot was, what changed, and back again."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from handful.serve.answers import Changed, Comparison, Versions
from handful.serve.asked import Restoring
from handful.serve.convert import changed_json, example_json
from handful.serve.service import Expect, Here, Reader, Writer, failures

routes = APIRouter(prefix="/v1/bots/{bot}", tags=["versions"])
_Number = Annotated[int, Query(ge=1, le=2**31 - 1)]


@routes.get("/versions", response_model=Versions, responses=failures())
def versions(
    bot: str,
    service: Here,
    caller: Reader,
    before: Annotated[int | None, Query(ge=1, le=2**31 - 1, description="Older ones than this.")] = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> dict[str, Any]:
    """From the newest down: when it was made, by which token, and what was done."""
    stamp = service.store.stamp(bot)
    return {
        "version": stamp.version,
        "versions": [
            {"version": row.number, "made": row.made.isoformat(), "by": row.by, "what": row.what}
            for row in service.store.versions(bot, before=before, limit=limit)
        ],
    }


@routes.get("/compare", response_model=Comparison, responses=failures())
def compare(bot: str, older: _Number, newer: _Number, service: Here, caller: Reader) -> dict[str, Any]:
    """What came and what went between two versions."""
    found = service.store.compare(bot, older, newer)
    return {
        "older": older,
        "newer": newer,
        "added": [example_json(example) for example in found.added],
        "removed": [example_json(example) for example in found.removed],
        "added_intents": list(found.added_intents),
        "removed_intents": list(found.removed_intents),
        "changed": list(found.changed),
    }


@routes.post("/restore", response_model=Changed, responses=failures(409, 507))
def restore(bot: str, given: Restoring, service: Here, caller: Writer, expect: Expect = None) -> dict[str, Any]:
    """The bot becomes what it was: a new version, so that this can be undone as well."""
    done = service.store.restore(bot, given.version, by=caller.name, expect=expect)
    service.metrics.changes.inc()
    return changed_json(done)
