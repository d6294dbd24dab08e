"""The command that scores: a trained run, or a learner that needs no training."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from handful.cli.bots import LearnerChoice
from handful.cli.console import err, out, warn
from handful.cli.research import DataDir, Seed, SplitName, UMax, refuse_unwritable, sampler_of
from handful.errors import ConfigError

if TYPE_CHECKING:
    from handful.training.measure import Scored
    from handful.training.scoring import EpisodeScore


def evaluate(
    run: Annotated[Path | None, typer.Argument(metavar="[RUN]", help="A trained run, or its checkpoint.")] = None,
    data: Annotated[str | None, typer.Option("--data", help="The data set; a run's own where none is given.")] = None,
    learner: LearnerChoice | None = None,
    split: SplitName = "test",
    u_max: UMax = 20,
    episodes: Annotated[int, typer.Option("--episodes", min=1, help="How many episodes.")] = 100,
    seed: Seed = 0,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="A.B=C", help="A run's setting of prediction: tuning.steps=10; repeatable."),
    ] = None,
    json_out: Annotated[Path | None, typer.Option("--json", help="Write the result here; - is stdout.")] = None,
    results: Annotated[
        Path | None, typer.Option("--results", help="Put the result into this list of results, in its place.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Score a trained run or a learner on the paper's episodes, with both scorers."""
    from handful.training.measure import Scoring, measured

    if run is None and data is None:
        raise ConfigError("found no data set to score on: name one with --data")
    if run is not None and learner is not None:
        raise ConfigError(f"found the run {run} and --learner {learner}, expected one of the two")
    if run is None and changes and learner == "prototypes":
        raise ConfigError("--set changes settings of a trained learner, and prototypes has none of them")
    if str(results) == "-":
        raise ConfigError("--results is a list of results in a file; --json - writes one to stdout")
    for path in (json_out, results):
        if path is not None and str(path) != "-":
            refuse_unwritable(path)
    if run is not None and data is None:
        data = _own_corpus(run)
    assert data is not None
    corpus, sampler = sampler_of(data, split, u_max, seed, data_dir)
    # Now, not later: everything a person may have mistyped is known before the encoder is loaded.
    scored = _ready(learner or "joint_spans", changes or []) if run is None else _trained(run, changes or [])
    _warn_of_trained_intents(scored.about, data, split)
    with scoring_bar(f"{data} {split}", episodes) as told:
        record = measured(scored, corpus, sampler, Scoring(data, u_max, episodes, seed, split), told)
    record.pop("details")  # bench keeps them; here a result is a few lines
    if str(json_out) != "-":
        _print_scores(record)
    if json_out is not None:
        _write_json(record, json_out)
    if results is not None:
        _file(record, results)


def _ready(name: Literal["joint_spans", "prototypes"], changes: list[str]) -> Scored:
    """A learner that needs no run: the checkpoint that comes with handful, or the untrained one."""
    if name == "joint_spans":
        from handful.training.shipped import shipped_folder

        return _trained(shipped_folder(), changes)
    from handful.encoders import minilm
    from handful.learners.choose import build_prototypes
    from handful.training.measure import Scored

    built = build_prototypes(remember=True)
    about = {"row": name, "encoder": minilm.NAME, "mode": "untrained", "config": built.config.model_dump(mode="json")}
    return Scored(built, {**about, "train_u_max": None, "train_seed": None, "train_seconds": None})


def _own_corpus(run: Path) -> str:
    from handful.training.start import read_run

    corpora = read_run(run).config.corpora
    if len(corpora) != 1:
        raise ConfigError(f"the run was trained on {', '.join(corpora)}: name one to score on with --data")
    return corpora[0]


def _trained(run: Path, changes: list[str]) -> Scored:
    from handful.training.config import parse_change
    from handful.training.measure import trained

    return trained(run, dict(parse_change(change) for change in changes))


def _warn_of_trained_intents(about: dict[str, Any], data: str, split: str) -> None:
    config = about["config"]
    corpora = config.get("data", [])
    trained_on = data in ([corpora] if isinstance(corpora, str) else corpora)
    if trained_on and split in config.get("train_splits", []):
        warn([f"{data} {split}: these intents were trained on, so the figures say nothing of new ones"])


@contextmanager
def scoring_bar(title: str, total: int) -> Iterator[Callable[[EpisodeScore], None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task(title, total=total)
        yield lambda _: progress.advance(task)


def _write_json(record: dict[str, Any], path: Path) -> None:
    text = json.dumps(record, ensure_ascii=False)
    if str(path) == "-":
        sys.stdout.write(text + "\n")
        return
    from handful.data.formats.files import write_text

    write_text(path, text + "\n")


def _file(record: dict[str, Any], path: Path) -> None:
    from handful.training.results import file_record

    file_record(record, path)


def _print_scores(record: dict[str, Any]) -> None:
    from rich.table import Table

    about = "{row} on {corpus} {split}, U_max {u_max}, {episodes} episodes, seed {episode_seed}"
    table = Table(title=about.format(**record), title_justify="left")
    table.add_column("metric")
    table.add_column("mean %", justify="right")
    table.add_column("± 95 %", justify="right")
    for metric, name in (
        ("intent_accuracy", "intent accuracy"),
        ("slot_f1_strict", "slot F1, strict scorer"),
        ("slot_f1_released", "slot F1, released scorer"),
        ("joint_accuracy", "joint accuracy (intent and all slots, strict)"),
    ):
        value = record[metric]
        table.add_row(name, f"{value['mean']:.1f}", "–" if value["ci95"] is None else f"{value['ci95']:.1f}")
    out.print(table)
    out.print(f"{record['eval_seconds']} s, data {record['data_version']}", style="dim")
