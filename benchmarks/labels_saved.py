"""How many labels `handful suggest` saves against annotating sentences as they come.

    python benchmarks/labels_saved.py              # some minutes (needs HANDFUL_DATA), and the table
    python benchmarks/labels_saved.py --table      # the table of what was measured

A bot starts with a few examples. In rounds, sentences of the pool (a sample of the train file) are annotated with
their true labels: those that are suggested, or some at random. After each round it is asked for the same test
utterances. Five draws: of the start, of the pool and of what is random.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from confidence_metrics import Floats
from out_of_domain import DRAWS, asked_sample, cell, over_draws

from handful.data.corpora import load_corpus
from handful.data.formats.files import write_text
from handful.learners.held_out import held_out
from handful.learners.joint_spans import JointSpansLearner
from handful.model.spans import unit_rows
from handful.parser.calibration import calibrated, fit_calibration
from handful.parser.suggest import doubt, most_telling
from handful.places import data_dir
from handful.training.results import read_records
from handful.types import Utterance

ROOT = Path(__file__).parent.parent
TEST_UTTERANCES = 500
WAYS = ("suggested", "at random")


@dataclass(frozen=True, slots=True)
class Setting:
    corpus: str
    start: str  # "even": so many examples of each intent; "as they come": so many in all, whatever they are
    examples: int
    a_round: int
    rounds: int
    pool: int


SETTINGS = (
    Setting("clinc150", "even", 1, 50, 8, 2000),
    Setting("clinc150", "as they come", 150, 50, 8, 2000),
    Setting("fb_multilingual_en", "even", 1, 10, 8, 2000),
    Setting("fb_multilingual_en", "as they come", 20, 10, 8, 2000),
)


def started(setting: Setting, train: Sequence[Utterance], rng: np.random.Generator) -> tuple[list[int], list[int]]:
    """The rows of the first examples and of the pool; a sentence is in one of them, and once."""
    order = rng.permutation(len(train)).tolist()
    seen: set[tuple[str, ...]] = set()
    rows = [row for row in order if not (train[row].sentence in seen or seen.add(train[row].sentence))]
    if setting.start == "even":
        counts: dict[str, int] = {}
        first = []
        for row in rows:
            counts[train[row].intent] = counts.get(train[row].intent, 0) + 1
            if counts[train[row].intent] <= setting.examples:
                first.append(row)
    else:
        first = rows[: setting.examples]
    taken = set(first)
    return first, [row for row in rows if row not in taken][: setting.pool]


def accuracies(
    learner: JointSpansLearner,
    setting: Setting,
    way: str,
    train: Sequence[Utterance],
    asked: Sequence[Utterance],
    draw: int,
) -> list[float]:
    """Intent accuracy in percent, at the start and after each round."""
    first, pool = started(setting, train, np.random.default_rng([draw, 0]))
    rng, support, found = np.random.default_rng([draw, 1]), [train[row] for row in first], []
    for _ in range(setting.rounds + 1):
        adapted = learner.adapt(support)
        said = adapted.predict([utterance.sentence for utterance in asked])
        found.append(100 * float(np.mean([p.intent == u.intent for p, u in zip(said, asked, strict=True)])))
        left = [train[row] for row in pool]
        if way == "at random":
            chosen = rng.choice(len(pool), setting.a_round, replace=False).tolist()
        else:
            intents = sorted({utterance.intent for utterance in support})
            calibration = fit_calibration(support, held_out(learner, adapted), intents)
            guesses = adapted.predict([utterance.sentence for utterance in left])
            doubts = np.array([doubt(calibrated(guess, calibration).ranking) for guess in guesses])
            chosen = most_telling(doubts, sentence_vectors(learner, left), setting.a_round)
        support += [left[number] for number in chosen]
        taken = {pool[number] for number in chosen}
        pool = [row for row in pool if row not in taken]
    return found


def sentence_vectors(learner: JointSpansLearner, utterances: Sequence[Utterance]) -> Floats:
    return unit_rows(np.stack([mean for _, mean in learner.see([utterance.sentence for utterance in utterances])]))


def labels_needed(curve: Sequence[float], a_round: int, accuracy: float) -> float | None:
    """How many labels a curve needs to reach an accuracy, on the line between two rounds; None: it never does."""
    for number, (before, after) in enumerate(pairwise(curve)):
        if before >= accuracy:
            return float(number * a_round)
        if after >= accuracy:
            return (number + (accuracy - before) / (after - before)) * a_round
    return None


def measured(learner: JointSpansLearner, setting: Setting, draws: int) -> dict[str, Any]:
    corpus = load_corpus(setting.corpus, data_dir())
    train, asked = corpus.split("train"), asked_sample(corpus.split("test"), TEST_UTTERANCES)
    curves = {way: [accuracies(learner, setting, way, train, asked, draw) for draw in range(draws)] for way in WAYS}
    differences = np.array(curves["suggested"]) - np.array(curves["at random"])
    return {
        **asdict(setting),
        "draws": list(range(draws)),
        "test_utterances": len(asked),
        "data_version": {split: corpus.digest(split) for split in ("train", "test")},
        "labels": [number * setting.a_round for number in range(setting.rounds + 1)],
        **{way: [over_draws(column) for column in np.array(curves[way]).T.tolist()] for way in WAYS},
        "gained": [over_draws(column) for column in differences.T.tolist()],
    }


def table(records: Sequence[Mapping[str, Any]]) -> str:
    lines = [
        "| data | start | labels added | suggested | at random | gained | labels at random for the same |",
        "|---|---|---|---|---|---|---|",
    ]
    for record in records:
        what = {"even": "of each intent", "as they come": "as they come"}[record["start"]]
        by_chance = [value["mean"] for value in record["at random"]]
        for place in (1, 2, 4, 8):
            if place >= len(record["labels"]):
                continue
            need = labels_needed(by_chance, record["a_round"], record["suggested"][place]["mean"])
            cells = [
                record["corpus"],
                f"{record['examples']} {what}",
                str(record["labels"][place]),
                *(cell(record[name][place]) for name in (*WAYS, "gained")),
                f"{need:.0f}" if need is not None else f"more than {record['labels'][-1]}",
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "labels_saved.json")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    parser.add_argument("--draws", type=int, choices=range(1, DRAWS + 1), default=DRAWS)
    parser.add_argument("--threads", type=int, default=2, help="threads of torch")
    options = parser.parse_args()
    if not options.table:
        import torch

        from handful.training.shipped import shipped_folder
        from handful.training.start import load_learner

        torch.set_num_threads(options.threads)
        learner, about = load_learner(shipped_folder(), remember=True)
        assert isinstance(learner, JointSpansLearner)
        records = []
        for setting in SETTINGS:
            records.append({"weights_sha256": about.weights_sha256, **measured(learner, setting, options.draws)})
            print(f"{setting.corpus}, {setting.start}: measured", file=sys.stderr, flush=True)
        lines = [json.dumps(record, ensure_ascii=False) for record in records]
        write_text(options.results, "[\n" + ",\n".join(lines) + "\n]\n")
    print(table(read_records(options.results)), end="")


if __name__ == "__main__":
    main()
