"""The command that tunes a bot on its own examples."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from handful.cli.bots import BotPath, FormatName, tell
from handful.cli.console import err, out
from handful.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Generator

    from handful.parser.tune import Outcome, TuningProgress, TuningReport


def tune(
    bot: BotPath,
    seconds: Annotated[
        float, typer.Option("--seconds", min=1, help="When they have run out, it stops, and nothing is changed.")
    ] = 300.0,
    steps: Annotated[int, typer.Option("--steps", min=1, help="Gradient steps, in each fold and at the end.")] = 5,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Shares of the cross-validation.")] = 4,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same result.")] = 0,
    undo: Annotated[bool, typer.Option("--undo", help="Remove the tuned version.")] = False,
    format_name: FormatName = None,
) -> None:
    """Tune a bot on its own examples; kept only if cross-validation says that it parses better."""
    from handful.parser.tuned import remove_tuning, tune_file
    from handful.parser.tuning_record import tuned_folder

    folder = tuned_folder(bot)
    before = (folder / "tuning.json").exists()
    if undo:
        if not remove_tuning(folder):
            raise ConfigError(f"{folder}: there is no tuned version to remove")
        out.print(f"{folder}: removed; the bot parses with its examples alone")
        return
    report = _shown(tune_file(bot, steps=steps, folds=folds, seed=seed, seconds=seconds, format=format_name))
    _print_report(report)
    if report.learner is None:
        gone = f" {folder}, which was there, is removed." if before else ""
        out.print(f"Tuning does not help this bot: it parses with its examples alone.{gone}")
    else:
        _make_ready(bot, format_name)
        out.print(f"{folder}: the tuned version; `handful parse {bot}` uses it from now on, --undo removes it")


def _make_ready(bot: Path, format_name: str | None) -> None:
    """The tuned weights' graph, so that the next parse need not wait for it."""
    from handful.parser.bot import load_bot
    from handful.parser.models import model_for

    model_for(load_bot(bot, format_name).settings, bot, progress=tell)


def _shown(steps: Generator[TuningProgress, None, TuningReport]) -> TuningReport:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    from handful.learners.tuning import returned

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task("tuning", total=1.0)

        def told(event: TuningProgress) -> None:
            what = f"fold {event.fold} of {event.folds}" if event.fold <= event.folds else "all examples"
            progress.update(task, completed=event.done, description=f"{what}, loss {event.step.loss:.2f}")

        return returned(steps, told)


def _print_report(report: TuningReport) -> None:
    from rich.table import Table

    table = Table(title=f"Held-out examples, cross-validated ({report.before.examples} of them)", title_justify="left")
    for column in ("", "intent accuracy", "slot F1", "all right"):
        table.add_column(column, justify="left" if not column else "right")
    for name, outcome in (("as it was", report.before), ("tuned", report.after)):
        table.add_row(name, *_percent(outcome))
    out.print(table)
    out.print(f"{report.seconds:.0f} s", style="dim")


def _percent(outcome: Outcome) -> list[str]:
    """A bot without slots, in which none was found either, has no slot F1."""
    slots = outcome.spans.gold or outcome.spans.predicted
    values = (outcome.intent_accuracy, outcome.slot_f1 if slots else None, outcome.right_parses / outcome.examples)
    return ["–" if value is None else f"{100 * value:.1f} %" for value in values]
