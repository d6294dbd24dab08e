"""Few-shot bots out of domain: what a handful of examples of data that no training saw is worth, system by system.

    python benchmarks/out_of_domain.py                         # all that is missing (needs HANDFUL_DATA; some minutes)
    python benchmarks/out_of_domain.py --systems tuned,crf     # these systems only

A bot is 1, 5 or 10 examples of each intent, drawn five times from the train split; every system adapts to the same
draws and is asked for the same utterances of the test split. Slots are scored strictly. What is there already is
measured again only where its settings, weights or data have changed.

Every sentence is encoded anew, as a parser does it, so that the seconds are those of a new bot. `--remember` keeps
encodings between draws: the scores are the same, and the seconds leave out most of the work, so the table has none.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from board_metrics import student_half_width
from bot_systems import SYSTEMS, Answers, System, SystemName, build

from handful.data.bio import slots_of, utterance_tags
from handful.data.corpora import Corpus, load_corpus
from handful.data.formats.files import write_text
from handful.places import data_dir
from handful.training.results import read_records
from handful.training.scoring import span_f1
from handful.types import Utterance

ROOT = Path(__file__).parent.parent
CORPORA = ("fb_multilingual_en", "clinc150")
SHOTS = (1, 5, 10)
DRAWS, TEST_UTTERANCES, TEST_SEED = 5, 1000, 0
METRICS = ("intent_accuracy", "span_f1", "joint_accuracy")


def drawn_support(train: Sequence[Utterance], shots: int, draw: int) -> list[Utterance]:
    """`shots` utterances of each intent, or as many as it has."""
    rng = np.random.default_rng([draw, shots])
    by_intent: defaultdict[str, list[Utterance]] = defaultdict(list)
    for utterance in train:
        by_intent[utterance.intent].append(utterance)
    chosen: list[Utterance] = []
    for _, own in sorted(by_intent.items()):
        chosen += [own[number] for number in sorted(rng.choice(len(own), min(shots, len(own)), replace=False))]
    return chosen


def asked_sample(test: Sequence[Utterance], most: int) -> list[Utterance]:
    if len(test) <= most:
        return list(test)
    return [test[number] for number in sorted(np.random.default_rng(TEST_SEED).choice(len(test), most, replace=False))]


def scores(asked: Sequence[Utterance], answers: Answers, *, with_slots: bool) -> dict[str, float]:
    """In percent; of data without slots, and of systems that say nothing of intents or slots, fewer of them."""
    found: dict[str, float] = {}
    right_intents = right_slots = None
    if answers.intents is not None:
        right_intents = [said == u.intent for said, u in zip(answers.intents, asked, strict=True)]
        found["intent_accuracy"] = 100 * statistics.mean(right_intents)
    if answers.tags is not None and with_slots:
        gold = [utterance_tags(utterance) for utterance in asked]
        right_slots = [set(slots_of(said)) == set(slots_of(g)) for said, g in zip(answers.tags, gold, strict=True)]
        found["span_f1"] = 100 * span_f1(gold, answers.tags)
    if right_intents and right_slots:
        both = [intent and slots for intent, slots in zip(right_intents, right_slots, strict=True)]
        found["joint_accuracy"] = 100 * statistics.mean(both)
    return found


def measured(
    system: System,
    train: Sequence[Utterance],
    asked: Sequence[Utterance],
    shots: int,
    draws: int,
    *,
    with_slots: bool,
) -> dict[str, Any]:
    """Means and intervals over draws, of the scores and of the seconds."""
    sentences = [utterance.sentence for utterance in asked]
    found: defaultdict[str, list[float]] = defaultdict(list)
    for draw in range(draws):
        support = drawn_support(train, shots, draw)
        started = time.perf_counter()
        predict = system.adapt(support)
        adapted = time.perf_counter()
        answers = predict(sentences)
        found["predict_seconds"].append(time.perf_counter() - adapted)
        found["adapt_seconds"].append(adapted - started)
        for metric, value in scores(asked, answers, with_slots=with_slots).items():
            found[metric].append(value)
    return {name: over_draws(found[name]) for name in (*METRICS, "adapt_seconds", "predict_seconds") if name in found}


def over_draws(values: Sequence[float]) -> dict[str, Any]:
    """Mean and half the width of the 95 % interval, by Student's t; one draw has none."""
    half = student_half_width(values)
    return {
        "mean": round(statistics.mean(values), 3),
        "ci95": None if half is None else round(half, 3),
        "per_draw": [round(value, 3) for value in values],
    }


