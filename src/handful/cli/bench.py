"""The command that runs the paper's tables."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from handful.cli.console import err, out, warn
from handful.cli.research import DataDir
from handful.errors import ConfigError

if TYPE_CHECKING:
    from handful.bench.engines import Engine
    from handful.bench.plan import Plan
    from handful.bench.tables import Table
    from handful.bench.work import Done, Failed, Means

Names = list[str] | None
EngineName = Annotated[Literal["here", "ray"], typer.Option("--engine", help="Who trains: this machine, or Ray.")]
Address = Annotated[str | None, typer.Option("--address", help="Of a Ray cluster; else one is started here.")]
Cpus = Annotated[float, typer.Option("--cpus", min=0.1, help="Processors of a Ray task.")]
Memory = Annotated[int, typer.Option("--memory-mb", min=1, help="Memory of a Ray task.")]
_QUICK_EPISODES = 10


def bench(
    rows: Annotated[Names, typer.Option("--row", help="Which rows; repeatable. All of the paper's.")] = None,
    encoders: Annotated[Names, typer.Option("--encoder", help="Which encoders; repeatable. All there are.")] = None,
    corpora: Annotated[Names, typer.Option("--data", help="Which corpora; repeatable. All three.")] = None,
    modes: Annotated[Names, typer.Option("--mode", help="single or joint training; repeatable. Both.")] = None,
    u_maxes: Annotated[list[int] | None, typer.Option("--u-max", min=3, help="Repeatable; 20 and 100.")] = None,
    seeds: Annotated[list[int] | None, typer.Option("--seed", min=0, help="Train seeds; repeatable. 0 alone.")] = None,
    episodes: Annotated[int, typer.Option("--episodes", min=2, help="Test episodes of each corpus.")] = 100,
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="Of 100 train episodes, at most: the budget.")] = 5,
    quick: Annotated[bool, typer.Option("--quick", help="Few episodes: to see that all works, in minutes.")] = False,
    results: Annotated[Path, typer.Option("--results", help="Records are found here and added here.")] = Path(
        "results"
    ),
    runs: Annotated[Path, typer.Option("--runs", help="Where the runs' folders go.")] = Path("runs/bench"),
    tables_only: Annotated[bool, typer.Option("--tables", help="Only the tables of what is there.")] = False,
    figure: Annotated[bool, typer.Option("--figure", help="Also Figure 2: embeddings of TOP's sentences.")] = False,
    changes: Annotated[
        Names, typer.Option("--set", metavar="A.B=C", help="A setting of every run; repeatable.")
    ] = None,
    engine: EngineName = "here",
    address: Address = None,
    cpus: Cpus = 2,
    memory_mb: Memory = 2000,
    processes: Annotated[int, typer.Option("--processes", min=1, help="That train one run together (torchrun).")] = 1,
    threads: Annotated[int, typer.Option("--threads", min=1, help="Threads of torch in each process.")] = 2,
    data_dir: DataDir = None,
) -> None:
    """Train and score the rows of the paper's tables on the same frozen episodes; what is done is not done again."""
    from handful.bench import rows as grid_rows
    from handful.bench.plan import Grid, all_records, planned
    from handful.training.config import parse_change

    if engine == "here" and address is not None:
        raise ConfigError("found --address without --engine ray")
    if quick:
        # Figures of a few episodes must not come to stand among those that count.
        results, runs = (Path("runs/quick/results") if results == Path("results") else results), runs
        episodes, budget = min(episodes, _QUICK_EPISODES), grid_rows.QUICK
    else:
        budget = grid_rows.Budget(epochs=epochs)
    grid = Grid(
        grid_rows.chosen(rows, tuple(grid_rows.ROWS) if rows else grid_rows.PAPER_ROWS, "row"),
        grid_rows.chosen(encoders, tuple(grid_rows.ENCODERS), "encoder"),
        grid_rows.chosen(corpora, grid_rows.CORPORA, "corpus"),
        grid_rows.chosen(modes, grid_rows.MODES, "mode") if modes or not quick else ("single",),
        tuple(u_maxes or (20, 100)),
        tuple(seeds or (0,)),
        episodes,
        budget,
    )
    if not tables_only:
        values: dict[str, Any] = dict(parse_change(change) for change in changes or [])
        plan = planned(grid, runs, all_records(results), values)
        _tell_plan(plan)
        means = _means(plan, results, data_dir, threads, processes)
        _gather(plan, _engine(engine, means, address, cpus, memory_mb), results)
    if figure:
        _draw_figure(results, runs, budget, data_dir, threads)
    _show(all_records(results), results)


