"""Commands for researchers: evaluate, episodes."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter, defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from handful.cli.bots import LearnerChoice
from handful.cli.console import err, out, warn
from handful.errors import ConfigError

if TYPE_CHECKING:
    from handful.data.corpora import Corpus
    from handful.episodes.sampler import EpisodeSampler
    from handful.training.scoring import EpisodeScore
    from handful.types import Episode, Utterance

DataName = Annotated[str, typer.Option("--data", help="The data set; `handful data list` shows them.")]
SplitName = Annotated[str, typer.Option("--split", help="Which of its splits.")]
UMax = Annotated[int, typer.Option("--u-max", min=1, help="The largest support set, U_max in the paper.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The seed of the episodes.")]
DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="Where data sets lie; else HANDFUL_DATA, else the cache.")
]
_SHOWN_QUERIES = 3


def evaluate(
    data: DataName,
    learner: LearnerChoice = "prototypes",
    split: SplitName = "test",
    u_max: UMax = 20,
    episodes: Annotated[int, typer.Option("--episodes", min=1, help="How many episodes.")] = 100,
    seed: Seed = 0,
    json_out: Annotated[Path | None, typer.Option("--json", help="Write the result here; - is stdout.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Score a learner on the paper's episodes, with both scorers."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    if json_out is not None and str(json_out) != "-" and (json_out.is_dir() or not json_out.parent.is_dir()):
        raise ConfigError(f"{json_out}: found a folder, or no folder to write it to; expected the path of a file")
    corpus, sampler = _sampler(data, split, u_max, seed, data_dir)
    # Now, not later: everything a person may have mistyped is known before the encoder is loaded.
    from handful.encoders import minilm
    from handful.learners.choose import build_learner
    from handful.training.evaluate import evaluate as evaluated

    built = build_learner(learner, remember=True)
    started = time.perf_counter()
    scores: list[EpisodeScore] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task(f"{data} {split}", total=episodes)
        for event in evaluated(built, sampler.episodes(episodes)):
            scores.append(event.score)
            progress.advance(task)
    record = {
        "corpus": data,
        "split": split,
        "u_max": u_max,
        "episodes": episodes,
        "seed": seed,
        "learner": learner,
        "encoder": minilm.NAME,
        "config": built.config.model_dump(),
        "query_cap": sampler.query_cap,
        "data_version": corpus.digest(split),
        "eval_seconds": round(time.perf_counter() - started, 1),
        **_percentages(scores),
    }
    if str(json_out) != "-":
        _print_scores(record)
    if json_out is not None:
        _write_json(record, json_out)


def episodes(
    data: DataName,
    split: SplitName = "test",
    u_max: UMax = 20,
    seed: Seed = 0,
    n: Annotated[int, typer.Option("--n", min=1, help="How many episodes.")] = 1,
    start: Annotated[int, typer.Option("--start", min=0, help="The first episode's number.")] = 0,
    show_all: Annotated[bool, typer.Option("--all", help="Every query sentence, not only the first few.")] = False,
    stats: Annotated[bool, typer.Option("--stats", help="Means over the episodes instead of the episodes.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Show the episodes of a split: what a learner is given, and what it is asked."""
    _, sampler = _sampler(data, split, u_max, seed, data_dir)
    drawn = sampler.episodes(n, start)
    if stats:
        _print_statistics(list(drawn))
        return
    for episode in drawn:
        _print_episode(episode, show_all)


def _sampler(data: str, split: str, u_max: int, seed: int, data_dir: Path | None) -> tuple[Corpus, EpisodeSampler]:
    from handful.data.corpora import load_corpus
    from handful.episodes.sampler import EpisodeSampler
    from handful.places import data_dir as chosen_dir

    corpus = load_corpus(data, chosen_dir(data_dir))
    sampler = EpisodeSampler(corpus.split(split), u_max=u_max, seed=seed)
    if sampler.left_out:
        names = ", ".join(sampler.left_out)
        warn([f"{data} {split}: fewer than two utterances, so never in an episode: {names}"])
    return corpus, sampler


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


def _print_scores(record: dict[str, Any]) -> None:
    from rich.table import Table

    about = "{learner} on {corpus} {split}, U_max {u_max}, {episodes} episodes, seed {seed}"
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


def _print_statistics(drawn: list[Episode]) -> None:
    from rich.table import Table

    from handful.episodes.statistics import episode_statistics
    from handful.training.ceilings import label_ceiling, tag_ceiling
    from handful.training.scoring import interval

    found = asdict(episode_statistics(drawn))
    table = Table(title=f"means over {found['episodes']} episodes", title_justify="left", show_header=False)
    for name, value in (
        ("intents (N)", f"{found['classes']:.2f}"),
        ("support utterances (Σ k_c)", f"{found['support']:.2f}"),
        ("queries an intent (k_q)", f"{found['query_shots']:.2f}"),
        ("intents with one shot", f"{found['one_shot_share']:.1%}"),
        ("query slot words whose tag the support lacks", f"{found['unseen_tag_share']:.1%}"),
        ("queries that equal a support utterance", f"{found['repeated_share']:.1%}"),
        ("strict F1 of the gold, unseen tags set to O", f"{interval([tag_ceiling(e) for e in drawn]).mean:.1%}"),
        (
            "strict F1 of the gold, unseen slots set to O",
            f"{interval([label_ceiling(e) for e in drawn]).mean:.1%}",
        ),
    ):
        table.add_row(name, value)
    out.print(table)


def _print_episode(episode: Episode, show_all: bool) -> None:
    from handful.cli.show import marked_utterance
    from handful.data.bio import tag_set

    shots = Counter(utterance.intent for utterance in episode.support)
    out.rule(f"episode {episode.index}, seed {episode.seed}", align="left")
    out.print(
        f"{len(shots)} intents, {len(episode.support)} support and {len(episode.query)} query utterances\n",
        style="dim",
    )
    support, query = _by_intent(episode.support), _by_intent(episode.query)
    for intent in episode.intents:
        out.print(f"{intent}", style="bold")
        for utterance in support[intent]:
            out.print("  support  ", marked_utterance(utterance), sep="")
        limit = len(query[intent]) if show_all else _SHOWN_QUERIES
        for utterance in query[intent][:limit]:
            out.print("  query    ", marked_utterance(utterance), sep="", style="dim")
        if len(query[intent]) > limit:
            out.print(f"           … and {len(query[intent]) - limit} more", style="dim")
    unseen = sorted(tag_set(episode.query) - tag_set(episode.support))
    out.print(f"\ntags of the query that the support lacks: {', '.join(unseen) or 'none'}\n", style="dim")


def _by_intent(utterances: tuple[Utterance, ...]) -> dict[str, list[Utterance]]:
    found: defaultdict[str, list[Utterance]] = defaultdict(list)
    for utterance in utterances:
        found[utterance.intent].append(utterance)
    return found
