"""The table of docs/serving.md, from the record of serving.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def table(records: Sequence[dict[str, Any]]) -> str:
    (record,) = records
    lines = ["| processes | clients | sentences/s | of the bare encoder's | p50 | p99 |", "|---|---|---|---|---|---|"]
    for row in record["throughput"]["rows"]:
        times = row["milliseconds"]
        lines.append(
            f"| {row['processes']} | {row['connections']} | {row['answered_per_second']:.0f} | {row['ratio']:.2f} × "
            f"{row['bare_per_second']:.0f} | {times['p50']:.1f} ms | {times['p99']:.1f} ms |"
        )
    return "\n".join([*lines, "", *_overload(record["overload"]), "", *_memory(record["memory"])]) + "\n"


def _overload(part: dict[str, Any]) -> list[str]:
    twice, before, after = part["twice"], part["before"], part["after"][-1]
    refused = twice["statuses"].get("503", 0)
    memory = part["resident_mb"]
    return [
        f"Half a minute of twice the capacity of one process ({part['capacity_per_second']:.0f} sentences/s): "
        f"{twice['statuses']['200']:,} answered,",
        f"p99 {twice['milliseconds']['p99']:.0f} ms; {refused:,} turned away with a 503, half of them within "
        f"{twice['refused_milliseconds']['p50']:.0f} ms; nothing else.",
        f"Eight clients before and after: p50 {before['milliseconds']['p50']:.1f} and "
        f"{after['milliseconds']['p50']:.1f} ms. Memory {memory['before']:.0f} MB before,",
        f"{memory['after_overload']:.0f} after it, {memory['in_the_end']:.0f} in the end.",
    ]


def _memory(part: dict[str, Any]) -> list[str]:
    levels = part["resident_mb"]
    return [
        f"{part['parses']:,} parses and {part['edits']:,} changes: {levels[1]:.0f} MB after a tenth of them, "
        f"{max(levels[2:]):.0f} MB at the most after that ({part['growth']:+.1%})."
    ]
