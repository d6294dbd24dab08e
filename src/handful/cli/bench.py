"""The command that runs the paper's tables."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handful.cli.console import err, out, warn
from handful.cli.engines import Address, Cpus, EngineName, Memory, ray_engine, refuse_engine
from handful.cli.research import DataDir
from handful.errors import ConfigError

if TYPE_CHECKING:
    from handful.bench.engines import Engine
    from handful.bench.plan import Plan
    from handful.bench.tables import Table
    from handful.bench.work import Done, Failed, Means

Names = list[str] | None
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

    refuse_engine(engine, address, cpus, processes * threads)
    if figure and (changes or tables_only):
        raise ConfigError("--figure trains what it needs, with the rows' own settings: without --set and --tables")
    budget = grid_rows.Budget(epochs=epochs)
    if quick:
        # Figures of a few episodes must not come to stand among those that count.
        results = Path("runs/quick/results") if results.absolute() == Path("results").absolute() else results
        episodes, budget = min(episodes, _QUICK_EPISODES), grid_rows.QUICK
        encoders, modes = encoders or ["minilm"], modes or ["single"]
    grid = Grid(
        grid_rows.chosen(rows, tuple(grid_rows.ROWS) if rows else grid_rows.PAPER_ROWS, "row"),
        grid_rows.chosen(encoders, tuple(grid_rows.ENCODERS), "encoder"),
        grid_rows.chosen(corpora, grid_rows.CORPORA, "corpus"),
        grid_rows.chosen(modes, grid_rows.MODES, "mode"),
        tuple(dict.fromkeys(u_maxes or (20, 100))),
        tuple(dict.fromkeys(seeds or (0,))),
        episodes,
        budget,
        only_paper=not rows,
    )
    failed = 0
    if not tables_only:
        values: dict[str, Any] = dict(parse_change(change) for change in changes or [])
        plan = planned(grid, runs, all_records(results), values)
        _refuse_uneven(plan, processes)
        _tell_plan(plan)
        means = _means(plan, results, data_dir, threads, processes)
        failed = _gather(plan, _engine(engine, plan, means, address, cpus, memory_mb), results)
    if figure:
        _draw_figure(results, runs, budget, data_dir, threads)
    _show(all_records(results), results)
    if failed:
        raise ConfigError(f"{failed} runs failed, as told above; the same command tries them again")


def _refuse_uneven(plan: Plan, processes: int) -> None:
    """Before the first run, not in each of them."""
    for work in plan.works:
        if (episodes := work.config.optimiser.episodes_per_step) % processes:
            raise ConfigError(
                f"--processes {processes} share the episodes of a step, and a step has {episodes}: "
                f"--set optimiser.episodes_per_step={processes}, or a multiple of it"
            )


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


def _engine(name: str, plan: Plan, means: Means, address: str | None, cpus: float, memory_mb: int) -> Engine:
    from handful.bench.engines import here

    if name == "here":
        return here(means, err.print)
    return ray_engine(means, [work.config for work in plan.works], address, cpus, memory_mb)


def _gather(plan: Plan, engine: Engine, results: Path) -> int:
    """Records are filed as they come: a grid that is stopped keeps what it has. How many runs failed."""
    from handful.bench.work import Failed
    from handful.training.results import file_record

    failed = 0
    for number, end in enumerate(_in_turn(plan, engine), 1):
        if isinstance(end, Failed):
            failed += 1
            warn([f"{end.work.title}: {end.reason}"])
            continue
        if end.warning:
            warn([end.warning])
        for record in end.records:
            name = f"{record['encoder']}-{_file_name(record['row'])}-{record['mode']}.json"
            file_record(record, results / "bench" / name)
        err.print(f"{number} of {len(plan.works)} done: {end.work.title}")
    return failed


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
        err.print(line)
    out.print(f"{path}: Figure 2's points; `handful report` draws them")


def _show(records: list[dict[str, Any]], results: Path) -> None:
    from handful.bench.tables import NOTE, document, tables
    from handful.data.formats.files import write_text

    made = tables(records)
    if not made:
        warn([f"{results}: there are no results yet, so no table"])
        return
    for table in made:
        _print(table)
    out.print(NOTE, style="dim")
    path = results / "bench" / "tables.md"
    write_text(path, document(records))
    err.print(f"{path}: the same tables", style="dim")


def _print(made: Table) -> None:
    from rich import box
    from rich.table import Table as RichTable

    shown = RichTable(title=made.title, title_justify="left", box=box.SIMPLE_HEAD)
    for name in made.header:
        shown.add_column(name, no_wrap=name in {"row", "encoder", "mode"})
    for before, line in zip([None, *made.lines], made.lines, strict=False):
        if before is not None and before[1:3] != line[1:3]:  # another encoder or mode
            shown.add_section()
        shown.add_row(*line)
    out.print(shown)