def file_record(record: Mapping[str, Any], path: Path) -> None:
    """One record a line, in the order of the table; of the same bot and system the later one counts."""
    kept = [old for old in read_records(path) if order_of(old) != order_of(record)]
    lines = [json.dumps(line, ensure_ascii=False) for line in sorted([*kept, record], key=order_of)]
    write_text(path, "[\n" + ",\n".join(lines) + "\n]\n")


def order_of(record: Mapping[str, Any]) -> tuple[int, int, int]:
    return CORPORA.index(record["corpus"]), record["shots"], list(SYSTEMS.values()).index(record["system"])


def table(records: Sequence[Mapping[str, Any]]) -> str:
    """One line a corpus, number of examples and system; mean ± 95 % interval over the draws."""
    lines = [
        "| data | examples an intent | system | intent accuracy | span F1 | joint accuracy | seconds to adapt |",
        "|---|---|---|---|---|---|---|",
    ]
    for record in sorted(records, key=order_of):
        cells = [record["corpus"], str(record["shots"]), record["system"]]
        cells += [cell(record.get(metric)) for metric in METRICS]
        cells.append("–" if record["remembered"] else f"{record['adapt_seconds']['mean']:.2f}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def cell(value: Mapping[str, Any] | None) -> str:
    if value is None:
        return "–"
    return f"{value['mean']:.1f}" + ("" if value["ci95"] is None else f" ± {value['ci95']:.1f}")


def main() -> None:
    options = arguments()
    import torch

    torch.set_num_threads(options.threads)
    systems = {name: build(name, options.checkpoint, remember=options.remember) for name in options.systems}
    for name in options.data:
        measure_corpus(load_corpus(name, data_dir()), systems, options)
    print(table(read_records(options.results)), end="")


def measure_corpus(corpus: Corpus, systems: Mapping[SystemName, System], options: argparse.Namespace) -> None:
    train, asked = corpus.split("train"), asked_sample(corpus.split("test"), options.test)
    with_slots = any(utterance.slots for utterance in train)
    # All that the scores depend on stands beside them: a record that has the same is not measured again.
    same = {
        "draws": list(range(options.draws)),  # a draw's seed is [draw, shots]
        "test_utterances": len(asked),
        "test_seed": TEST_SEED,
        "data_version": {split: corpus.digest(split) for split in ("train", "test")},
    }
    cold = set(systems)
    for shots in options.shots:
        for name, system in systems.items():
            if name == "crf" and not with_slots:
                continue
            what = {"corpus": corpus.name, "shots": shots, "system": SYSTEMS[name], "config": dict(system.config)}
            wanted = what | same
            told = f"{corpus.name}, {shots} examples an intent, {SYSTEMS[name]}"
            known = any(record | wanted == record for record in read_records(options.results))
            if known and not options.again:
                print(f"{told}: is there", file=sys.stderr)
                continue
            if name in cold:  # a process's first sentences wait for what later ones find ready
                cold.remove(name)
                system.adapt(drawn_support(train, 1, 0))([asked[0].sentence])
            found = measured(system, train, asked, shots, options.draws, with_slots=with_slots)
            how = {"remembered": options.remember, "threads": options.threads}
            file_record({**wanted, **how, **found}, options.results)
            means = ", ".join(f"{metric} {value['mean']:.2f}" for metric, value in found.items())
            print(f"{told}: {means}", file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    def listed(kind: Callable[[str], Any], known: Sequence[Any] | None = None) -> Callable[[str], list[Any]]:
        def parse(text: str) -> list[Any]:
            values = [kind(part.strip()) for part in text.split(",")]
            if known is not None and (unknown := [str(value) for value in values if value not in known]):
                raise argparse.ArgumentTypeError(f"found {', '.join(unknown)}, expected some of {', '.join(known)}")
            return values

        return parse

    parser = argparse.ArgumentParser()
    parser.add_argument("--systems", type=listed(str, list(SYSTEMS)), default=list(SYSTEMS), help=", ".join(SYSTEMS))
    parser.add_argument("--data", type=listed(str, CORPORA), default=list(CORPORA), help=", ".join(CORPORA))
    parser.add_argument("--shots", type=listed(int), default=list(SHOTS), help="examples of each intent")
    parser.add_argument("--draws", type=int, choices=range(1, DRAWS + 1), default=DRAWS)
    parser.add_argument("--test", type=int, default=TEST_UTTERANCES, help="test utterances, at most")
    parser.add_argument("--checkpoint", type=Path, help="of joint_spans; the one that comes with handful by default")
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "out_of_domain.json")
    parser.add_argument("--again", action="store_true", help="measure what is there already, too")
    parser.add_argument("--remember", action="store_true", help="keep encodings between draws: no seconds in the table")
    parser.add_argument("--threads", type=int, default=2, help="threads of torch")
    return parser.parse_args()


if __name__ == "__main__":
    main()
