"""The commands, and how errors are told: one readable line each, exit code 1 or 2, a traceback only with --debug."""

from __future__ import annotations

import os
import sys

import click
import typer

from handful.cli import bots, corpora, research
from handful.cli.console import err
from handful.errors import ConfigError, HandfulError

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
app.command("evaluate")(research.evaluate)
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
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug, words = _take_debug(words)
    sys.exit(_run(words, debug))


def _take_debug(words: list[str]) -> tuple[bool, list[str]]:
    """--debug is understood behind the command too, where people type it; after `--` it is text."""
    end = words.index("--") if "--" in words else len(words)
    options = [word for word in words[:end] if word != "--debug"]
    return len(options) < end, options + words[end:]


def _run(words: list[str], debug: bool) -> int:
    try:
        result = app(words, standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        err.print("interrupted")
        return 130
    except BrokenPipeError:
        # The reader of our output has gone, as `head` does: nothing is wrong. Python would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except HandfulError as error:
        if debug:
            raise
        for line in str(error).split("\n"):
            err.print(f"error: {line}", style="red")
        return 2 if isinstance(error, ConfigError) else 1
    except Exception as error:
        if debug:
            raise
        err.print(f"error: {type(error).__name__}: {error}", style="red")
        err.print("this is a fault in handful; --debug shows where it happened")
        return 1
