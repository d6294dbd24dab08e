"""Accuracy against seconds to adapt, a point a system, a panel a bot: from the records of benchmarks/peers.py.

python benchmarks/peers_plot.py results/peers.json results/peers.svg      # needs the extra `report`
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from peer_tables import SYSTEM_NAMES, of_systems

SIZE = {"width": 300, "height": 200}


def points(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Systems that name intents, one row each."""
    return [
        {
            "bot": f"{record['corpus']}, {record['shots']} examples an intent",
            "system": record["system"],
            "seconds": record["adapt_seconds"]["mean"],
            "accuracy": record["intent_accuracy"]["mean"],
        }
        for record in of_systems(records)
        if "intent_accuracy" in record
    ]


def save_plot(records: Sequence[Mapping[str, Any]], path: Path) -> None:
    import altair as alt

    rows = points(records)
    shown = [name for name in SYSTEM_NAMES if any(row["system"] == name for row in rows)]
    one_legend = {"scale": alt.Scale(domain=shown), "legend": alt.Legend(title=None, symbolLimit=0)}
    seconds = alt.Axis(title="seconds to adapt (log)", values=[0.01, 0.1, 1, 10, 100, 1000])
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_point(size=90, filled=True, opacity=0.9)
        .encode(
            x=alt.X("seconds:Q", scale=alt.Scale(type="log"), axis=seconds),
            y=alt.Y("accuracy:Q", scale=alt.Scale(zero=False), title="intent accuracy, %"),
            # Shape says what colour says: a print in grey is still read.
            color=alt.Color("system:N", **one_legend),
            shape=alt.Shape("system:N", **one_legend),
        )
        .properties(**SIZE)
        .facet(facet=alt.Facet("bot:N", title=None, sort=list(dict.fromkeys(row["bot"] for row in rows))), columns=2)
        .resolve_scale(y="independent")
        .properties(title="Quick and right: up and to the left")
    )
    chart.save(str(path))


if __name__ == "__main__":
    from handful.training.results import read_records

    save_plot(read_records(Path(sys.argv[1])), Path(sys.argv[2]))
