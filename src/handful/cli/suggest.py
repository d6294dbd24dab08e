"""The command that says what to annotate next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from handful.cli.bots import BotPath, FormatName, LearnerChoice, tell
from handful.cli.console import err, out, warn
from handful.errors import HandfulError

if TYPE_CHECKING:
    from handful.parser.suggest import Suggestions


def suggest(
    bot: BotPath,
    pool: Annotated[Path, typer.Option("--pool", help="Sentences that people said, one a line.")],
    count: Annotated[int, typer.Option("--count", min=1, help="How many to suggest.")] = 20,
    output: Annotated[
        Path | None, typer.Option("--output", help="Write them to this new YAML file, annotated as predicted, to edit.")
    ] = None,
    learner: LearnerChoice = "joint_spans",
    format_name: FormatName = None,
) -> None:
    """Say which sentences to annotate next: those that the bot is least sure of, and that differ from each other."""
    from handful.data.formats.files import read_lines
    from handful.parser.bot import load_bot
    from handful.parser.parser import Parser
    from handful.parser.suggest import suggest as suggested

    if output is not None and (output.exists() or output.is_symlink()):
        raise HandfulError(f"{output} is already there and was left as it is: choose another name")
    sentences = read_lines(pool)
    loaded = load_bot(bot, format_name)
    warn(loaded.document.warnings)
    found = suggested(Parser.of(loaded, bot, learner=learner, progress=tell), sentences, count)
    err.print(_left_out(found, pool), style="dim")
    if not found.chosen:
        raise HandfulError(f"{pool}: there is nothing to annotate in it")
    if output is None:
        _print(found)
    else:
        _write(found, output)


def _print(found: Suggestions) -> None:
    from handful.cli.show import shown_parse

    for suggestion in found.chosen:
        out.print(shown_parse(suggestion.parse))


def _write(found: Suggestions, output: Path) -> None:
    from handful.data.document import Document
    from handful.data.formats.rasa_yaml import write
    from handful.parser.suggest import annotated

    write(Document(tuple(annotated(found.chosen))), output)
    out.print(
        f"{output}: {len(found.chosen)} examples as the bot understands them. Correct them, then add them to the bot, "
        "or name the file under 'include' in it"
    )


def _left_out(found: Suggestions, pool: Path) -> str:
    counts = (
        (found.known, "examples already"),
        (found.repeated, "said before"),
        (found.wordless, "without words"),
    )
    left = [f"{number} {what}" for number, what in counts if number]
    some = f", {found.looked_at} of them looked at, evenly from all" if found.looked_at < found.asked else ""
    return f"{pool}: {found.asked} sentences{some}" + (f"; left out: {', '.join(left)}" if left else "")
