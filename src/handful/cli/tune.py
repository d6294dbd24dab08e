"""The command that tunes a bot on its own examples."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from handful.cli.bots import BotPath, FormatName
from handful.cli.console import err, out, warn
from handful.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Generator

    from handful.parser.tune import Outcome, TuningProgress, TuningReport


def tune(
    bot: BotPath,
    seconds: Annotated[float, typer.Option("--seconds", min=1, help="The most that it may take.")] = 300.0,
    steps: Annotated[int, typer.Option("--steps", min=1, help="Gradient steps, in each fold and at the end.")] = 5,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Shares of the cross-validation.")] = 4,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same result.")] = 0,
    undo: Annotated[bool, typer.Option("--undo", help="Remove the tuned version.")] = False,
    format_name: FormatName = None,
) -> None:
    """Tune a bot on its own examples; kept only if cross-validation says that it parses better."""
    from handful.parser.bot import load_bot
    from handful.parser.tuned import read_tuning, save_tuning, tuned_folder

    loaded = load_bot(bot, format_name)
    folder = tuned_folder(bot)
    if undo:
        _remove(folder)
        return
    warn(loaded.document.warnings)
    from handful.learners.joint_spans import JointSpansLearner
    from handful.parser.tune import tune as tuning
    from handful.training.shipped import shipped_folder
    from handful.training.start import load_learner

    read_tuning(folder)  # what is there and is not ours is told now, not after the work
    # Frozen features are kept: every step sees the same examples.
    learner, about = load_learner(shipped_folder())
    assert isinstance(learner, JointSpansLearner)
    examples = loaded.document.utterances
    settings = {"steps": steps, "seed": seed, "folds": folds}
    report = _shown(tuning(learner, examples, seconds=seconds, **settings))
    _print_report(report)
    if report.learner is None:
        kept = " The tuned version that was there is left as it was." if folder.exists() else ""
        out.print(f"Tuning does not help this bot: nothing was changed.{kept}")
        return
    save_tuning(folder, report, examples, checkpoint=about.weights_sha256, settings=settings)
    out.print(f"{folder}: the tuned version; `handful parse {bot}` uses it from now on, --undo removes it")


def _shown(steps: Generator[TuningProgress, None, TuningReport]) -> TuningReport:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task("tuning", total=1.0)
        while True:
            try:
                event = next(steps)
            except StopIteration as done:
                return done.value
            what = f"fold {event.fold} of {event.folds}" if event.fold <= event.folds else "all examples"
            progress.update(task, completed=event.done, description=f"{what}, loss {event.step.loss:.2f}")


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
    values = (outcome.intent_accuracy, outcome.slot_f1, outcome.right_parses / outcome.examples)
    return [f"{100 * value:.1f} %" for value in values]


def _remove(folder: Path) -> None:
    from handful.parser.tuned import read_tuning

    if read_tuning(folder) is None:
        raise ConfigError(f"{folder}: there is no tuned version to remove")
    shutil.rmtree(folder)
    out.print(f"{folder}: removed; the bot parses with its examples alone")
