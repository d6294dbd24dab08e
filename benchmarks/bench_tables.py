"""All learners on the same episodes, and how far the baselines are from what was published, from bench's records."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from handful.bench.cells import Cell, Cells, by_cell
from handful.bench.published import Metric, published
from handful.bench.rows import CORPORA, FAMILY

LEARNERS = ("finetune", "fomaml", "proto", "retriever", "(w,w)", "joint_spans")
_NAMES = {"finetune": "Fine-tune", "fomaml": "foMAML", "proto": "Proto", "retriever": "Retriever"}
_COLUMNS: tuple[tuple[str, Metric | None], ...] = (
    ("intent_accuracy", "intent"),
    ("slot_f1_released", "slot"),
    ("slot_f1_strict", None),
)


def learners_table(records: Sequence[dict[str, Any]]) -> str:
    """Means only, MiniLM, each corpus on its own; in brackets what the paper prints, whoever scored it."""
    cells = by_cell(records)
    names = [corpus.upper() for corpus in CORPORA]
    lines = [
        f"| U_max | learner | seeds | intents: {' | '.join(names)} | slots, released: {' | '.join(names)} "
        f"| slots, strict: {' | '.join(names)} |",
        f"|---|---|---|{'---|' * 9}",
    ]
    for u_max in (20, 100):
        for row in LEARNERS:
            for tuned in (False, True):
                line = _line(cells, row, u_max, tuned)
                if line:
                    lines.append(f"| {' | '.join(line)} |")
    return "\n".join(lines) + "\n"


def _line(cells: Cells, row: str, u_max: int, tuned: bool) -> list[str]:
    found = [_cell(cells, row, corpus, u_max, tuned) for corpus in CORPORA]
    if not all(found):
        return []
    seeds = sorted({len(cells[cell]) for cell in found if cell})
    name = _NAMES.get(row, row) + (", tuned on the support" if tuned else "")
    line = [str(u_max), name, " to ".join(map(str, seeds[:: max(1, len(seeds) - 1)]))]
    for measure, metric in _COLUMNS:
        for cell in found:
            assert cell is not None
            mean = statistics.mean(record[measure]["mean"] for record in cells[cell])
            printed = None
            if metric is not None:
                printed = published(FAMILY[cell.encoder], row, cell.mode, cell.corpus, u_max, metric)
            line.append(f"{mean:.1f}" + ("" if printed is None else f" ({printed:.1f})"))
    return line


def _cell(cells: Cells, row: str, corpus: str, u_max: int, tuned: bool) -> Cell | None:
    """Of the smallest budget, where a row was trained for longer, too."""
    wanted = (row, "all-MiniLM-L6-v2", "single", corpus, u_max, tuned)
    own = [c for c in cells if (c.row, c.encoder, c.mode, c.corpus, c.u_max, c.tuned) == wanted]
    return min(own, key=lambda cell: cell.budget) if own else None


def distance_table(records: Sequence[dict[str, Any]]) -> str:
    """Our baselines less what the paper prints for them, at U_max 20 and 100; means over seeds."""
    cells = by_cell(records)
    names = [corpus.upper() for corpus in CORPORA]
    lines = [
        f"| encoder | mode | baseline | U_max | intents: {' | '.join(names)} | slots, released: {' | '.join(names)} "
        f"| slots, strict: {' | '.join(names)} |",
        f"|---|---|---|---|{'---|' * 9}",
    ]
    ways = dict.fromkeys((c.encoder, c.mode, c.row, c.u_max) for c in cells if c.row in _NAMES and not c.others)
    for encoder, mode, row, u_max in ways:
        found = [_distances(cells, encoder, mode, row, corpus, u_max) for corpus in CORPORA]
        if any(value for own in found for value in own):
            values = [own[number] or "–" for number in range(3) for own in found]
            lines.append(f"| {encoder} | {mode} | {_NAMES[row]} | {u_max} | {' | '.join(values)} |")
    return "\n".join(lines) + "\n"


def _distances(cells: Cells, encoder: str, mode: str, row: str, corpus: str, u_max: int) -> list[str]:
    """Intents, slots released and strict; empty where either side is missing."""
    wanted = (row, encoder, mode, corpus, u_max, "")
    own = [c for c in cells if (c.row, c.encoder, c.mode, c.corpus, c.u_max, c.others) == wanted]
    found = []
    for measure, metric in (("intent_accuracy", "intent"), ("slot_f1_released", "slot"), ("slot_f1_strict", "slot")):
        printed = published(FAMILY[encoder], row, mode, corpus, u_max, "intent" if metric == "intent" else "slot")
        if own and printed is not None:
            mean = statistics.mean(record[measure]["mean"] for record in cells[own[0]])
            found.append(f"{mean - printed:+.1f}")
        else:
            found.append("")
    return found
