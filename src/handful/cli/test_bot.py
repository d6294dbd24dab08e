"""The command that tells how well a bot parses what it has not seen."""

# ruff: noqa: PT028 - `test` is the command, no test of ours

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from handful.cli.bots import BotPath, FormatName, LearnerChoice, tell
from handful.cli.console import err, warn
from handful.errors import ConfigError, DataError, Place

if TYPE_CHECKING:
    from handful.parser.bot import Bot
    from handful.parser.parser import Parser
    from handful.report.asking import Answered
    from handful.report.cases import Case
    from handful.report.report import Report
    from handful.types import Utterance

_FOLDS = 5
_STDOUT = Path("-")


def test(
    bot: BotPath,
    against: Annotated[
        Path | None, typer.Option("--against", help="Ask for the utterances of this file, in any format we read.")
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option("--folds", min=2, show_default=str(_FOLDS), help="Without a file: shares of a cross-validation."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The same seed deals the same shares.")] = 0,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Everything as JSON; - is stdout, without the tables.")
    ] = None,
    html_file: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="One page with plots, to open in a browser.")
    ] = None,
    errors: Annotated[int, typer.Option("--errors", min=0, help="How many of the worst errors are shown here.")] = 5,
    learner: LearnerChoice = "joint_spans",
    format_name: FormatName = None,
    against_format: Annotated[
        str | None, typer.Option("--against-format", help="The file's format, where its content leaves that open.")
    ] = None,
    repair: Annotated[bool, typer.Option("--repair", help="Mend illegal tags of the file, and list them.")] = False,
) -> None:
    """Tell how well a bot parses what it has not seen: a file, or its own examples in turn."""
    from handful.data.reading import read_document
    from handful.parser.bot import load_bot
    from handful.parser.parser import Parser
    from handful.report.asking import ask, cross_validate
    from handful.report.assessment import assess
    from handful.report.report import Against, CrossValidation, Report

    if against is not None and folds is not None:
        raise ConfigError("found both --against and --folds, expected one of them")
    if against is None and (repair or against_format is not None):
        raise ConfigError("--repair and --against-format are about a file: name it with --against")
    _refuse_files(bot, against, json_file, html_file)
    loaded = load_bot(bot, format_name)
    warn(loaded.document.warnings)
    held: Sequence[Utterance] = ()
    if against is not None:
        read = read_document(against, against_format, repair=repair)
        warn(read.warnings)
        held = read.utterances
        if not held:
            raise DataError.at(Place(against), "found no utterances, expected some to ask for")
    notes = _notes(loaded, held) if against is not None else _fold_notes(loaded)
    warn(notes)
    parser = Parser.of(loaded, bot, learner=learner, progress=tell)
    if against is not None:
        asked, cases = Against(str(against)), _shown(ask(parser, held))
    else:
        asked = CrossValidation(folds or _FOLDS, seed)
        cases = _shown(cross_validate(parser, asked.folds, seed))
    report = Report(
        bot=loaded.name,
        intents=len(loaded.intents),
        slots=len(loaded.slots),
        examples=len(loaded.document.utterances),
        learner=learner,
        asked=asked,
        assessment=assess(cases),
        notes=tuple(notes),
    )
    # Shown first: a full disk must not lose the figures.
    if json_file != _STDOUT:
        from handful.cli.show_report import print_report

        print_report(report, errors)
    _write(report, parser, json_file, html_file)


def _refuse_files(bot: Path, against: Path | None, json_file: Path | None, html_file: Path | None) -> None:
    """What cannot be written is told before the work."""
    if html_file is not None:
        from handful.report.plots import require_altair

        require_altair()
    read = {path.resolve() for path in (bot, against) if path is not None}
    for option, file in (("--json", json_file), ("--html", html_file)):
        if file is None or (option == "--json" and file == _STDOUT):
            continue
        if file == _STDOUT:
            raise ConfigError(f"{option} -: a page is written to a file, expected its name")
        if file.resolve() in read:
            raise ConfigError(f"{option} {file}: this file is read, and would be lost: choose another name")
        if file.is_dir():
            raise ConfigError(f"{option} {file}: found a folder, expected a file or nothing")
    if json_file is not None and html_file is not None and json_file.resolve() == html_file.resolve():
        raise ConfigError(f"found {json_file} for --json and for --html, expected two files")


def _notes(bot: Bot, held: Sequence[Utterance]) -> list[str]:
    from handful.report.asking import already_examples, strangers

    notes = [str(stranger) for stranger in strangers(bot, held)]
    known = already_examples(bot, held)
    if known:
        notes.append(f"{known} of the {len(held)} utterances are examples of the bot, word for word: these are no test")
    return notes


def _fold_notes(bot: Bot) -> list[str]:
    from handful.report.asking import counted, never_asked

    lonely = never_asked(bot.document.utterances)
    if not lonely:
        return []
    verb = "is" if lonely == 1 else "are"
    return [f"{counted(lonely, 'example')} {verb} the only one of an intent, and not asked for"]


def _shown(answers: Iterable[Answered]) -> list[Case]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    cases: list[Case] = []
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task("asking", total=None)
        for event in answers:
            what = "asking" if event.fold is None else f"fold {event.fold} of {event.folds}"
            progress.update(task, completed=event.done, total=event.total, description=what)
            cases += event.cases
    return cases


def _write(report: Report, parser: Parser, json_file: Path | None, html_file: Path | None) -> None:
    from handful.data.formats.files import write_text

    if json_file == _STDOUT:
        plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
        sys.stdout.write(_json(report, plain))
        sys.stdout.flush()
    elif json_file is not None:
        write_text(json_file, _json(report))
        err.print(f"{json_file}: written", style="dim")
    if html_file is not None:
        from handful.report.layout import layout
        from handful.report.page import page

        write_text(html_file, page(report, layout(parser, report.assessment.errors)))
        err.print(f"{html_file}: written", style="dim")


def _json(report: Report, plain: bool = False) -> str:
    return json.dumps(report.as_json(), ensure_ascii=plain, indent=1) + "\n"
