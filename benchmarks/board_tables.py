"""The tables of benchmarks/boards.py, from its records and from what others publish."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from peer_tables import brief

Record = Mapping[str, Any]

BOARD_NAMES = {
    "banking77": "BANKING77",
    "clinc150": "CLINC150",
    "hwu64": "HWU64",
    "facebook": "Facebook",
    "snips_slots": "SNIPS slots",
    "snips_joint": "joint SNIPS",
    "clinc150_oos": "CLINC150, out of scope",
}
SYSTEM_TITLES = {
    "handful": "**handful**",
    "handful_unfitted": "handful, heads not fitted",
    "setfit": "SetFit 1.2, MiniLM",
    "logistic_regression": "logistic regression on frozen MiniLM, names as examples",
    "crf": "CRF",
}
PROTOCOLS = {"fixed": "", "per_fold": ", trained for each fold without its domain"}

Column = tuple[str, str, int]  # board, metric, examples
INTENT_COLUMNS: tuple[Column, ...] = tuple(
    (board, "intent_accuracy", shots) for board in ("banking77", "clinc150", "hwu64", "facebook") for shots in (5, 10)
)
SLOT_COLUMNS: tuple[Column, ...] = (
    *(("facebook", "slot_f1", shots) for shots in (5, 10)),
    *(("facebook", "joint_accuracy", shots) for shots in (5, 10)),
    *(("snips_slots", "slot_f1", shots) for shots in (1, 5)),
    *(("snips_joint", "joint_accuracy", shots) for shots in (1, 5)),
)
SCOPE_METRICS = ("auroc", "in_scope_accuracy", "oos_recall", "coverage_at_5")
CALIBRATION_COLUMNS: tuple[Column, ...] = (
    *(("clinc150", "intent_ece", shots) for shots in (5, 10)),
    *(("facebook", "intent_ece", shots) for shots in (5, 10)),
    *(("facebook", "slot_ece", shots) for shots in (5, 10)),
)
# In the order of the columns where each record has a line.
METRICS = {
    "intent_accuracy": "intents",
    "slot_f1": "slot F1",
    "joint_accuracy": "both right",
    "intent_ece": "calibration error of intents",
    "slot_ece": "calibration error of slots",
    "auroc": "AUROC of in scope",
    "in_scope_accuracy": "in-scope accuracy at the bot's own threshold",
    "oos_recall": "out-of-scope recall there",
    "coverage_at_5": "answered at 5 % error",
}
# As their papers print them: method -> (board, metric, examples) -> percent. None of it was measured here.
PUBLISHED_INTENTS: Mapping[str, tuple[float, ...]] = {
    "RoBERTa-base + classifier, 125M": (74.04, 84.27, 87.99, 91.55, 75.56, 82.90),
    "USE + ConveRT": (77.75, 85.19, 90.49, 93.26, 80.01, 85.83),
    "DNNC, RoBERTa-base, pairs": (80.40, 86.71, 91.02, 93.76, 80.46, 84.72),
    "CPFT, RoBERTa-base": (80.86, 87.20, 92.34, 94.18, 82.03, 87.13),
    "ICDA, examples written by a large language model": (84.01, 89.79, 92.62, 94.84, 82.45, 87.41),
}
PUBLISHED_SLOTS: Mapping[str, Mapping[Column, float]] = {
    "L-TapNet+CDT, BERT, trained for each fold": {
        ("snips_slots", "slot_f1", 1): 70.4,
        ("snips_slots", "slot_f1", 5): 75.0,
    },
    "vector projection, BERT, trained for each fold": {("snips_slots", "slot_f1", 5): 81.3},
    "augmented natural language, T5-base, tuned on the support": {
        ("snips_slots", "slot_f1", 1): 81.0,
        ("snips_slots", "slot_f1", 5): 90.9,
    },
    "Han et al., AAAI 2024": {
        ("snips_joint", "joint_accuracy", 1): 42.20,
        ("snips_joint", "joint_accuracy", 5): 60.79,
    },
}


def order_of(record: Record) -> tuple[int, int, str, int, int]:
    """Board, examples, protocol, system, seed: also what makes two records the same cell."""
    board, system = list(BOARD_NAMES).index(record["board"]), list(SYSTEM_TITLES).index(record["system"])
    return board, record["shots"], record["protocol"], system, record["train_seed"]


def boards_table(records: Sequence[Record]) -> str:
    """Intents, slots, and what is out of scope: a table each, those without a figure left out."""
    parts = (intents_table(records), slots_table(records), scope_table(records), calibration_table(records))
    return "\n".join(part for part in parts if part)


def front_table(records: Sequence[Record]) -> str:
    """Intents and slots: what a person looks for first."""
    return f"{intents_table(records)}\n{slots_table(records)}"


def intents_table(records: Sequence[Record]) -> str:
    """Accuracy; published rows below what was measured."""
    published = {
        method: dict(zip(INTENT_COLUMNS[: len(figures)], figures, strict=True))
        for method, figures in PUBLISHED_INTENTS.items()
    }
    return _table("accuracy of intents, by examples an intent", INTENT_COLUMNS, records, published)


def slots_table(records: Sequence[Record]) -> str:
    return _table("slots", SLOT_COLUMNS, records, PUBLISHED_SLOTS)


def scope_table(records: Sequence[Record]) -> str:
    columns = tuple(("clinc150_oos", metric, shots) for metric in SCOPE_METRICS for shots in (5, 10))
    return _table("CLINC150 with 1,000 sentences out of scope", columns, records, {})


def calibration_table(records: Sequence[Record]) -> str:
    return _table("15 bins", CALIBRATION_COLUMNS, records, {})


def _table(
    corner: str,
    columns: Sequence[Column],
    records: Sequence[Record],
    published: Mapping[str, Mapping[Column, float]],
) -> str:
    """One line a system and protocol, its means over train seeds; a dash where there is no figure."""
    rows = []
    for protocol, suffix in PROTOCOLS.items():
        for system, title in SYSTEM_TITLES.items():
            own = [record for record in records if record["system"] == system and record["protocol"] == protocol]
            cells = [mean_over_seeds(own, column) for column in columns]
            if any(cell is not None for cell in cells):
                rows.append([title + suffix, *(figure(cell) for cell in cells)])
    if not rows:
        return ""
    for method, figures in published.items():
        rows.append([f"{method} (published)", *(figure(figures.get(column)) for column in columns)])
    head = [corner, *(column_title(column) for column in columns)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (head, ["---"] * len(head), *rows))


def records_table(records: Sequence[Record]) -> str:
    """One line a record, with the intervals and the seconds of adapting to one support set."""
    metrics = list(METRICS)
    lines = [
        f"| board | examples | system | seed | {' | '.join(METRICS.values())} | seconds to adapt |\n",
        f"|{'---|' * (len(metrics) + 5)}\n",
    ]
    for record in sorted(records, key=order_of):
        system = SYSTEM_TITLES[record["system"]].strip("*") + PROTOCOLS[record["protocol"]]
        cells = [BOARD_NAMES[record["board"]], str(record["shots"]), system, str(record["train_seed"])]
        cells += [with_interval(record["metrics"].get(metric)) for metric in metrics]
        lines.append(f"| {' | '.join([*cells, brief(record['seconds'])])} |\n")
    return "".join(lines)


def with_interval(value: Mapping[str, float | None] | None) -> str:
    if value is None:
        return "–"
    return f"{value['mean']:.1f}" + ("" if value["ci95"] is None else f" ± {value['ci95']:.1f}")


def column_title(column: Column) -> str:
    board, metric, shots = column
    if metric in SCOPE_METRICS:
        return f"{METRICS[metric]}, {shots}"
    if metric == "intent_accuracy":
        return f"{BOARD_NAMES[board]}, {shots}"
    return f"{BOARD_NAMES[board]}, {METRICS[metric]}, {shots}"


def mean_over_seeds(records: Sequence[Record], column: Column) -> float | None:
    board, metric, shots = column
    found = [
        record["metrics"][metric]["mean"]
        for record in records
        if record["board"] == board and record["shots"] == shots and metric in record["metrics"]
    ]
    return statistics.fmean(found) if found else None


def figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"
