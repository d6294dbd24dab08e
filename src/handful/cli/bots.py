"""Commands for bot-builders: demo, parse, check."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, Literal

import typer

from handful.cli.console import err, out, warn
from handful.errors import ConfigError, DataError, HandfulError, Place

if TYPE_CHECKING:
    from handful.parser.parser import Parser

BotPath = Annotated[Path, typer.Argument(metavar="BOT", help="The bot: a file or folder in any format we read.")]
FormatName = Annotated[
    str | None, typer.Option("--format", help="The bot's format, where its content leaves that open.")
]
# Spelt out, so that --help need not import the learners; a test keeps the two in step.
LearnerChoice = Annotated[
    Literal["joint_spans", "prototypes"],
    typer.Option("--learner", help="The method: the trained one that comes with handful, or the untrained one."),
]

DEMO_SENTENCES = (
    "could you reserve a table for seven at The Golden Fork on thursday",
    "how warm will it be in Barcelona next weekend",
    "remind me to pick up the kids at 4 pm",
    "send 35 dollars to Johanna",
    "play some reggae in the bathroom",
    "switch off the radio in the kitchen",
    "when does my package from Happy Paws get here",
)


def demo(
    texts: Annotated[list[str] | None, typer.Argument(metavar="[TEXT]…", help="Your own sentences.")] = None,
    save: Annotated[Path | None, typer.Option("--save", help="Write the starter bot to this file.")] = None,
) -> None:
    """Build a parser from the starter bot and parse sentences that it has never seen."""
    from handful.parser.bot import starter_bot, starter_text
    from handful.parser.parser import Parser

    if save is not None:
        _save_new(save, starter_text())
        out.print(f'The starter bot is in {save}. Change it, then: handful parse {save} "your sentence"')
        return
    bot = starter_bot()
    examples = len(bot.document.utterances)
    err.print(
        f"The starter bot: {len(bot.intents)} intents, {len(bot.slots)} slots, {examples} examples. "
        "Loading the encoder …",
        style="dim",
    )
    from handful.training.shipped import ready_learner

    parser = Parser(bot, ready_learner("joint_spans"))
    _print_parses(parser, texts or DEMO_SENTENCES, as_json=False)


def parse(
    bot: BotPath,
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT]…", help="Sentences; none: one a line from stdin.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON lines, one a sentence.")] = False,
    learner: LearnerChoice = "joint_spans",
    tuned: Annotated[bool, typer.Option(help="Use the bot's tuned version, where it has one.")] = True,
    format_name: FormatName = None,
) -> None:
    """Parse sentences with a bot."""
    from handful.parser.bot import load_bot
    from handful.parser.parser import Parser

    for text in texts or []:
        if not _is_unicode(text):
            raise ConfigError(f"found bytes that are no UTF-8 in the sentence {text!a}")
    if not texts and sys.stdin is None:
        raise ConfigError("there is no sentence: stdin is closed, and none was given")
    if not texts and sys.stdin.isatty():
        err.print("One sentence a line; Ctrl-D ends.", style="dim")
    loaded = load_bot(bot, format_name)
    warn(loaded.document.warnings)
    parser = Parser.of(loaded, bot, learner=learner, tuned=tuned)
    if parser.tuning is not None and parser.tuning_is_stale:
        newer = parser.tuning.newer(loaded.document.utterances)
        warn([f"{bot}: its examples have changed since it was tuned ({newer} new): `handful tune {bot}` tunes anew"])
    if texts:
        _print_parses(parser, texts, as_json)
        return
    for batch in _batches_of_lines(sys.stdin.buffer):
        _print_parses(parser, batch, as_json)


def check(bot: BotPath, format_name: FormatName = None) -> None:
    """Read a bot and tell everything that is wrong or odd about it."""
    from handful.parser.bot import load_bot
    from handful.parser.check import findings

    loaded = load_bot(bot, format_name)
    warn(loaded.document.warnings)
    odd = findings(loaded)
    warn(f"{bot}: {finding}" for finding in odd)
    found = len(loaded.document.warnings) + len(odd)
    utterances = loaded.document.utterances
    out.print(
        f"{bot}: {len(loaded.intents)} intents, {len(loaded.slots)} slots, {len(utterances)} examples; "
        f"{f'{found} to look at' if found else 'nothing odd'}"
    )


def _print_parses(parser: Parser, texts: Sequence[str], as_json: bool) -> None:
    from handful.cli.show import shown_parse

    for parsed in parser.parse_many(texts):
        if as_json:
            plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
            sys.stdout.write(json.dumps(parsed.as_json(), ensure_ascii=plain) + "\n")
        else:
            out.print(shown_parse(parsed))
    sys.stdout.flush()


def _batches_of_lines(stream: BinaryIO) -> Iterator[list[str]]:
    """Whole lines, as many as have arrived: a file goes in large batches, a pipe that waits is answered at once."""
    number, rest = 0, b""
    read = getattr(stream, "read1", stream.read)
    while True:
        block = read(1 << 16)
        *lines, rest = (rest + block).split(b"\n")
        if not block and rest:
            lines, rest = [rest], b""
        if lines:
            yield [_decoded(line, number + offset) for offset, line in enumerate(lines, 1)]
            number += len(lines)
        if not block:
            return


def _is_unicode(text: str) -> bool:
    """False for an argument in which the shell passed bytes that the locale could not decode."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _decoded(line: bytes, number: int) -> str:
    try:
        return line.decode("utf-8").removesuffix("\r")
    except UnicodeDecodeError as error:
        found = line[error.start : error.start + 1].hex()
        raise DataError.at(Place(Path("<stdin>"), number), f"found the byte 0x{found}, expected UTF-8") from None


def _save_new(path: Path, text: str) -> None:
    if path.exists() or path.is_symlink():
        raise HandfulError(f"{path} is already there and was left as it is: choose another name")
    from handful.data.formats.files import write_text

    write_text(path, text)
