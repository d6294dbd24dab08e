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
    from handful.data.bot_settings import Threshold
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

RuntimeChoice = Annotated[
    Literal["int8", "torch"] | None,
    typer.Option("--runtime", help="ONNX Runtime in int8 (the default), or torch."),
]

DEMO_SENTENCES = (
    "could you reserve a table for seven at The Golden Fork on thursday",
    "how warm will it be in Barcelona next weekend",
    "remind me to pick up the kids at 4 pm",
    "send 35 dollars to Johanna",
    "play some reggae in the bathroom",
    "switch off the radio in the kitchen",
    "when does my package from Happy Paws get here",
    "who won the world cup in 1998",
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
    err.print(f"The starter bot: {len(bot.intents)} intents, {len(bot.slots)} slots, {examples} examples.", style="dim")
    parser = Parser.of(bot, progress=tell)
    _print_parses(parser, texts or DEMO_SENTENCES, as_json=False)


def parse(
    bot: BotPath,
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT]…", help="Sentences; none: one a line from stdin.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON lines, one a sentence.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Tell why: the nearest examples, the runner-up.")] = False,
    threshold: Annotated[
        str | None, typer.Option("--threshold", help="Reject below it: auto, off, or 0 to 1; before the bot's own.")
    ] = None,
    learner: LearnerChoice = "joint_spans",
    runtime: RuntimeChoice = None,
    format_name: FormatName = None,
) -> None:
    """Parse sentences with a bot."""
    from handful.parser.bot import load_bot
    from handful.parser.parser import Parser
    from handful.parser.ready import EXPORTED

    for text in texts or []:
        if not _is_unicode(text):
            raise ConfigError(f"found bytes that are no UTF-8 in the sentence {text!a}")
    if not texts and sys.stdin is None:
        raise ConfigError("there is no sentence: stdin is closed, and none was given")
    if not texts and sys.stdin.isatty():
        err.print("One sentence a line; Ctrl-D ends.", style="dim")
    wanted = None if threshold is None else _threshold(threshold)
    if (bot / EXPORTED).is_file():
        if learner != "joint_spans" or runtime == "torch":
            raise ConfigError(f"{bot}: an exported bot has one model: leave out --learner and --runtime")
        parser = Parser.exported(bot)
    else:
        loaded = load_bot(bot, format_name)
        warn(loaded.document.warnings)
        parser = Parser.of(loaded, bot, learner=learner, runtime=runtime, progress=tell)
    if not parser.can_reject and (wanted is not None or parser.threshold not in ("auto", "off")):
        warn(["this learner cannot tell what is out of scope: the threshold is not used"])
    if wanted is not None:
        parser.threshold = wanted
    if texts:
        _print_parses(parser, texts, as_json, explain)
        return
    for batch in _batches_of_lines(sys.stdin.buffer):
        _print_parses(parser, batch, as_json, explain)


def export(
    bot: BotPath,
    out_folder: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to make.")],
    format_name: FormatName = None,
) -> None:
    """Make a folder that parses with onnxruntime, tokenizers and numpy alone."""
    from handful.parser.bot import load_bot
    from handful.parser.export import export_bot, parser_to_export

    loaded = load_bot(bot, format_name)
    warn(loaded.document.warnings)
    export_bot(parser_to_export(loaded, progress=tell), out_folder, progress=tell)
    size = sum(file.stat().st_size for file in out_folder.rglob("*") if file.is_file())
    out.print(f'{out_folder}: {size / 1e6:.0f} MB; python {out_folder / "parse.py"} "your sentence"')


def tell(step: str) -> None:
    err.print(f"{step} …", style="dim")


def _threshold(text: str) -> Threshold:
    if text in ("auto", "off"):
        return text
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise ConfigError(f"--threshold: found {text!r}, expected auto, off, or a number from 0 to 1")
    return value


def check(
    bot: BotPath,
    strict: Annotated[bool, typer.Option("--strict", help="What is odd counts as an error, too.")] = False,
    model: Annotated[bool, typer.Option(help="Ask the model which intents it takes for each other.")] = True,
    format_name: FormatName = None,
) -> None:
    """Read a bot and tell everything that is wrong or odd about it."""
    from handful.parser.bot import Bot, unused_tuning
    from handful.parser.check_file import check_file
    from handful.types import Prediction

    def predict(loaded: Bot) -> list[Prediction | None] | None:
        from handful.parser.parser import Parser

        try:
            return Parser.of(loaded, bot, progress=tell).leave_one_out()
        except HandfulError as error:  # what the file says is told all the same
            warn([f"{bot}: its model cannot be asked: {error}"])
            return None

    if message := unused_tuning(bot):
        warn([message])
    checked = check_file(bot, format_name, predict if model else None)
    # All of them, however many: whoever checks wants to mend the file once.
    for finding in checked.errors:
        err.print(f"error: {finding}", style="red")
    for finding in checked.oddities:
        err.print(f"warning: {finding}", style="yellow")
    loaded, odd = checked.bot, len(checked.oddities)
    if loaded is not None and not checked.errors:
        out.print(
            f"{bot}: {len(loaded.intents)} intents, {len(loaded.slots)} slots, "
            f"{len(loaded.document.utterances)} examples; {f'{odd} to look at' if odd else 'nothing odd'}"
        )
    else:
        out.print(f"{bot}: {len(checked.errors)} errors{f', {odd} to look at' if odd else ''}")
    if checked.errors or (strict and odd):
        raise typer.Exit(1)


def _print_parses(parser: Parser, texts: Sequence[str], as_json: bool, explain: bool = False) -> None:
    from handful.cli.show import shown_explanation, shown_parse
    from handful.parser.explain import Explanation

    found = [parser.explain(text) for text in texts] if explain else parser.parse_many(texts)
    for one in found:
        if as_json:
            plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
            sys.stdout.write(json.dumps(one.as_json(), ensure_ascii=plain) + "\n")
        else:
            out.print(shown_explanation(one) if isinstance(one, Explanation) else shown_parse(one))
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
