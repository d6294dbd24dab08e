"""The command that searches over settings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handful.cli.console import err, out
from handful.cli.engines import Address, Cpus, EngineName, Memory, ray_engine, refuse_engine
from handful.cli.research import DataDir, refuse_unwritable
from handful.cli.train import Threads, dev_line, progress_bar, stop_between_steps

if TYPE_CHECKING:
    from handful.bench.work import Means
    from handful.training.config import RunConfig
    from handful.training.events import Event
    from handful.training.loop import Trainer
    from handful.training.run import RunFolder
    from handful.training.sweep import Engine, RunDone, RunFailed, SweepPlan

_STOPPED = "stopped; the same command goes on from here"


def sweep(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="What to try: a YAML file.")],
    runs: Annotated[
        Path | None, typer.Option("--runs", help="Where the runs' folders go; else runs/ and the name.")
    ] = None,
    json_out: Annotated[Path | None, typer.Option("--json", help="Write every run's dev scores here.")] = None,
    engine: EngineName = "here",
    address: Address = None,
    cpus: Cpus = 2,
    memory_mb: Memory = 2000,
    threads: Threads = None,
    data_dir: DataDir = None,
) -> None:
    """Search over settings on dev episodes; a sweep that was stopped goes on where it was."""
    from handful.training import sweep as search

    refuse_engine(engine, address, cpus, threads or 1)
    if json_out is not None:
        refuse_unwritable(json_out)
    loaded, base = search.load_plan(plan)
    folder = runs or Path("runs") / plan.stem
    done: list[RunDone | RunFailed] = []
    under_way: list[Trainer] = []
    chosen = (
        _here(under_way, data_dir, threads)
        if engine == "here"
        else _on_ray(_means(threads or max(1, int(cpus)), data_dir), address, cpus, memory_mb)
    )
    # Of runs elsewhere there are no steps to wait for: Ctrl-C ends them, and their folders keep the last epoch.
    stopping = stop_between_steps() if engine == "here" else nullcontext(lambda: False)
    with progress_bar() as show, stopping as stop:
        try:
            for event in search.sweep(loaded, base, folder, chosen):
                match event:
                    case search.StageBegun():
                        err.print(f"stage {event.number} of {len(loaded.stages)}: {event.runs} runs")
                    case search.RunGoesOn():
                        show(event.event, event.config)
                        if stop():
                            under_way[0].save()
                            err.print(_STOPPED)
                            raise typer.Exit(130)
                    case search.RunDone() | search.RunFailed():
                        done.append(event)
                        out.print(f"  {_spelt(event.values)}: {_outcome(event)}")
                        _write(json_out, loaded, done)
                    case search.StageDone():
                        out.print(f"stage {event.number}: best is {_spelt(event.best)} with {event.score:.2f}")
        except KeyboardInterrupt:
            err.print(_STOPPED)
            raise typer.Exit(130) from None


def _here(under_way: list[Trainer], data_dir: Path | None, threads: int | None) -> Engine:
    """`under_way` holds the run that is being trained, so that it can be saved."""
    from handful.training.start import prepare_run
    from handful.training.sweep import one_after_another

    def start(config: RunConfig, run: RunFolder) -> Iterator[Event]:
        resume = (run.folder / "config.json").exists()
        under_way[:] = [prepare_run(config, run, resume=resume, data_dir=data_dir, threads=threads)]
        return under_way[0].train()

    return one_after_another(start)


def _on_ray(means: Means, address: str | None, cpus: float, memory_mb: int) -> Engine:
    from handful.bench.ray_engine import for_sweep

    def train(configs: Sequence[RunConfig], folder: Path) -> Any:
        return for_sweep(ray_engine(means, configs, address, cpus, memory_mb))(configs, folder)

    return train


def _means(threads: int, data_dir: Path | None) -> Means:
    from handful.bench.work import Means

    return Means(threads=threads, data_dir=data_dir)


def _write(path: Path | None, plan: SweepPlan, done: Sequence[RunDone | RunFailed]) -> None:
    from handful.data.formats.files import write_text

    if path is not None:
        content = {"plan": plan.model_dump(mode="json"), "runs": [run.record() for run in done]}
        write_text(path, json.dumps(content, indent=1) + "\n")


def _spelt(values: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in values.items())


def _outcome(run: RunDone | RunFailed) -> str:
    from handful.training.sweep import RunDone

    if isinstance(run, RunDone):
        return f"{run.trained.score:.2f} ({dev_line(run.trained.about)})"
    return f"failed: {run.failed.reason}"
