"""README's table of results, from the files that `make results` wrote.

python benchmarks/readme_table.py            # prints it
python benchmarks/readme_table.py --write    # puts it into README.md, between its two marks
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
START, END = "<!-- results:prototypes -->\n", "<!-- end of results -->\n"
CORPORA = ("snips", "atis", "top", "released-snips", "released-atis", "released-top")


def cell(value: dict[str, Any]) -> str:
    return f"{value['mean']:.1f} ± {value['ci95']:.1f}"


def table(folder: Path) -> str:
    lines = [
        "| data | U_max | intent accuracy | slot F1, strict | slot F1, released | joint, strict | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    for corpus in CORPORA:
        for u_max in (20, 100):
            record = json.loads((folder / f"{corpus}-{u_max}.json").read_text(encoding="utf-8"))
            metrics = ("intent_accuracy", "slot_f1_strict", "slot_f1_released", "joint_accuracy")
            cells = [corpus, str(u_max), *(cell(record[metric]) for metric in metrics), f"{record['eval_seconds']:.0f}"]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def with_table(readme: str, made: str) -> str:
    before, rest = readme.split(START)
    _, after = rest.split(END)
    return f"{before}{START}{made}{END}{after}"


if __name__ == "__main__":
    made = table(ROOT / "results" / "prototypes")
    if "--write" in sys.argv[1:]:
        readme = ROOT / "README.md"
        readme.write_text(with_table(readme.read_text(encoding="utf-8"), made), encoding="utf-8")
    else:
        print(made, end="")
