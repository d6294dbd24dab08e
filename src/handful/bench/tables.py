"""The paper's tables from our records: each figure with its interval, the printed one beside it, and the paired
difference from (w,w) on the same episodes."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from handful.bench.cells import Cell, Cells, Record, by_cell, difference_from_base
from handful.bench.published import Metric, published, scorer_of
from handful.bench.rows import ABLATIONS, BASE, ENCODERS, FAMILY, ROWS

NOTE = (
    "Budget: train episodes, at most; joint training has one budget for all three corpora. One seed: mean ± 95 % "
    "interval over test episodes; several: mean ± standard deviation over train seeds. Differences are paired, episode "
    "by episode, of one seed, with the 95 % interval and p of a bootstrap of 10,000 resamples, from (w,w) of the same "
    "encoder: of the same mode where it was trained so, else singly, and of the nearest budget. The paper's figures "
    "are those of its encoder of the same family (GloVe, ELMo, BERT); for MiniLM and gte-small that is BERT. Its own "
    'rows have its own scorer, which is our "released"; a row that it copied from elsewhere says "scorer unknown". '
    "Cost: seconds of training are those of the steps up to the checkpoint that was kept, on two cores that did other "
    "work as well. A run is scored in one process, at U_max 20 first, and what was encoded then is not encoded again "
    "at 100 (Fine-tune and foMAML, which change the encoder for each support, have nothing to keep). Peak memory is "
    "that of the process, training included where it was trained in it."
)
_SHORT = {encoder.label: name for name, encoder in ENCODERS.items()}


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    header: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]

    def markdown(self) -> str:
        rows = [self.header, tuple("---" for _ in self.header), *self.lines]
        return f"## {self.title}\n\n" + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def tables(records: Iterable[Record]) -> list[Table]:
    """Tables 3-6, the ablation, and what everything cost; those that have a line."""
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


def document(records: Iterable[Record]) -> str:
    """All tables as one Markdown file."""
    parts = ["# The paper's tables, measured\n", f"Made by `handful bench --tables`. {NOTE}\n"]
    return "\n".join([*parts, *(table.markdown() for table in tables(records))])


def _table(title: str, cells: Cells, metric: Metric, u_max: int, *, ablation: bool = False) -> Table:
    measures = (
        {"": "intent_accuracy"}
        if metric == "intent"
        else {
            "strict": "slot_f1_strict",
            "released": "slot_f1_released",
        }
    )
    wanted = {*ABLATIONS, "(o,o)"} if ablation else ROWS.keys() - ABLATIONS
    lines = []
    for cell, found in cells.items():
        if cell.u_max == u_max and cell.row in wanted:
            figures = [over_seeds(found, measure) for measure in measures.values()]
            differences = [_difference(cells, cell, measure) for measure in measures.values()]
            lines.append((*_names(cell), *figures, _printed(cell, metric), *differences, str(len(found))))
    ours = [name or "ours" for name in measures]
    against = [f"{name} less {BASE}".strip() for name in measures]
    return Table(title, ("row", "encoder", "mode", "budget", "data", *ours, "paper", *against, "seeds"), tuple(lines))


def _names(cell: Cell) -> tuple[str, ...]:
    return cell.name, _SHORT[cell.encoder], cell.mode, f"{cell.budget:,}", cell.corpus.upper()


def _printed(cell: Cell, metric: Metric) -> str:
    printed = published(FAMILY[cell.encoder], cell.row, cell.mode, cell.corpus, cell.u_max, metric)
    if printed is None:
        return "–"
    # Of intents there is one way to count.
    return f"{printed:.1f}" + (", scorer unknown" if metric == "slot" and scorer_of(cell.row) == "unknown" else "")


def over_seeds(records: Sequence[Record], measure: str) -> str:
    values = [record[measure] for record in records]
    if len(values) == 1:
        spread = values[0]["ci95"]
        return f"{values[0]['mean']:.1f}" + ("" if spread is None else f" ± {spread:.1f}")
    means = [value["mean"] for value in values]
    return f"{statistics.mean(means):.1f} ± {statistics.stdev(means):.1f} std"


def _difference(cells: Cells, cell: Cell, measure: str) -> str:
    found = difference_from_base(cells, cell, measure)
    if found is None:
        return ""
    p = "<0.001" if found.p < 0.001 else f"={found.p:.3f}"
    return f"{found.mean:+.1f} [{found.low:+.1f}, {found.high:+.1f}] p{p}"


def cost_table(cells: Cells) -> Table:
    """What a row costs beside what it is worth: of its first seed. NOTE says what the seconds are of."""
    header = (
        "row",
        "encoder",
        "mode",
        "budget",
        "data",
        "U_max",
        "intents",
        "slots, strict",
        "trained, s",
        "best after",
    )
    header += ("steps on a support", "scored, s", "peak, MB")
    lines = []
    for cell, (record, *_) in cells.items():
        quality = [f"{record[measure]['mean']:.1f}" for measure in ("intent_accuracy", "slot_f1_strict")]
        spent = ("train_seconds", "train_episodes", "tuning_steps", "eval_seconds", "peak_mb")
        cost = [_number(0 if key == "tuning_steps" and not record.get(key) else record.get(key)) for key in spent]
        lines.append((*_names(cell), str(cell.u_max), *quality, *cost))
    return Table("Cost", header, tuple(lines))


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"
