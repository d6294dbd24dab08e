"""Trains and scores the paper's own rows: its framework in three forms on three corpora, and the two ablations.

python benchmarks/paper_rows.py               # trains what is missing, then scores it, in the order that matters
python benchmarks/paper_rows.py atis-ww-1     # these jobs only, if they are missing
python benchmarks/paper_rows.py --list        # what there is to do

A job is a run (runs/paper/, not committed) and a file of records (results/explicit_joint/); one that has its file is
done. Every figure comes from the two commands that this prints.
"""

from __future__ import annotations

from jobs import ROOT, Job, each, main

CORPORA = ("snips", "atis", "top")
ROWS = {
    "ww": [],
    "oo": ["learner.intent_contrast_weight=0", "learner.slot_contrast_weight=0"],
    "wo": ["learner.slot_contrast_weight=0"],
    # What SNIPS's dev set, whose intents are not new, would have us do: go on.
    "ww-long": ["epochs=10"],
    # The paper's ablations are of (o,o): no contrastive terms.
    "intent-to-slot": [
        "learner.direction=intent-to-slot",
        "learner.intent_contrast_weight=0",
        "learner.slot_contrast_weight=0",
    ],
    "slot-to-intent": [
        "learner.direction=slot-to-intent",
        "learner.intent_contrast_weight=0",
        "learner.slot_contrast_weight=0",
    ],
}


def job(row: str, corpus: str, seed: int) -> Job:
    """Both U_max; the ablations at 20 only, as in the paper. (w,w) also without our decoding."""
    name = f"{corpus}-{row}-{seed}"
    changes = [*ROWS[row], f"train_seed={seed}", f"episode_seed={seed}"]
    u_maxes = ("20",) if row in {"intent-to-slot", "slot-to-intent"} else ("20", "100")
    decodings = ("joint", "independent") if (row, seed) == ("ww", 0) else ("joint",)
    return Job(
        name,
        ROOT / "runs" / "paper" / name,
        ROOT / "results" / "explicit_joint" / f"{name}.json",
        (f"configs/{corpus}.yml", *each("--set", changes)),
        tuple(
            ("--u-max", u_max, "--episodes", "100", "--seed", "0", "--set", f"decoding={decoding}")
            for u_max in u_maxes
            for decoding in decodings
        ),
    )


def jobs() -> list[Job]:
    """(w,w) on all corpora first, then the other rows, then (w,w) with two more seeds, then the longer one."""
    first = [job(row, corpus, 0) for row in ROWS if row != "ww-long" for corpus in CORPORA]
    more = [job("ww", corpus, seed) for seed in (1, 2) for corpus in CORPORA]
    return first + more + [job("ww-long", "snips", seed) for seed in (0, 1)]


if __name__ == "__main__":
    main(jobs())
