"""From what was asked for on the command line to a service that is ready to listen."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from handful.data.bot_settings import BotSettings
from handful.errors import ConfigError
from handful.model.threads import one_blas_thread_for_good
from handful.parser.bot import Bot, load_bot
from handful.parser.models import Model, Progress, model_for
from handful.parser.ready import EXPORTED, read_exported, read_ready, ready_folder
from handful.serve.live import LiveBots, OwnModel
from handful.serve.logs import Log
from handful.serve.security import LOOPBACK, Known, Tokens, is_loopback, summed
from handful.serve.service import Service
from handful.serve.settings import ServeSettings
from handful.serve.store import Store
from handful.serve.store.errors import NoSuchBot
from handful.serve.transfer import change_of

DEFAULT_STORE = "sqlite:///handful.db"
FIXED_TOKEN = "command line"
_UNFIT = "_.-"
_THREADS = 1  # of a forward pass: batches go side by side instead
_SWITCH = (
    0.001  # seconds after which a thread that parses lets the event loop in; Python's five are felt in each answer
)


@dataclass(frozen=True, slots=True)
class BotFile:
    """A bot from a file, and the model that it is parsed with."""

    name: str
    bot: Bot
    own: OwnModel


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for on the command line."""

    settings: ServeSettings
    host: str
    port: int
    bot: Path | None = None
    format: str | None = None
    store: str | None = None
    token: str | None = None


def service_of(asked: Asked, progress: Progress | None = None) -> Service:
    file = None if asked.bot is None else read_bot_file(asked.bot, asked.format, progress)
    where = asked.store or ("sqlite://" if asked.bot is not None else DEFAULT_STORE)
    store = Store.open(where, most_examples=asked.settings.most_examples)
    service = start(store, file, asked.settings, token=asked.token)
    refuse_open(asked.host, service.tokens)
    if asked.settings.default_bot is not None:
        store.stamp(asked.settings.default_bot)  # a misspelt name is told now
    return service


def read_bot_file(path: Path, format_name: str | None, progress: Progress | None) -> BotFile:
    if (path / EXPORTED).is_file():
        bot, model, ready = read_exported(path, _THREADS)
        return BotFile(bot_name(bot.name), bot, OwnModel(model, ready))
    bot = load_bot(path, format_name)
    model = model_for(bot.settings, progress=progress, threads=_THREADS)
    kept = read_ready(ready_folder(path), model.identity)
    ready = kept if kept is not None and kept.is_of(bot) else None
    return BotFile(bot_name(bot.name), bot, OwnModel(model, ready))


def bot_name(file: str) -> str:
    """A file's name as a bot's: what a path of HTTP can say without disguise."""
    safe = "".join(c if c.isascii() and (c.isalnum() or c in _UNFIT) else "-" for c in file).lstrip(_UNFIT)[:80]
    return safe or "bot"


def start(
    store: Store,
    file: BotFile | None,
    settings: ServeSettings,
    *,
    token: str | None = None,
    log: Log | None = None,
    load: Callable[[], Model] | None = None,
) -> Service:
    own: dict[str, OwnModel] = {}
    notes: list[str] = []
    if file is not None:
        own[file.name] = file.own
        notes += [str(warning) for warning in file.bot.document.warnings]
        try:
            store.stamp(file.name)
            notes.append(f"the store has a bot '{file.name}' already: that one is served, and the file is left alone")
        except NoSuchBot:
            store.create(file.name, change_of(file.bot.document), what="from a file", by=None)
        settings = replace(settings, default_bot=settings.default_bot or file.name)
    fixed = [] if token is None else [Known(FIXED_TOKEN, "admin", summed(token))]
    tokens = Tokens(fixed, lambda: [Known(row.name, row.scope, row.sha256) for row in store.tokens()])
    # Where a token is asked for, it does not matter by which name.
    hosts = () if tokens.guarded else tuple(host.lower() for host in (*LOOPBACK, *settings.hosts))
    settings = replace(settings, hosts=hosts)
    one_blas_thread_for_good()
    sys.setswitchinterval(_SWITCH)

    def default_model() -> Model:
        if file is not None and settings.read_only:
            return file.own.model
        return model_for(BotSettings(), threads=_THREADS)

    live = LiveBots(store, load or default_model, own, most=settings.loaded_bots)
    return Service(store, live, tokens, settings, log or Log(with_text=settings.log_text), notes)


def refuse_open(host: str, tokens: Tokens) -> None:
    """Without a token whoever reaches the server may change everything: so nobody but this machine does."""
    if not tokens.guarded and not is_loopback(host):
        raise ConfigError(
            f"--host {host}: found no token, expected one where other machines can reach the server: "
            "`handful store token add NAME`, or HANDFUL_AUTH_TOKEN"
        )
