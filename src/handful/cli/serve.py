"""The command that serves bots over HTTP."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from handful.cli.bots import FormatName, tell
from handful.cli.console import err, warn
from handful.errors import ConfigError

if TYPE_CHECKING:
    from handful.serve.service import Service
    from handful.serve.settings import ServeSettings
    from handful.serve.start import Asked


def serve(
    bot: Annotated[
        Path | None, typer.Option("--bot", help="Serve this bot's file: read-only, unless a store is given.")
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            envvar="HANDFUL_STORE",
            show_envvar=True,
            help="Where bots are kept: a file of SQLite, or postgresql://… handful.db, where no --bot is given.",
        ),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0: any that is free.")] = 5005,
    default: Annotated[
        str | None, typer.Option("--default", help="The bot of Rasa's paths, where there are several.")
    ] = None,
    auth_token: Annotated[
        str | None,
        typer.Option(
            "--auth-token", envvar="HANDFUL_AUTH_TOKEN", show_envvar=True, help="A token that may do everything."
        ),
    ] = None,
    origins: Annotated[
        list[str] | None, typer.Option("--allow-origin", help="A site whose pages may call this server; repeatable.")
    ] = None,
    hosts: Annotated[
        list[str] | None, typer.Option("--allow-host", help="Without tokens: another name of this machine; repeatable.")
    ] = None,
    processes: Annotated[
        int, typer.Option("--processes", min=1, max=64, help="That share the port and the store.")
    ] = 1,
    in_flight: Annotated[int, typer.Option("--in-flight", min=1, help="Requests at a time; more get a 503.")] = 128,
    max_body: Annotated[int, typer.Option("--max-body", min=1000, help="Bytes of a request.")] = 2_000_000,
    max_import: Annotated[int, typer.Option("--max-import", min=1000, help="Bytes of an imported file.")] = 20_000_000,
    max_text: Annotated[int, typer.Option("--max-text", min=1, help="Characters of a sentence.")] = 2_000,
    max_examples: Annotated[int, typer.Option("--max-examples", min=1, help="Examples of a bot.")] = 20_000,
    window_ms: Annotated[
        float, typer.Option("--window-ms", min=0, max=1000, help="A sentence waits so long for others to join it.")
    ] = 2.0,
    log_text: Annotated[bool, typer.Option("--log-text", help="Log what people say, too.")] = False,
    format_name: FormatName = None,
) -> None:
    """Serve bots over HTTP: Rasa's contract, handful's own, and a playground for the browser."""
    refuse_missing()
    from handful.serve.settings import ServeSettings
    from handful.serve.start import Asked

    settings = ServeSettings(
        default_bot=default,
        read_only=bot is not None and store is None,
        most_in_flight=in_flight,
        most_body=max_body,
        most_import=max_import,
        most_text=max_text,
        most_examples=max_examples,
        window=window_ms / 1000,
        origins=_origins(origins or []),
        hosts=(host, *(hosts or ())),
        log_text=log_text,
    )
    if auth_token is not None and len(auth_token) < 8:
        raise ConfigError("--auth-token: found fewer than 8 characters, expected a token that nobody can guess")
    _listen(Asked(settings, host, port, bot, format_name, store, auth_token), processes)


def _origins(given: list[str]) -> tuple[str, ...]:
    for origin in given:
        if not re.fullmatch(r"https?://[^/*\s]+/?", origin):
            raise ConfigError(f"--allow-origin: found {origin!r}, expected a site such as https://bots.example")
    return tuple(origin.rstrip("/") for origin in given)


def _listen(asked: Asked, processes: int) -> None:
    from handful.serve.listening import Processes, bound, listen, reserved
    from handful.serve.start import service_of

    service = service_of(asked, tell)
    warn(service.notes)
    with (reserved if processes > 1 else bound)(asked.host, asked.port) as listening:
        port = listening.getsockname()[1]
        _introduce(service, asked.host, port)
        if processes == 1:
            listen(service, listening)
        else:
            service.store.close()
            Processes(replace(asked, port=port, settings=_share(asked.settings, processes)), processes).run()


def _share(settings: ServeSettings, processes: int) -> ServeSettings:
    """Of each process, so that together they are what was asked for."""
    return replace(
        settings,
        most_in_flight=math.ceil(settings.most_in_flight / processes),
        workers=max(1, math.ceil(settings.workers / processes)),
    )


def _introduce(service: Service, host: str, port: int) -> None:
    shown = f"[{host}]" if ":" in host else host
    where = f"http://{shown}:{port}"
    rows = service.store.bots()
    kept = "read-only" if service.settings.read_only else f"kept in {service.store.url}"
    err.print(f"{where}: {_listed([row.name for row in rows])}, {kept}")
    if not service.tokens.guarded:
        err.print("no token is set: this machine alone is listened to, and may do everything", style="dim")


def _listed(bots: list[str]) -> str:
    if not bots:
        return "no bot yet: open this address in a browser, or POST /v1/bots"
    more = f" and {len(bots) - 5} more" if len(bots) > 5 else ""
    return f"serving {', '.join(bots[:5])}{more}"


def refuse_missing() -> None:
    """An optional part, told by its name."""
    from importlib.util import find_spec

    missing = [
        name for name in ("fastapi", "uvicorn", "sqlalchemy", "alembic", "prometheus_client") if find_spec(name) is None
    ]
    if missing:
        raise ConfigError(f"serving needs {', '.join(missing)}: pip install 'handful[serve]'")
