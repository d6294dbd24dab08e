"""Trains and scores the paper's own rows: its framework in three forms on three corpora, and the two ablations.

python benchmarks/paper_rows.py --threads 2   # trains what is missing, then scores it, in the order that matters
python benchmarks/paper_rows.py atis-ww-1     # these jobs only, if they are missing
python benchmarks/paper_rows.py --list        # what there is to do

A job is a run (runs/paper/, not committed) and a file of records (results/explicit_joint/); one that has its file is
done. Each job is one process with --threads threads. Every figure comes from the two commands that this prints.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
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


@dataclass(frozen=True, slots=True)
class Job:
    row: str
    corpus: str
    seed: int

    @property
    def name(self) -> str:
        return f"{self.corpus}-{self.row}-{self.seed}"

    @property
    def run(self) -> Path:
        return ROOT / "runs" / "paper" / self.name

    @property
    def results(self) -> Path:
        return ROOT / "results" / "explicit_joint" / f"{self.name}.json"

    def train(self) -> list[str]:
        changes = [*ROWS[self.row], f"train_seed={self.seed}", f"episode_seed={self.seed}"]
        return ["train", f"configs/{self.corpus}.yml", "--into", str(self.run), *_each("--set", changes)]

    def scorings(self) -> list[list[str]]:
        """Both U_max; the ablations at 20 only, as in the paper. (w,w) also without our decoding."""
        u_maxes = ("20",) if self.row in {"intent-to-slot", "slot-to-intent"} else ("20", "100")
        decodings = ("joint", "independent") if (self.row, self.seed) == ("ww", 0) else ("joint",)
        return [
            ["evaluate", str(self.run), "--u-max", u_max, "--episodes", "100", "--seed", "0", "--set", f"decoding={decoding}"]
            for u_max in u_maxes
            for decoding in decodings
        ]


def jobs() -> list[Job]:
    """(w,w) on all corpora first, then the other rows, then (w,w) with two more seeds, then the longer one."""
    first = [Job(row, corpus, 0) for row in ROWS if row != "ww-long" for corpus in CORPORA]
    more = [Job("ww", corpus, seed) for seed in (1, 2) for corpus in CORPORA]
    return first + more + [Job("ww-long", "snips", seed) for seed in (0, 1)]


def do(job: Job, threads: int) -> None:
    train = job.train()
    if (job.run / "config.json").exists():
        train.append("--resume")
    _handful([*train, "--threads", str(threads)], threads)
    partial = job.results.with_suffix(".partial")
    job.results.parent.mkdir(parents=True, exist_ok=True)
    partial.unlink(missing_ok=True)
    for scoring in job.scorings():
        _handful([*scoring, "--results", str(partial)], threads)
    partial.replace(job.results)


def _handful(arguments: list[str], threads: int) -> None:
    print("handful", " ".join(arguments), flush=True)
    command = ["env", f"OMP_NUM_THREADS={threads}", sys.executable, "-m", "handful", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    print(done.stdout + done.stderr, flush=True)
    done.check_returncode()


def _each(option: str, values: list[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="JOB", help="as --list shows them; all where none is given")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--threads", type=int, default=1, help="threads of each")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    known = {job.name: job for job in jobs()}
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"there is no job {', '.join(unknown)}; the jobs are {', '.join(known)}")
    missing = [known[name] for name in options.names or known if not known[name].results.exists()]
    if options.list:
        print("\n".join(job.name for job in missing))
        return
    with ThreadPoolExecutor(options.jobs) as pool:
        try:
            for outcome in [pool.submit(do, job, options.threads) for job in missing]:
                outcome.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)  # what has not begun shall not begin
            raise


if __name__ == "__main__":
    main()
