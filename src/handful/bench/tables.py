"""The paper's tables from our records: each figure with its interval, the printed one beside it, and the paired
difference from (w,w) on the same episodes."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from handful.bench.compare import Difference, paired_bootstrap
from handful.bench.published import Metric, published, scorer_of
from handful.bench.rows import ABLATIONS, BASE, CORPORA, FAMILY, MODES, ROWS

Record = dict[str, Any]
Cell = tuple[str, str, str, str, int, str]  # row, encoder, mode, corpus, U_max, what more tells runs apart


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    header: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    note: str = ""

    def markdown(self) -> str:
        rows = [self.header, tuple("---" for _ in self.header), *self.lines]
        body = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        return f"## {self.title}\n\n{body}\n" + (f"\n{self.note}\n" if self.note else "")


def tables(records: Iterable[Record]) -> list[Table]:
    """Tables 3-6, the ablation, and what everything cost."""
    cells = by_cell(records)
    found = [
        _table("Table 3: intent accuracy, U_max 20", cells, "intent", 20),
        _table("Table 4: intent accuracy, U_max 100", cells, "intent", 100),
        _table("Table 5: slot F1, U_max 20", cells, "slot", 20),
        _table("Table 6: slot F1, U_max 100", cells, "slot", 100),
        _table("Ablation: intent accuracy, U_max 20", cells, "intent", 20, ablation=True),
        _table("Ablation: slot F1, U_max 20", cells, "slot", 20, ablation=True),
        cost_table(cells),
    ]
    return [table for table in found if table.lines]


def by_cell(records: Iterable[Record]) -> dict[Cell, list[Record]]:
    """Records of the paper's corpora by what they measure, one a train seed. Of two with the same settings that lie in
    two files, the one with details (and so of bench) counts."""
    chosen: dict[tuple[Cell, int], Record] = {}
    for record in records:
        if not _in_a_table(record):
            continue
        key = (_cell(record), record["train_seed"])
        if key not in chosen or ("details" in record, record["episodes"]) > (
            "details" in chosen[key],
            chosen[key]["episodes"],
        ):
            chosen[key] = record
    found: defaultdict[Cell, list[Record]] = defaultdict(list)
    for (cell, _), record in sorted(chosen.items()):
        found[cell].append(record)
    return dict(found)


def _in_a_table(record: Record) -> bool:
    known = record["row"] in ROWS and record["corpus"] in CORPORA and record["encoder"] in FAMILY
    of_test = record["split"] == "test" and record["mode"] in MODES and record["episode_seed"] == 0
    # joint_spans has settings of its own kind of episodes; tuned or not is told apart below.
    return known and of_test and record.get("decoding", "joint") == "joint"


def _cell(record: Record) -> Cell:
    config = record["config"]
    budget = config["epochs"] * config["episodes_per_epoch"]
    marks = [f"{budget:,} episodes"] if budget != 500 else []
    if record["row"] == "joint_spans" and record.get("tuning_steps"):
        marks.append(f"{record['tuning_steps']} steps of tuning")
    return record["row"], record["encoder"], record["mode"], record["corpus"], record["u_max"], ", ".join(marks)


def _table(title: str, cells: dict[Cell, list[Record]], metric: Metric, u_max: int, *, ablation: bool = False) -> Table:
    measures = ("intent_accuracy",) if metric == "intent" else ("slot_f1_strict", "slot_f1_released")
    names = ["ours"] if metric == "intent" else ["strict", "released"]
    against = [f"{name} less {BASE}" if metric == "slot" else f"less {BASE}" for name in names]
    header = ("row", "encoder", "mode", "data", *names, "paper", "its scorer", *against, "seeds")
    lines = []
    for cell, found in sorted(cells.items(), key=_order):
        row, encoder, mode, corpus, of, marks = cell
        wanted = {*ABLATIONS, "(o,o)"} if ablation else ROWS.keys() - ABLATIONS
        if of != u_max or row not in wanted:
            continue
        printed = published(FAMILY[encoder], row, mode, corpus, u_max, metric)
        lines.append(
            (
                f"{row}, {marks}" if marks else row,
                encoder,
                mode,
                corpus.upper(),
                *(over_seeds(found, measure) for measure in measures),
                "–" if printed is None else f"{printed:.1f}",
                "" if printed is None else "" if metric == "intent" else scorer_of(row),
                *(_against_base(cells, cell, measure) for measure in measures),
                str(len(found)),
            )
        )
    if metric == "intent":  # accuracy has one scorer, and it is known; the episodes are the authors' own all the same
        place = header.index("its scorer")
        header = header[:place] + header[place + 1 :]
        lines = [line[:place] + line[place + 1 :] for line in lines]
    return Table(title, header, tuple(lines), _NOTE)


_NOTE = (
    "One seed: mean ± 95 % interval over episodes; several: mean ± standard deviation over seeds. Differences are "
    "paired, episode by episode, seed 0, with the 95 % interval and p of a bootstrap of 10,000 resamples. The paper's "
    "figures are those of its encoder of the same family (GloVe, ELMo, BERT); for MiniLM and gte-small that is BERT. "
    'A scorer that is "unknown" belongs to a row that the paper copied from its own paper.'
)


def _order(item: tuple[Cell, list[Record]]) -> tuple[Any, ...]:
    row, encoder, mode, corpus, u_max, marks = item[0]
    encoders = list(FAMILY)
    return encoders.index(encoder), MODES.index(mode), list(ROWS).index(row), marks, CORPORA.index(corpus), u_max


def over_seeds(records: Sequence[Record], measure: str) -> str:
    values = [record[measure] for record in records]
    if len(values) == 1:
        spread = values[0]["ci95"]
        return f"{values[0]['mean']:.1f}" + ("" if spread is None else f" ± {spread:.1f}")
    means = [value["mean"] for value in values]
    return f"{statistics.mean(means):.1f} ± {statistics.stdev(means):.1f} std"


def _against_base(cells: dict[Cell, list[Record]], cell: Cell, measure: str) -> str:
    """Of the same encoder, mode, corpus and seed; joint training is compared with single where (w,w) has no other."""
    difference = difference_from_base(cells, cell, measure)
    if difference is None:
        return ""
    p = "< 0.001" if difference.p < 0.001 else f"= {difference.p:.3f}"
    return f"{difference.mean:+.1f} [{difference.low:+.1f}, {difference.high:+.1f}], p {p}"


def difference_from_base(cells: dict[Cell, list[Record]], cell: Cell, measure: str) -> Difference | None:
    row, encoder, mode, corpus, u_max, marks = cell
    if row == BASE and mode == "single":
        return None
    bases = [cells.get((BASE, encoder, way, corpus, u_max, ""), []) for way in dict.fromkeys([mode, "single"])]
    base = next((found for found in bases if found and row != BASE), None) or bases[-1]
    pairs = [(ours, other) for ours in cells[cell] for other in base if ours["train_seed"] == other["train_seed"]]
    for ours, other in pairs:
        same = all(ours[key] == other[key] for key in ("episodes", "data_version", "query_cap"))
        if same:
            return paired_bootstrap(ours[measure]["per_episode"], other[measure]["per_episode"])
    return None


def cost_table(cells: dict[Cell, list[Record]]) -> Table:
    """What a row costs beside what it is worth: the first seed's."""
    header = (
        "row",
        "encoder",
        "mode",
        "data",
        "U_max",
        "intents",
        "slots, strict",
        "trained, s",
        "episodes",
        "steps on a support",
    )
    header += ("scored, s", "peak, MB")
    lines = []
    for cell, found in sorted(cells.items(), key=_order):
        row, encoder, mode, corpus, u_max, marks = cell
        record = found[0]
        lines.append(
            (
                f"{row}, {marks}" if marks else row,
                encoder,
                mode,
                corpus.upper(),
                str(u_max),
                f"{record['intent_accuracy']['mean']:.1f}",
                f"{record['slot_f1_strict']['mean']:.1f}",
                _number(record.get("train_seconds")),
                _number(record.get("train_episodes")),
                _number(record.get("tuning_steps") or 0),
                _number(record.get("eval_seconds")),
                _number(record.get("peak_mb")),
            )
        )
    return Table("Cost", header, tuple(lines), "Seconds are those of two cores, shared now and then with other work.")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.0f}"
