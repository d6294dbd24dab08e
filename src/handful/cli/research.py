"""What the commands for researchers have in common, and `episodes`."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from handful.cli.console import out, warn
from handful.errors import ConfigError

if TYPE_CHECKING:
    from handful.data.corpora import Corpus
    from handful.episodes.sampler import EpisodeSampler
    from handful.types import Episode, Utterance

DataName = Annotated[str, typer.Option("--data", help="The data set; `handful data list` shows them.")]
SplitName = Annotated[str, typer.Option("--split", help="Which of its splits.")]
UMax = Annotated[int, typer.Option("--u-max", min=1, help="The largest support set, U_max in the paper.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The seed of the episodes.")]
DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="Where data sets lie; else HANDFUL_DATA, else the cache.")
]
_SHOWN_QUERIES = 3


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
    _, sampler = sampler_of(data, split, u_max, seed, data_dir)
    drawn = sampler.episodes(n, start)
    if stats:
        _print_statistics(list(drawn))
        return
    for episode in drawn:
        _print_episode(episode, show_all)


def refuse_unwritable(path: Path) -> None:
    """Before the work whose result shall be written there."""
    if path.is_dir() or not path.parent.is_dir():
        raise ConfigError(f"{path}: found a folder, or no folder to write it to; expected the path of a file")


def sampler_of(data: str, split: str, u_max: int, seed: int, data_dir: Path | None) -> tuple[Corpus, EpisodeSampler]:
    from handful.data.corpora import load_corpus
    from handful.episodes.sampler import EpisodeSampler
    from handful.places import data_dir as chosen_dir

    corpus = load_corpus(data, chosen_dir(data_dir))
    sampler = EpisodeSampler(corpus.split(split), u_max=u_max, seed=seed)
    if sampler.left_out:
        names = ", ".join(sampler.left_out)
        warn([f"{data} {split}: fewer than two utterances, so never in an episode: {names}"])
    return corpus, sampler


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
