"""Jobs of training and scoring, one process each: what is done is not done again, and every command is printed."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True)
class Job:
    """A run (not committed) and a file of its records; a job that has its file is done."""

    name: str
    run: Path
    results: Path
    train: tuple[str, ...]  # arguments of `handful train`, without the folder
    scorings: tuple[tuple[str, ...], ...]  # of `handful evaluate`, each without the run

    def do(self, threads: int) -> None:
        resume = ["--resume"] if (self.run / "config.json").exists() else []
        handful(["train", *self.train, "--into", str(self.run), *resume, "--threads", str(threads)], threads)
        partial = self.results.with_suffix(".partial")
        self.results.parent.mkdir(parents=True, exist_ok=True)
        # Scorings are done in order, so as many are done as there are records.
        for scoring in self.scorings[_records(partial) :]:
            handful(["evaluate", str(self.run), *scoring, "--results", str(partial)], threads)
        partial.replace(self.results)


def _records(file: Path) -> int:
    return len(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else 0


def handful(arguments: Sequence[str], threads: int) -> None:
    print("handful", " ".join(arguments), flush=True)
    command = ["env", f"OMP_NUM_THREADS={threads}", sys.executable, "-m", "handful", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    print(done.stdout + done.stderr, flush=True)
    done.check_returncode()


def each(option: str, values: Sequence[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


def main(jobs: Sequence[Job]) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="JOB", help="as --list shows them; all where none is given")
    parser.add_argument("--threads", type=int, default=2, help="threads of torch")
    parser.add_argument("--list", action="store_true", help="what there is to do")
    options = parser.parse_args()
    known = {job.name: job for job in jobs}
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"there is no job {', '.join(unknown)}; the jobs are {', '.join(known)}")
    missing = [known[name] for name in options.names or known if not known[name].results.exists()]
    if options.list:
        print("\n".join(job.name for job in missing))
        return
    for job in missing:
        job.do(options.threads)
