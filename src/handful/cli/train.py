"""The command that trains one run, and what is shown of a run that is under way."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from handful.cli.console import err, out
from handful.cli.research import DataDir

if TYPE_CHECKING:
    from handful.training.checkpoint import About
    from handful.training.config import RunConfig
    from handful.training.events import Event, StepDone
    from handful.training.run import RunFolder

ConfigPath = Annotated[Path, typer.Argument(metavar="CONFIG", help="The settings: a YAML file.")]
Changes = Annotated[list[str] | None, typer.Option("--set", metavar="A.B=C", help="Change one setting; repeatable.")]
Threads = Annotated[
    int | None, typer.Option("--threads", min=1, help="Threads of torch; results depend on it, a little.")
]


def train(
    config: ConfigPath,
    changes: Changes = None,
    run: Annotated[
        Path | None, typer.Option("--into", help="The run's folder; else runs/ and the settings' digest.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Write TensorBoard files too.")] = False,
    threads: Threads = None,
    device: Annotated[Literal["cpu", "cuda"], typer.Option("--device", help="Where to compute.")] = "cpu",
    data_dir: DataDir = None,
) -> None:
    """Train a learner over episodes; the best epoch on dev episodes is the checkpoint."""
    from handful.training.config import load_config
    from handful.training.ranks import joined_ranks
    from handful.training.run import RunFolder
    from handful.training.start import prepare_run

    settings = load_config(config, changes or [])
    folder = RunFolder(run or Path("runs") / f"{config.stem}-{settings.digest()}")
    board = _board(folder.folder, tensorboard)
    with joined_ranks(device) as ranks:
        trainer = prepare_run(settings, folder, resume=resume, data_dir=data_dir, ranks=ranks, threads=threads)
        if not ranks.first:
            for _ in trainer.train():
                pass
            return
        err.print(f"run {folder.folder}", style="dim")
        # Ranks cannot stop one by one: with several of them a signal ends the run at once, and --resume goes on.
        stopping = stop_between_steps() if ranks.count == 1 else nullcontext(lambda: False)
        with progress_bar() as show, stopping as stop:
            for event in trainer.train():
                show(event, settings)
                board(event)
                if stop():
                    trainer.save()
                    err.print("stopped; the same command with --resume goes on from here")
                    raise typer.Exit(130)
    _tell_result(folder)


def dev_line(about: About) -> str:
    dev = about.dev
    if not dev:
        return "no dev episodes, so nothing was scored"
    return (
        f"dev intent accuracy {dev['intent_accuracy']:.1f}, slot F1 {dev['slot_f1_strict']:.1f} strict, "
        f"{dev['slot_f1_released']:.1f} released"
    )


@contextmanager
def stop_between_steps() -> Iterator[Any]:
    """The first Ctrl-C lets the step end, so that nothing is half done; the second is an ordinary one."""
    asked: list[int] = []

    def ask(number: int, _: object) -> None:
        asked.append(number)
        signal.signal(number, before[number])
        err.print("stopping after this step …", style="dim")

    before: dict[int, Any] = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def progress_bar() -> Iterator[Callable[[Event, RunConfig], None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from handful.training.events import DevScored, Finished, Prepared, StepDone

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task("frozen layers", total=None, note="")
        speed, dev = _Speed(), ""
        shown: RunConfig | None = None

        def show(event: Event, config: RunConfig) -> None:
            nonlocal speed, dev, shown
            if config is not shown:  # another run of a sweep: the one before may have ended or failed
                speed, dev, shown = _Speed(), "", config
                progress.reset(task, total=None, description="frozen layers", note="")
            match event:
                case Prepared():
                    progress.update(task, completed=event.sentences)
                case StepDone():
                    note = f"{speed.after(event)}{dev}"
                    progress.update(task, description="training", total=config.steps, completed=event.step, note=note)
                case DevScored():
                    accuracy, f1 = event.scores["intent_accuracy"], event.scores["slot_f1_strict"]
                    dev = f"  dev accuracy {accuracy:.1f} F1 {f1:.1f}"
                    err.print(
                        f"epoch {event.epoch:3}  step {event.step:5}  dev: intent accuracy {accuracy:.1f}, slot F1 "
                        f"{f1:.1f} strict, {event.scores['slot_f1_released']:.1f} released  {event.seconds:.0f} s"
                        f"{' *' if event.best else ''}"
                    )
                case Finished():
                    pass

        yield show


class _Speed:
    """The loss, as a running mean (one episode's says little), and episodes a second since this sitting began."""

    def __init__(self) -> None:
        self._loss: float | None = None
        self._began: tuple[int, float] | None = None

    def after(self, event: StepDone) -> str:
        self._loss = event.loss if self._loss is None else 0.95 * self._loss + 0.05 * event.loss
        if self._began is None:
            self._began = (event.step, event.seconds)
            return f"loss {self._loss:.3f}"
        steps, spent = event.step - self._began[0], event.seconds - self._began[1]
        return f"loss {self._loss:.3f}  {steps * len(event.episodes) / max(spent, 1e-3):.2f} episodes/s"


def _board(folder: Path, wanted: bool) -> Callable[[Event], None]:
    if not wanted:
        return lambda event: None
    from handful.training.tensorboard import Board

    return Board(folder / "tensorboard").add


def _tell_result(folder: RunFolder) -> None:
    from handful.training.checkpoint import read_about

    about = read_about(folder.checkpoint)
    kept = "best" if about.dev and about.config.dev.keep == "best" else "last"
    out.print(f"{folder.folder}: {kept} after step {about.step}: {dev_line(about)}")
