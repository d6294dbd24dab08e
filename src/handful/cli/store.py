"""Commands on the store of a server: backups, tokens, what is in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from handful.cli.console import err, out
from handful.cli.serve import refuse_missing
from handful.errors import HandfulError

if TYPE_CHECKING:
    from handful.serve.store import Store

app = typer.Typer(help="The store of a server: backups, tokens, bots.", no_args_is_help=True)
token_app = typer.Typer(help="Who may call a server.", no_args_is_help=True)
app.add_typer(token_app, name="token")

Where = Annotated[
    str,
    typer.Option("--store", envvar="HANDFUL_STORE", show_envvar=True, help="A file of SQLite, or postgresql://… ."),
]
_DEFAULT = "sqlite:///handful.db"


@app.command("backup")
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="To be made, such as handful.backup.gz.")],
    store: Where = _DEFAULT,
) -> None:
    """Write everything to one file, while servers go on."""
    from handful.serve.store import backup as made

    _refuse_there(file)
    with _opened(store, create=False) as opened:
        out.print(f"{file}: {_counted(made(opened, file))}")


@app.command("restore")
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="That `handful store backup` made.")],
    store: Where = _DEFAULT,
) -> None:
    """Read such a file into an empty store, of the same kind or the other."""
    from handful.serve.store import restore_backup

    if not file.is_file():
        raise HandfulError(f"{file}: there is no such file")
    with _opened(store, create=True) as opened:
        out.print(f"{opened.url}: {_counted(restore_backup(opened, file))}")


@app.command("bots")
def bots(store: Where = _DEFAULT) -> None:
    """List the bots."""
    with _opened(store, create=False) as opened:
        rows = opened.bots()
        for row in rows:
            changed = row.changed.strftime("%Y-%m-%d %H:%M")
            out.print(
                f"{row.name}  version {row.version}, {row.intents} intents, {row.examples} examples, {changed} UTC"
            )
    if not rows:
        err.print("there is no bot yet", style="dim")


@token_app.command("add")
def add_token(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose it is: it stands in logs and histories.")],
    scope: Annotated[
        Literal["read", "write", "admin"],
        typer.Option("--scope", help="read: parse and look; write: change bots; admin: make and delete them."),
    ] = "read",
    store: Where = _DEFAULT,
) -> None:
    """Make a token. It is shown once: what is kept is its sum."""
    with _opened(store, create=True) as opened:
        token = opened.add_token(name, scope)
    err.print(f"the token of '{name}', with the scope {scope}; it cannot be shown again:", style="dim")
    out.print(token)


@token_app.command("list")
def list_tokens(store: Where = _DEFAULT) -> None:
    """List names and scopes."""
    with _opened(store, create=False) as opened:
        rows = opened.tokens()
        for row in rows:
            out.print(f"{row.name}  {row.scope}, made {row.made.strftime('%Y-%m-%d %H:%M')} UTC")
    if not rows:
        err.print("there is no token: servers on this store listen to their own machine alone", style="dim")


@token_app.command("remove")
def remove_token(name: Annotated[str, typer.Argument(metavar="NAME")], store: Where = _DEFAULT) -> None:
    """Take a token away. Servers that run forget it within a second."""
    with _opened(store, create=False) as opened:
        opened.remove_token(name)
    out.print(f"'{name}' is gone")


@contextmanager
def _opened(url: str, *, create: bool) -> Iterator[Store]:
    refuse_missing()
    from handful.serve.store import Store

    store = Store.open(url, create=create)
    try:
        yield store
    finally:
        store.close()


def _refuse_there(file: Path) -> None:
    if file.exists() or file.is_symlink():
        raise HandfulError(f"{file} is already there and was left as it is: choose another name")


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in counts.items()) or "nothing in it"
