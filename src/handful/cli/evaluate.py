"""The command that scores: a trained run, or a learner that needs no training."""

from __future__ import annotations

import json
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from handful.cli.bots import LearnerChoice
from handful.cli.console import err, out, warn
from handful.cli.research import DataDir, Seed, SplitName, UMax, refuse_unwritable, sampler_of
from handful.errors import ConfigError

if TYPE_CHECKING:
    from handful.learners.learner import Learner
    from handful.training.scoring import EpisodeScore


@dataclass(frozen=True, slots=True)
class _Scored:
    """A learner, and what its results are filed under."""

    learner: Learner
    about: dict[str, Any]


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
    started = time.perf_counter()
    scores = _score(scored.learner, sampler.episodes(episodes), f"{data} {split}", episodes)
    record = {
        **scored.about,
        "corpus": data,
        "split": split,
        "u_max": u_max,
        "episodes": episodes,
        "episode_seed": seed,
        "query_cap": sampler.query_cap,
        "data_version": corpus.digest(split),
        "eval_seconds": round(time.perf_counter() - started, 1),
        "peak_mb": _peak_mb(),
        **_percentages(scores),
    }
    if str(json_out) != "-":
        _print_scores(record)
    if json_out is not None:
        _write_json(record, json_out)
    if results is not None:
        _file(record, results)


def _ready(name: Literal["joint_spans", "prototypes"], changes: list[str]) -> _Scored:
    """A learner that needs no run: the checkpoint that comes with handful, or the untrained one."""
    if name == "joint_spans":
        from handful.training.shipped import shipped_folder

        return _trained(shipped_folder(), changes)
    from handful.encoders import minilm
    from handful.learners.choose import build_prototypes

    built = build_prototypes(remember=True)
    about = {"row": name, "encoder": minilm.NAME, "mode": "untrained", "config": built.config.model_dump(mode="json")}
    return _Scored(built, {**about, "train_u_max": None, "train_seed": None, "train_seconds": None})


def _own_corpus(run: Path) -> str:
    from handful.training.start import read_run

    corpora = read_run(run).config.corpora
    if len(corpora) != 1:
        raise ConfigError(f"the run was trained on {', '.join(corpora)}: name one to score on with --data")
    return corpora[0]


def _trained(run: Path, changes: list[str]) -> _Scored:
    from handful.training.config import parse_change
    from handful.training.start import encoder_label, features_dir, load_learner, row_of

    values = dict(parse_change(change) for change in changes)
    built, about = load_learner(run, remember=True, cache=features_dir(), changes=values)
    config = about.config.model_copy(update={"learner": built.config})
    return _Scored(
        built,
        {
            "row": row_of(config),
            "encoder": encoder_label(config),
            "mode": "single" if len(config.corpora) == 1 else "joint",
            "train_corpus": config.data_label,
            "train_u_max": config.u_max,
            "train_seed": config.train_seed,
            "train_seconds": about.train_seconds,
            "train_episodes": about.step * config.optimiser.episodes_per_step,
            **_decoding(built.config),
            "config": config.model_dump(mode="json"),
        },
    )


def _warn_of_trained_intents(about: dict[str, Any], data: str, split: str) -> None:
    config = about["config"]
    corpora = config.get("data", [])
    trained_on = data in ([corpora] if isinstance(corpora, str) else corpora)
    if trained_on and split in config.get("train_splits", []):
        warn([f"{data} {split}: these intents were trained on, so the figures say nothing of new ones"])


def _decoding(config: Any) -> dict[str, Any]:
    """How predictions were made, where a learner has more than one way."""
    if config.name == "explicit_joint":
        return {"decoding": config.decoding}
    return {"tuning_steps": config.tuning.steps}


def _score(learner: Learner, drawn: Any, title: str, total: int) -> list[EpisodeScore]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from handful.training.evaluate import evaluate as evaluated

    scores: list[EpisodeScore] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task(title, total=total)
        for event in evaluated(learner, drawn):
            scores.append(event.score)
            progress.advance(task)
    return scores


def _peak_mb() -> int | None:
    """The most memory that this process ever had; only Linux tells.

    Not ru_maxrss: a process inherits that from the one that started it, and other systems count it in other units.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return None
    found = re.search(r"^VmHWM:\s*(\d+) kB$", status, re.MULTILINE)
    return None if found is None else round(int(found[1]) / 1024)


def _percentages(scores: list[EpisodeScore]) -> dict[str, Any]:
    from handful.training.evaluate import summary

    found: dict[str, Any] = {}
    for metric, value in summary(scores).items():
        found[metric] = {
            "mean": round(100 * value.mean, 2),
            "ci95": None if value.ci95 is None else round(100 * value.ci95, 2),
            "per_episode": [round(100 * getattr(score, metric), 2) for score in scores],
        }
    return found


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
