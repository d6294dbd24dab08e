"""Which records belong together: a cell of a table is a row with an encoder, trained and asked in one way, by seed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from handful.bench.compare import Difference, paired_bootstrap
from handful.bench.rows import BASE, CORPORA, FAMILY, MODES, ROWS

Record = dict[str, Any]
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
    tuned: bool = False  # joint_spans alone may be: the others either always take steps on the support or never do

    @property
    def name(self) -> str:
        return f"{self.row}, tuned" if self.tuned else self.row

    @property
    def order(self) -> tuple[int, ...]:
        """As in the paper: encoder, mode, row, corpus."""
        places = (list(FAMILY).index(self.encoder), MODES.index(self.mode), list(ROWS).index(self.row))
        return *places, self.tuned, self.budget, CORPORA.index(self.corpus), self.u_max


Cells = dict[Cell, list[Record]]


def by_cell(records: Iterable[Record]) -> Cells:
    """Records of the paper's corpora, in the order of tables, one for each train seed. Of two that lie in two files the
    one with details, which is bench's own, counts, or else the one with more episodes."""
    chosen: dict[tuple[Cell, int], Record] = {}
    for record in records:
        if not _in_a_table(record):
            continue
        key = (_cell(record), record["train_seed"])
        if key not in chosen or _weight(record) > _weight(chosen[key]):
            chosen[key] = record
    found: Cells = {}
    for cell, seed in sorted(chosen, key=lambda key: (key[0].order, key[1])):
        found.setdefault(cell, []).append(chosen[cell, seed])
    return found


def difference_from_base(cells: Cells, cell: Cell, measure: str) -> Difference | None:
    """From (w,w) with the same encoder and train seed; of the same mode if there is one, else trained singly. The first
    seed that both have counts."""
    if cell.row == BASE and cell.mode == "single":
        return None
    modes = ["single"] if cell.row == BASE else dict.fromkeys([cell.mode, "single"])
    for mode in modes:
        base = _base(cells, cell, mode)
        for ours in cells[cell]:
            for other in base:
                alike = all(ours[key] == other[key] for key in _SAME_EPISODES)
                if alike and ours["train_seed"] == other["train_seed"]:
                    return paired_bootstrap(ours[measure]["per_episode"], other[measure]["per_episode"])
    return None


def _base(cells: Cells, cell: Cell, mode: str) -> Sequence[Record]:
    """Of the smallest budget: where (w,w) was trained longer as well, that is a line of its own."""
    found = [
        other
        for other in cells
        if (other.row, other.encoder, other.mode, other.corpus, other.u_max)
        == (BASE, cell.encoder, mode, cell.corpus, cell.u_max)
    ]
    return cells[min(found, key=lambda other: other.budget)] if found else []


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
        record["row"] == "joint_spans" and bool(record.get("tuning_steps")),
    )


def _weight(record: Record) -> tuple[bool, int]:
    return "details" in record, record["episodes"]
