"""The tables of benchmarks/peers.py, from its records: systems on few-shot bots, and the ratios of the targets."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

CORPORA = ("fb_multilingual_en", "clinc150")
# In the order of the table.
SYSTEM_NAMES = (
    "handful (int8)",
    "handful (torch)",
    "SetFit",
    "logistic regression on MiniLM",
    "TF-IDF + logistic regression",
    "CRF",
    "nlp.js",
)
RATIOS = {
    "parse": "a parse against the bare int8 encoder's forward, one by one",
    "first_parse": "a first parse in a new process against loading the bare encoder and one forward",
}

Record = Mapping[str, Any]


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that so many percent of them do not exceed: one that was measured, nothing between two."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    return ordered[max(0, -int(-len(ordered) * percent // 100) - 1)]


def order_of(record: Record) -> tuple[Any, ...]:
    """Systems by bot, then ratios."""
    if "ratio_of" in record:
        return 1, list(RATIOS).index(record["ratio_of"]), CORPORA.index(record["corpus"])
    return 0, CORPORA.index(record["corpus"]), record["shots"], SYSTEM_NAMES.index(record["system"])


def of_systems(records: Sequence[Record]) -> list[Record]:
    return sorted((record for record in records if "system" in record), key=order_of)


def table(records: Sequence[Record]) -> str:
    """One line a bot and system; scores are mean ± 95 % interval over the draws, seconds are means."""
    lines = [
        "| data | examples an intent | system | intent accuracy | slot F1 | seconds to adapt | parse, p50 ms | p95 ms "
        "| sentences/s, batch | peak MB | draws |",
        f"|{'---|' * 11}",
    ]
    for record in of_systems(records):
        cells = [record["corpus"], str(record["shots"]), record["system"]]
        cells += [score(record.get(metric)) for metric in ("intent_accuracy", "span_f1")]
        cells.append(brief(record["adapt_seconds"]["mean"]))
        cells += [f"{record[key]:.2f}" for key in ("p50_ms", "p95_ms")]
        cells += [f"{record['sentences_per_second']['mean']:,.0f}", f"{record['peak_megabytes']:.0f}"]
        lines.append(f"| {' | '.join([*cells, str(len(record['draws']))])} |")
    return "\n".join(lines) + "\n"


def score(value: Mapping[str, Any] | None) -> str:
    if value is None:
        return "–"
    return f"{value['mean']:.1f}" + ("" if value["ci95"] is None else f" ± {value['ci95']:.1f}")


def brief(seconds: float) -> str:
    """Two or three digits that matter: 0.012, 0.31, 4.2, 611."""
    return f"{seconds:.3f}" if seconds < 0.1 else f"{seconds:.2f}" if seconds < 1 else f"{seconds:.3g}"


def against_setfit(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Of every bot that both were measured on: how many times quicker handful adapts, and what accuracy it gains, on
    the draws that both have."""
    known = {(r["corpus"], r["shots"], r["system"]): r for r in of_systems(records)}
    found = []
    for (corpus, shots, system), other in known.items():
        own = known.get((corpus, shots, "handful (int8)"))
        if system != "SetFit" or own is None:
            continue
        both = [draw for draw in own["draws"] if draw in other["draws"]]
        gained = statistics.mean(accuracy_of(own, draw) - accuracy_of(other, draw) for draw in both)
        times = other["adapt_seconds"]["mean"] / own["adapt_seconds"]["mean"]
        found.append({"corpus": corpus, "shots": shots, "times_quicker": times, "accuracy_gained": gained})
    return found


def accuracy_of(record: Record, draw: int) -> float:
    return record["intent_accuracy"]["per_draw"][record["draws"].index(draw)]


def ratio_table(records: Sequence[Record]) -> str:
    lines = ["| | ratio | target | |", "|---|---|---|---|"]
    for record in sorted((record for record in records if "ratio_of" in record), key=order_of):
        own, bare = record["milliseconds"], record["against_milliseconds"]
        bot = f"{record['corpus']}, {record['shots']} examples an intent"
        lines.append(
            f"| {RATIOS[record['ratio_of']]} ({bot}) | {record['ratio']:.2f} | ≤ {record['target']} "
            f"| {own:.1f} ms against {bare:.1f} ms |"
        )
    for row in against_setfit(records):
        bot = f"{row['corpus']}, {row['shots']} examples an intent"
        lines.append(
            f"| SetFit's seconds to adapt against handful's ({bot}) | {row['times_quicker']:.0f} | ≥ 50 "
            f"| handful's accuracy is {row['accuracy_gained']:+.1f} points |"
        )
    return "\n".join(lines) + "\n"
