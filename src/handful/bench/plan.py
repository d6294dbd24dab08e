"""From a choice of rows, encoders, corpora and seeds to the runs that are still to be done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from handful.bench.rows import ABLATIONS, CORPORA, DEFAULT_BUDGET, Budget, in_paper, missing, run_config
from handful.bench.work import Work
from handful.data.formats.files import read_text
from handful.errors import DataError, Place
from handful.training.config import RunConfig
from handful.training.measure import Scoring
from handful.training.results import read_records

# What every record has, whoever made it.
_NEEDED = ("encoder", "mode", "corpus", "split", "u_max", "episodes", "episode_seed", "train_seed", "config")


@dataclass(frozen=True, slots=True)
class Grid:
    rows: tuple[str, ...]
    encoders: tuple[str, ...]
    corpora: tuple[str, ...] = CORPORA
    modes: tuple[str, ...] = ("single",)
    u_maxes: tuple[int, ...] = (20, 100)
    seeds: tuple[int, ...] = (0,)
    episodes: int = 100
    budget: Budget = DEFAULT_BUDGET
    only_paper: bool = False  # leaves out what the paper's tables have no line for


@dataclass(frozen=True, slots=True)
class Skipped:
    encoder: str
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    works: tuple[Work, ...]
    skipped: tuple[Skipped, ...]
    done: int  # runs whose every result is there


def planned(grid: Grid, runs: Path, records: Iterable[dict[str, Any]], changes: dict[str, Any] | None = None) -> Plan:
    """Runs in the order of the grid; a run whose results are all there is not in it, and one that has some of them is
    scored for the others alone."""
    known = {_key(record) for record in records if "details" in record}
    works: list[Work] = []
    skipped: list[Skipped] = []
    done = 0
    for encoder in grid.encoders:
        if (reason := missing(encoder)) is not None:
            skipped.append(Skipped(encoder, reason))
            continue
        for row, seed, trained_on in _trained(grid, encoder):
            config = _changed(run_config(row, encoder, trained_on, seed, grid.budget), changes)
            wanted = _scorings(grid, row, trained_on)
            owed = tuple(scoring for scoring in wanted if _wanted_key(config, scoring) not in known)
            if owed:
                works.append(Work(config, runs.absolute() / config.digest(), owed))
            done += bool(wanted) and not owed
    return Plan(tuple(works), tuple(skipped), done)


def all_records(folder: Path) -> list[dict[str, Any]]:
    """Every record of results below a folder; other lists and files are not ours to read."""
    found = []
    for file in sorted(folder.rglob("*.json")):
        if not read_text(file).lstrip().startswith("["):
            continue
        for number, record in enumerate(read_records(file)):
            if "row" in record and "intent_accuracy" in record:
                if lacking := [key for key in _NEEDED if key not in record]:
                    raise DataError.at(Place(file, pointer=str(number)), f"the record lacks {', '.join(lacking)}")
                found.append(record)
    return found


def _trained(grid: Grid, encoder: str) -> Iterator[tuple[str, int, tuple[str, ...]]]:
    """Row, seed and corpora of the runs of an encoder: all rows of one seed, then the next seed."""
    for mode in grid.modes:
        for seed in grid.seeds:
            for row in grid.rows:
                if in_paper(row, encoder, mode) or not grid.only_paper:
                    for trained_on in _train_sets(mode, grid.corpora):
                        yield row, seed, trained_on


def _train_sets(mode: str, corpora: Sequence[str]) -> list[tuple[str, ...]]:
    return [(corpus,) for corpus in corpora] if mode == "single" else [CORPORA]


def _scorings(grid: Grid, row: str, trained_on: tuple[str, ...]) -> list[Scoring]:
    u_maxes = [u_max for u_max in grid.u_maxes if u_max == 20 or row not in ABLATIONS]
    corpora = [corpus for corpus in trained_on if corpus in grid.corpora]
    return [Scoring(corpus, u_max, grid.episodes) for corpus in corpora for u_max in u_maxes]


def _changed(config: RunConfig, changes: dict[str, Any] | None) -> RunConfig:
    if not changes:
        return config
    from handful.training.sweep import changed_config

    return changed_config(config, changes)


def _key(record: dict[str, Any]) -> tuple[Any, ...]:
    try:
        # Settings that came into being after a record was written have their defaults in it.
        config = RunConfig.model_validate(record["config"]).digest()
    except ValidationError:  # no run's, or one of another version: nothing that is owed here
        config = None
    return config, record["corpus"], record["u_max"], record["episodes"], record["episode_seed"], record["split"]


def _wanted_key(config: RunConfig, scoring: Scoring) -> tuple[Any, ...]:
    return config.digest(), scoring.corpus, scoring.u_max, scoring.episodes, scoring.seed, scoring.split
