"""Which records belong together: a cell of a table is a row with an encoder, trained and asked in one way, by seed.

Settings that are not the row's own are part of its name: a run with another learning rate is another line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from handful.bench.compare import Difference, paired_bootstrap
from handful.bench.rows import BASE, CORPORA, DEFAULT_BUDGET, FAMILY, MODES, ROWS, run_config
from handful.training.config import RunConfig

Record = dict[str, Any]
_TELLING = {"learner", "optimiser", "u_max", "query_cap", "train_episodes", "train_splits"}
# What two records must share to be compared episode by episode.
_SAME_EPISODES = ("corpus", "u_max", "episodes", "episode_seed", "data_version", "query_cap")


@dataclass(frozen=True, slots=True)
class Cell:
    row: str
    encoder: str  # as records have it
    mode: str
    corpus: str
    u_max: int
    budget: int  # train episodes, at most
    episodes: int = 100  # that it was asked
    tuned: bool = False  # joint_spans alone may be: the others either always take steps on the support or never do
    others: str = ""  # settings that are not the row's own

    @property
    def name(self) -> str:
        marks = [self.row, *["tuned"] * self.tuned, self.others]
        if self.episodes != 100:
            marks.append(f"{self.episodes} test episodes")
        return ", ".join(filter(None, marks))

    @property
    def order(self) -> tuple[Any, ...]:
        """As in the paper: encoder, mode, row, corpus."""
        places = (list(FAMILY).index(self.encoder), MODES.index(self.mode), list(ROWS).index(self.row))
        return *places, self.tuned, self.budget, self.name, CORPORA.index(self.corpus), self.u_max


Cells = dict[Cell, list[Record]]


def by_cell(records: Iterable[Record]) -> Cells:
    """Records of the paper's corpora, in the order of tables, one for each train seed. Of two of the same settings that
    lie in two files the one with details, which is bench's own, counts."""
    chosen: dict[tuple[Cell, int], Record] = {}
    for record in records:
        if not _in_a_table(record):
            continue
        key = (_cell(record), record["train_seed"])
        if key not in chosen or ("details" in record and "details" not in chosen[key]):
            chosen[key] = record
    found: Cells = {}
    for cell, seed in sorted(chosen, key=lambda key: (key[0].order, key[1])):
        found.setdefault(cell, []).append(chosen[cell, seed])
    return found


def difference_from_base(cells: Cells, cell: Cell, measure: str) -> Difference | None:
    """From (w,w) with the same encoder and train seed; of the same mode if there is one, else trained singly; of the
    same budget if there is one, else of the nearest. The first seed that both have counts."""
    if cell.row == BASE and cell.mode == "single":
        return None
    modes = ["single"] if cell.row == BASE else dict.fromkeys([cell.mode, "single"])
    for mode in modes:
        for base in _bases(cells, cell, mode):
            for ours in cells[cell]:
                for other in cells[base]:
                    alike = all(ours[key] == other[key] for key in _SAME_EPISODES)
                    if alike and ours["train_seed"] == other["train_seed"]:
                        return paired_bootstrap(ours[measure]["per_episode"], other[measure]["per_episode"])
    return None


def _bases(cells: Cells, cell: Cell, mode: str) -> list[Cell]:
    """The nearest budget first."""
    wanted = (BASE, cell.encoder, mode, cell.corpus, cell.u_max, "")
    found = [c for c in cells if (c.row, c.encoder, c.mode, c.corpus, c.u_max, c.others) == wanted]
    return sorted(found, key=lambda other: (abs(other.budget - cell.budget), other.budget))


def _in_a_table(record: Record) -> bool:
    known = record["row"] in ROWS and record["corpus"] in CORPORA and record["encoder"] in FAMILY
    of_test = record["split"] == "test" and record["mode"] in MODES and record["episode_seed"] == 0
    return known and of_test and record.get("decoding", "joint") == "joint"


def _cell(record: Record) -> Cell:
    config = record["config"]
    return Cell(
        record["row"],
        record["encoder"],
        record["mode"],
        record["corpus"],
        record["u_max"],
        config["epochs"] * config["episodes_per_epoch"],
        record["episodes"],
        record["row"] == "joint_spans" and bool(record.get("tuning_steps")),
        _others(record),
    )


def _others(record: Record) -> str:
    """Settings that are not those of the row, as `a.b=c`. How long and on what it was trained is told elsewhere."""
    # The encoder itself is told by its name; all of a kind have the same settings.
    encoder = "minilm" if FAMILY[record["encoder"]] == "BERT" else "glove"
    own = run_config(record["row"], encoder, CORPORA, 0, DEFAULT_BUDGET)
    try:
        config = RunConfig.model_validate(record["config"])
    except ValidationError:  # of another version of handful
        return "settings of another version"
    ours, standard = (dict(_flat(c.model_dump(mode="json", include=_TELLING))) for c in (config, own))
    keys = [
        key for key in ours | standard if ours.get(key) != standard.get(key) and not key.startswith("learner.tuning.")
    ]
    return ", ".join(f"{key}={ours.get(key)}" for key in sorted(keys))


def _flat(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value
