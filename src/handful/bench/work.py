"""One run of the grid: train it, or go on with it, then score it. What an engine hands out, wherever it is done."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handful.bench.frozen import Frozen, refuse_other_episodes
from handful.data.corpora import Corpus, load_corpus
from handful.data.formats.files import write_text
from handful.episodes.sampler import EpisodeSampler
from handful.errors import HandfulError, TrainingError
from handful.places import data_dir as chosen_dir
from handful.training.checkpoint import About, read_about
from handful.training.config import RunConfig
from handful.training.events import DevScored
from handful.training.measure import Scoring, dev_curve, labels_of, measured, trained
from handful.training.run import RunFolder

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Work:
    config: RunConfig
    folder: Path  # of the run, named by its settings' digest
    scorings: tuple[Scoring, ...] = ()

    @property
    def title(self) -> str:
        about = labels_of(self.config)
        return f"{about['row']}, {about['encoder']}, {about['train_corpus']}, seed {about['train_seed']}"


@dataclass(frozen=True, slots=True)
class Means:
    """What a run may use, and where the data is."""

    threads: int = 2
    processes: int = 1  # that train one run together, through torchrun
    data_dir: Path | None = None
    corpora: Mapping[str, Corpus] | None = None  # as they came through a cluster's object store
    frozen: Frozen | None = None

    def corpus(self, name: str) -> Corpus:
        return self.corpora[name] if self.corpora is not None else load_corpus(name, chosen_dir(self.data_dir))


@dataclass(frozen=True, slots=True)
class Done:
    work: Work
    about: About
    records: tuple[dict[str, Any], ...]
    warning: str = ""  # of something that went wrong beside it


@dataclass(frozen=True, slots=True)
class Failed:
    """A run that could not go on; the others are not touched by it."""

    work: Work
    reason: str


def do(work: Work, means: Means, tell: Tell = lambda _: None) -> Done | Failed:
    """Trains and scores. A run that is complete is only scored; errors that a person can mend come back as values."""
    import torch

    torch.set_num_threads(means.threads)
    try:
        _train(work, means, tell)
        return Done(work, read_about(RunFolder(work.folder).checkpoint), tuple(_scored(work, means, tell)))
    except HandfulError as error:
        return Failed(work, str(error))
    except OSError as error:  # a full disk, a share that went away
        return Failed(work, f"{error.filename or work.folder}: {error.strerror or error}")


def _train(work: Work, means: Means, tell: Tell) -> None:
    from handful.training.start import prepare_run

    if means.processes > 1:
        _train_with_torchrun(work, means)
        return
    run = RunFolder(work.folder)
    corpora = [means.corpus(name) for name in work.config.corpora]
    resume = (work.folder / "config.json").exists()
    trainer = prepare_run(work.config, run, resume=resume, corpora=corpora, threads=means.threads)
    for event in trainer.train():
        if isinstance(event, DevScored):
            accuracy, f1 = event.scores["intent_accuracy"], event.scores["slot_f1_strict"]
            tell(f"  step {event.step}: dev intent accuracy {accuracy:.1f}, slot F1 {f1:.1f}, {event.seconds:.0f} s")


def _train_with_torchrun(work: Work, means: Means) -> None:
    """The same run by several processes of this machine: `handful train`, as a person would start it."""
    settings = work.folder.with_suffix(".json")  # JSON is YAML, too
    write_text(settings, json.dumps(work.config.model_dump(mode="json")))
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(means.processes)]
    train = ["-m", "handful", "train", str(settings), "--into", str(work.folder), "--threads", str(means.threads)]
    if (work.folder / "config.json").exists():
        train.append("--resume")
    if means.data_dir is not None:
        train += ["--data-dir", str(means.data_dir)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(means.threads)}
    command = [sys.executable, *launch, *train]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        _, told = process.communicate()
    finally:
        if process.poll() is None:  # asked, not killed: its processes would outlive it
            process.terminate()
            process.communicate()
    if process.returncode:
        # torchrun tells of its processes at length; the line that a person can use is the first of ours.
        lines = told.splitlines() or [f"exit code {process.returncode}"]
        ours = next((line for line in lines if line.startswith("error: ")), lines[-1])
        raise TrainingError(f"torchrun: {ours.removeprefix('error: ')}")


def _scored(work: Work, means: Means, tell: Tell) -> Sequence[dict[str, Any]]:
    if not work.scorings:
        return []
    scored, curve = trained(work.folder), dev_curve(work.folder)
    found = []
    for scoring in work.scorings:
        corpus = means.corpus(scoring.corpus)
        sampler = EpisodeSampler(corpus.split(scoring.split), u_max=scoring.u_max, seed=scoring.seed)
        if means.frozen is not None:
            refuse_other_episodes(means.frozen, scoring, sampler)
        record = measured(scored, corpus, sampler, scoring)
        found.append({**record, "curve": curve})
        accuracy, f1 = (record[metric]["mean"] for metric in ("intent_accuracy", "slot_f1_strict"))
        tell(f"  {scoring.corpus}, U_max {scoring.u_max}: intent accuracy {accuracy:.1f}, slot F1 {f1:.1f} strict")
    return found