def _tell_plan(plan: Plan) -> None:
    for skipped in plan.skipped:
        warn([f"{skipped.encoder}: its rows are skipped, for its weights are not here: {skipped.reason}"])
    err.print(f"{len(plan.works)} runs to do, {plan.done} done already")


def _means(plan: Plan, results: Path, data_dir: Path | None, threads: int, processes: int) -> Means:
    """The frozen episodes are looked at before the first run: other data would be found out after hours."""
    from handful.bench.frozen import freeze
    from handful.bench.work import Means
    from handful.episodes.sampler import EpisodeSampler

    means = Means(threads=threads, processes=processes, data_dir=None if data_dir is None else data_dir.absolute())
    scorings = dict.fromkeys(scoring for work in plan.works for scoring in work.scorings)
    samplers = []
    for scoring in scorings:
        corpus = means.corpus(scoring.corpus)
        samplers.append((scoring, EpisodeSampler(corpus.split(scoring.split), u_max=scoring.u_max, seed=scoring.seed)))
    frozen = freeze(results / "bench" / "episodes.json", samplers) if samplers else None
    return Means(means.threads, means.processes, means.data_dir, None, frozen)


def _engine(name: str, means: Means, address: str | None, cpus: float, memory_mb: int) -> Engine:
    from handful.bench.engines import here

    if name == "here":
        return here(means, lambda line: err.print(line, markup=False, highlight=False))
    from handful.bench.ray_engine import Needs, on_ray
    from handful.bench.rows import CORPORA

    corpora = {corpus: means.corpus(corpus) for corpus in CORPORA}
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    return on_ray(means, corpora, Needs(cpus, memory_mb), address)


def _gather(plan: Plan, engine: Engine, results: Path) -> None:
    """Records are filed as they come: a grid that is stopped keeps what it has."""
    from handful.bench.work import Failed
    from handful.training.results import file_record

    failed: list[Failed] = []
    for number, end in enumerate(_in_turn(plan, engine), 1):
        if isinstance(end, Failed):
            failed.append(end)
            warn([f"{end.work.title}: {end.reason}"])
            continue
        for record in end.records:
            name = f"{record['encoder']}-{_file_name(record['row'])}-{record['mode']}.json"
            file_record(record, results / "bench" / name)
        err.print(f"{number} of {len(plan.works)} done: {end.work.title}", markup=False, highlight=False)
    if failed:
        raise ConfigError(f"{len(failed)} of {len(plan.works)} runs failed; the same command tries them again")


def _in_turn(plan: Plan, engine: Engine) -> Iterable[Done | Failed]:
    try:
        yield from engine(plan.works)
    except KeyboardInterrupt:
        err.print("stopped; the same command goes on from here")
        raise typer.Exit(130) from None


def _file_name(row: str) -> str:
    """(w,w) -> ww; file systems and shells do not like the rest."""
    return "".join(character for character in row if character.isalnum() or character in "-_")


def _draw_figure(results: Path, runs: Path, budget: Any, data_dir: Path | None, threads: int) -> None:
    from handful.bench.figure import write_figure

    path = results / "figure2.json"
    for line in write_figure(path, runs.absolute(), budget, data_dir, threads):
        err.print(line, markup=False, highlight=False)
    out.print(f"{path}: Figure 2's points; `handful report` draws them")


def _show(records: list[dict[str, Any]], results: Path) -> None:
    from handful.bench.tables import tables
    from handful.data.formats.files import write_text

    made = tables(records)
    if not made:
        warn([f"{results}: there are no results yet, so no table"])
        return
    for table in made:
        _print(table)
    path = results / "bench" / "tables.md"
    write_text(
        path,
        "# The paper's tables, measured\n\nMade by `handful bench --tables`.\n\n"
        + "\n".join(t.markdown() for t in made),
    )
    out.print(f"{path}: the same tables", style="dim")


def _print(made: Table) -> None:
    from rich.table import Table as RichTable

    shown = RichTable(title=made.title, title_justify="left", caption=made.note or None, caption_justify="left")
    for name in made.header:
        shown.add_column(name)
    for line in made.lines:
        shown.add_row(*line)
    out.print(shown)
