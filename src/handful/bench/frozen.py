"""The frozen list of test episodes: every learner is asked the very same ones, on every machine and in every version.

results/bench/episodes.json holds a short sum of each episode's support and query, in their order. Whoever samples
otherwise, or has other data, is told before a figure is written that could be compared with another.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from handful.data.bio import utterance_tags
from handful.data.formats.files import read_text, write_text
from handful.episodes.sampler import EpisodeSampler
from handful.errors import DataError, Place
from handful.training.measure import Scoring
from handful.training.results import alone_in
from handful.types import Episode

Frozen = dict[str, list[str]]  # "atis test, U_max 20, seed 0" -> the sums of its episodes, from number 0 on


def name_of(scoring: Scoring) -> str:
    return f"{scoring.corpus} {scoring.split}, U_max {scoring.u_max}, seed {scoring.seed}"


def sum_of(episode: Episode) -> str:
    content = hashlib.sha256()
    for part in (episode.support, episode.query):
        for utterance in part:
            content.update("\x1f".join([utterance.text, utterance.intent, *utterance_tags(utterance)]).encode() + b"\n")
        content.update(b"\n")
    return content.hexdigest()[:8]


def read_frozen(path: Path) -> Frozen:
    if not path.exists():
        return {}
    try:
        content = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise DataError.at(Place(path), f"not JSON: {error}") from None
    if not isinstance(content, dict) or not all(isinstance(sums, str) for sums in content.values()):
        raise DataError.at(Place(path), "found something else, expected the sums of test episodes by name")
    return {name: sums.split() for name, sums in content.items()}


def freeze(path: Path, scorings: Iterable[tuple[Scoring, EpisodeSampler]]) -> Frozen:
    """The list with what these scorings need; sums that are in it already must be the same."""
    with alone_in(path.parent):
        frozen = read_frozen(path)
        for scoring, sampler in scorings:
            refuse_other_episodes(frozen, scoring, sampler, path)
            sums = frozen.setdefault(name_of(scoring), [])
            sums += [sum_of(sampler.episode(number)) for number in range(len(sums), scoring.episodes)]
        body = ",\n".join(f' {json.dumps(name)}: "{" ".join(frozen[name])}"' for name in sorted(frozen))
        write_text(path, f"{{\n{body}\n}}\n")
    return frozen


def refuse_other_episodes(frozen: Frozen, scoring: Scoring, sampler: EpisodeSampler, path: Path | None = None) -> None:
    name = name_of(scoring)
    for number, expected in enumerate(frozen.get(name, [])[: scoring.episodes]):
        if (found := sum_of(sampler.episode(number))) != expected:
            raise DataError.at(
                Place(path or Path("episodes.json")),
                f"{name}: episode {number} is {found}, expected {expected}: other data or another sampler, so its "
                "figures could not stand beside those that are there; --results names another folder",
            )
