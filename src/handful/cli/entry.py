"""The commands, and how errors are told: one readable line each, exit code 1 or 2, a traceback only with --debug."""

from __future__ import annotations

import io
import os
import sys
import warnings

import typer

from handful.cli import (
    bench,
    bots,
    corpora,
    evaluate,
    report,
    research,
    serve,
    store,
    suggest,
    sweep,
    test_bot,
    train,
)
from handful.cli.console import err, warn
from handful.errors import ConfigError, HandfulError

# Typer carries a click of its own in some versions and depends on one in others; this is the right class in both.
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name="handful",
    help="A handful of annotated utterances in, a working intent-and-slot parser out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(bots.demo)
app.command("parse")(bots.parse)
app.command("check")(bots.check)
app.command("test")(test_bot.test)
app.command("suggest")(suggest.suggest)
app.command("export")(bots.export)
app.command("serve")(serve.serve)
app.add_typer(store.app, name="store")
app.command("train")(train.train)
app.command("sweep")(sweep.sweep)
app.command("evaluate")(evaluate.evaluate)
app.command("bench")(bench.bench)
app.command("report")(report.report)
app.command("episodes")(research.episodes)
app.add_typer(corpora.app, name="data")


def _show_version(wanted: bool) -> None:
    if wanted:
        from handful import __version__

        typer.echo(f"handful {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version."),
    debug: bool = typer.Option(False, "--debug", help="Show the traceback of an error (anywhere on the line)."),
) -> None:
    """Options before the command."""


def main(arguments: list[str] | None = None) -> None:
    debug, words = _take_debug(list(sys.argv[1:] if arguments is None else arguments))
    _prepare_streams()
    warnings.showwarning = _tell_warning
    try:
        sys.exit(app(words or ["--help"], standalone_mode=False))
    except _UsageError as error:
        if debug:
            raise
        told = " ".join(getattr(error, "format_message", error.__str__)().split())
        command = getattr(getattr(error, "ctx", None), "command_path", "handful")
        err.print(f"error: {told} (`{command} --help` shows how)", style="red")
        sys.exit(2)
    except HandfulError as error:
        if debug:
            raise
        for line in str(error).split("\n"):
            err.print(f"error: {line}", style="red")
        sys.exit(2 if isinstance(error, ConfigError) else 1)
    except OSError as error:
        # A full disk, a path that is too long, a folder that may not be read: the system's own words say it best.
        if debug:
            raise
        err.print(f"error: {f'{error.filename}: ' if error.filename else ''}{error.strerror or error}", style="red")
        sys.exit(1)
    except Exception as error:
        if debug:
            raise
        err.print(f"error: {type(error).__name__}: {error}", style="red")
        err.print("this is a fault in handful; --debug shows where it happened")
        sys.exit(1)


def _tell_warning(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """In a line, as everything else; what is to change in a library one day is for programmers alone."""
    if not issubclass(category, (DeprecationWarning, PendingDeprecationWarning, FutureWarning)):
        warn([str(message)])


def _prepare_streams() -> None:
    """Closed streams and terminals without Unicode are no reason to fail."""
    sys.stdout = sys.stdout or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    sys.stderr = sys.stderr or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _take_debug(words: list[str]) -> tuple[bool, list[str]]:
    """--debug is understood behind the command too, where people type it; after `--` it is text."""
    end = words.index("--") if "--" in words else len(words)
    options = [word for word in words[:end] if word != "--debug"]
    return len(options) < end, options + words[end:]
