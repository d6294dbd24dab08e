"""README's tables of results, from the records in results/.

python benchmarks/readme_table.py            # prints them
python benchmarks/readme_table.py --write    # puts them into README.md, between their marks
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
END = "<!-- end of results -->\n"
CORPORA = ("snips", "atis", "top", "released-snips", "released-atis", "released-top")
TRAINED_ROWS = (
    ("(o,o)", "joint"),
    ("(w,o)", "joint"),
    ("(w,w)", "joint"),
    ("(w,w)", "independent"),
    ("intent-to-slot", "joint"),
    ("slot-to-intent", "joint"),
)

# The paper's Tables 3-6 and its ablation: (row, corpus, U_max) -> intent accuracy, slot F1.
PUBLISHED = {
    ("(o,o)", "snips", 20): (84.61, 50.03),
    ("(o,o)", "atis", 20): (76.09, 61.79),
    ("(o,o)", "top", 20): (59.63, 38.41),
    ("(w,o)", "snips", 20): (85.81, 50.77),
    ("(w,o)", "atis", 20): (80.37, 62.73),
    ("(w,o)", "top", 20): (62.81, 38.82),
    ("(w,w)", "snips", 20): (85.15, 52.82),
    ("(w,w)", "atis", 20): (80.44, 63.65),
    ("(w,w)", "top", 20): (62.85, 39.92),
    ("(o,o)", "snips", 100): (86.35, 54.29),
    ("(o,o)", "atis", 100): (84.92, 59.13),
    ("(o,o)", "top", 100): (67.98, 38.74),
    ("(w,o)", "snips", 100): (86.46, 54.52),
    ("(w,o)", "atis", 100): (86.85, 62.01),
    ("(w,o)", "top", 100): (68.74, 38.40),
    ("(w,w)", "snips", 100): (86.79, 55.19),
    ("(w,w)", "atis", 100): (86.29, 64.95),
    ("(w,w)", "top", 100): (68.51, 40.88),
    ("intent-to-slot", "snips", 20): (81.20, 49.57),
    ("intent-to-slot", "atis", 20): (72.90, 59.27),
    ("intent-to-slot", "top", 20): (57.11, 36.12),
    ("slot-to-intent", "snips", 20): (82.75, 48.95),
    ("slot-to-intent", "atis", 20): (73.57, 54.73),
    ("slot-to-intent", "top", 20): (58.39, 34.43),
}


def cell(value: dict[str, Any]) -> str:
    return f"{value['mean']:.1f} ± {value['ci95']:.1f}"


def untrained_table(records: Sequence[dict[str, Any]]) -> str:
    lines = [
        "| data | U_max | intent accuracy | slot F1, strict | slot F1, released | joint, strict | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    by_key = {(record["corpus"], record["u_max"]): record for record in records}
    for corpus in CORPORA:
        for u_max in (20, 100):
            record = by_key[corpus, u_max]
            metrics = ("intent_accuracy", "slot_f1_strict", "slot_f1_released", "joint_accuracy")
            cells = [corpus, str(u_max), *(cell(record[metric]) for metric in metrics), f"{record['eval_seconds']:.0f}"]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def trained_table(records: Sequence[dict[str, Any]]) -> str:
    """One line a row, corpus and U_max: the mean over train seeds, and beside it what the paper prints."""
    lines = [
        "| row | data | U_max | intent accuracy | paper | slot F1, released | paper | strict | joint | seeds |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row, decoding in TRAINED_ROWS:
        label = row if decoding == "joint" else f"{row}, word by word"
        for u_max in (20, 100):
            for corpus in ("snips", "atis", "top"):
                wanted = (row, corpus, u_max, decoding)
                found = [r for r in records if (r["row"], r["corpus"], r["u_max"], r["decoding"]) == wanted]
                if not found:
                    continue
                accuracy, f1 = PUBLISHED[row, corpus, u_max]
                metrics = ("intent_accuracy", "slot_f1_released", "slot_f1_strict", "joint_accuracy")
                ours = [over_seeds([record[metric] for record in found]) for metric in metrics]
                cells = [label, corpus, str(u_max), ours[0], f"{accuracy:.1f}", ours[1], f"{f1:.1f}", *ours[2:]]
                lines.append(f"| {' | '.join(cells)} | {len(found)} |")
    return "\n".join(lines) + "\n"


def over_seeds(values: Sequence[dict[str, Any]]) -> str:
    """One seed: mean ± ci95 over episodes. Several: mean ± std over the seeds."""
    if len(values) == 1:
        return cell(values[0])
    means = [value["mean"] for value in values]
    return f"{statistics.mean(means):.1f} ± {statistics.stdev(means):.1f} std"


def records_of(*paths: Path) -> list[dict[str, Any]]:
    return [record for path in paths for record in json.loads(path.read_text(encoding="utf-8"))]


def tables() -> dict[str, str]:
    trained = sorted((ROOT / "results" / "explicit_joint").glob("*.json"))
    return {
        "<!-- results:prototypes -->\n": untrained_table(records_of(ROOT / "results" / "prototypes.json")),
        "<!-- results:trained -->\n": trained_table(records_of(*trained)),
    }


def with_tables(readme: str) -> str:
    for start, made in tables().items():
        before, rest = readme.split(start)
        _, after = rest.split(END, maxsplit=1)
        readme = f"{before}{start}{made}{END}{after}"
    return readme


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        file = ROOT / "README.md"
        file.write_text(with_tables(file.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print("\n".join(tables().values()), end="")
