"""handful and its peers on the same few-shot bots, in one run: accuracy, seconds, memory.

    pip install -e '.[bench,peers,report]' && npm ci --prefix benchmarks/nlpjs
    python benchmarks/peers.py --json results/peers.json                     # all that is missing (needs HANDFUL_DATA)
    python benchmarks/peers.py --json results/peers.json --systems setfit    # these systems only
    python benchmarks/peers.py --json results/peers.json --table             # nothing is measured

A bot is 5 or 10 examples of each intent, drawn from the train split as benchmarks/out_of_domain.py draws them. Every
system runs alone, one after the other, in a process of its own that is held to `--threads` cores, so that its start and
its peak of memory are its own. It gets texts, adapts to the same draws, parses one by one sentences that it has not
seen before (p50 and p95), and then all that it is scored on at once. Loading weights is no part of adapting. A system
is warmed up on a bot of two intents first. What is there already is measured again only where its settings, versions,
weights or data have changed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from out_of_domain import TEST_SEED, asked_sample, drawn_support, over_draws
from peer_ratios import RATIO_BOTS, measured_ratio
from peer_systems import SYSTEMS, SystemName, config_of
from peer_tables import CORPORA, order_of, percentile, ratio_table, table
from peer_worker import as_row

from handful.data.corpora import Corpus, load_corpus
from handful.data.formats.files import write_text
from handful.places import data_dir
from handful.training.results import read_records
from handful.types import Utterance

SHOTS, DRAWS, ASKED, TIMED = (5, 10), 3, 1000, 200
WORKER = Path(__file__).parent / "peer_worker.py"


def timed_sample(test: Sequence[Utterance], asked: Sequence[Utterance], most: int) -> list[str]:
    """Texts that are not among those asked: a system that remembers sentences has nothing to remember."""
    known = {utterance.text for utterance in asked}
    others = [text for text in dict.fromkeys(utterance.text for utterance in test) if text not in known]
    if len(others) < most:
        raise ValueError(f"{len(others)} other sentences are left, expected {most}")
    return [others[number] for number in sorted(np.random.default_rng(TEST_SEED).choice(len(others), most, False))]


def summary(found: Mapping[str, Any]) -> dict[str, Any]:
    """What a record says of a worker's findings: over draws where they differ, over all parses of all draws."""
    draws = found["draws"]
    parses = [1000 * seconds for draw in draws for seconds in draw["parse_seconds"]]
    metrics = [
        name
        for name in ("intent_accuracy", "span_f1", "adapt_seconds", "sentences_per_second")
        if all(name in draw for draw in draws)
    ]
    return {
        **{name: over_draws([draw[name] for draw in draws]) for name in metrics},
        "p50_ms": round(percentile(parses, 50), 4),
        "p95_ms": round(percentile(parses, 95), 4),
        "load_seconds": round(found["load_seconds"], 3),
        "peak_megabytes": round(found["peak_megabytes"], 1),
    }


def environment(threads: int) -> dict[str, str]:
    counted = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    quiet = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "TRANSFORMERS_VERBOSITY": "error"}
    return {**os.environ, **quiet, "TQDM_DISABLE": "1", **dict.fromkeys(counted, str(threads))}


def asked_of_worker(name: SystemName, job: Mapping[str, Any], threads: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "job.json", Path(folder) / "found.json"
        files[0].write_text(json.dumps(job), encoding="utf-8")
        # Libraries say this and that on stdout, which is the table's.
        command = [sys.executable, str(WORKER), name, *map(str, files), str(threads)]
        subprocess.run(command, check=True, env=environment(threads), stdout=sys.stderr)
        return json.loads(files[1].read_text(encoding="utf-8"))


def is_known(wanted: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> bool:
    return any({**record, **wanted} == record for record in records)


def file_record(record: Mapping[str, Any], path: Path) -> None:
    """One record a line, in the order of the table; of the same bot and system the later one counts."""
    kept = [old for old in read_records(path) if order_of(old) != order_of(record)]
    lines = [json.dumps(line, ensure_ascii=False) for line in sorted([*kept, record], key=order_of)]
    write_text(path, "[\n" + ",\n".join(lines) + "\n]\n")


def measure_corpus(corpus: Corpus, options: argparse.Namespace) -> None:
    train, test = corpus.split("train"), corpus.split("test")
    asked = asked_sample(test, options.test)
    timed = timed_sample(test, asked, options.timed)
    with_slots = any(utterance.slots for utterance in train)
    same = {
        "corpus": corpus.name,
        "test_utterances": len(asked),
        "timed_utterances": len(timed),
        "test_seed": TEST_SEED,
        "data_version": {split: corpus.digest(split) for split in ("train", "test")},
        "threads": options.threads,
    }
    for shots in options.shots:
        bots = [[as_row(utterance) for utterance in drawn_support(train, shots, n)] for n in range(options.draws)]
        for name in options.systems:
            if name == "crf" and not with_slots:
                continue
            draws = list(range(options.draws))  # a draw's seed is [draw, shots]
            what = {"shots": shots, "system": SYSTEMS[name], "config": config_of(name), "draws": draws}
            job = {"bots": bots, "asked": [as_row(u) for u in asked], "timed": timed}
            told = f"{corpus.name}, {shots} examples an intent, {SYSTEMS[name]}"
            wanted = {**same, **what}
            if is_known(wanted, read_records(options.json)) and not options.again:
                say(f"{told}: is there")
                continue
            found = summary(asked_of_worker(name, job, options.threads))
            file_record({**wanted, **found}, options.json)
            say(f"{told}: {shown(found)}")
        if options.ratios and (corpus.name, shots) in RATIO_BOTS:
            for record in measured_ratio(bots[0], timed, options.threads, environment(options.threads)):
                file_record({**same, "shots": shots, **record}, options.json)
                say(f"{corpus.name}, {shots} examples an intent, {record['ratio_of']}: {record['ratio']:.2f}")


def shown(found: Mapping[str, Any]) -> str:
    means = {name: value["mean"] if isinstance(value, dict) else value for name, value in found.items()}
    return ", ".join(f"{name} {value:.2f}" for name, value in means.items())


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    options = arguments()
    for name in [] if options.table else options.data:
        measure_corpus(load_corpus(name, data_dir()), options)
    records = read_records(options.json)
    print(table(records) + "\n" + ratio_table(records), end="")
    if options.plot:
        from peers_plot import save_plot

        save_plot(records, options.plot)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", type=Path, required=True, help="the records: read, and written as they are made")
    parser.add_argument("--plot", type=Path, help="draw accuracy against seconds to adapt: an .svg")
    parser.add_argument("--systems", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS))
    parser.add_argument("--data", nargs="+", choices=CORPORA, default=list(CORPORA))
    parser.add_argument("--shots", nargs="+", type=int, default=list(SHOTS), help="examples of each intent")
    parser.add_argument("--draws", type=int, choices=range(1, DRAWS + 1), default=DRAWS)
    parser.add_argument("--test", type=int, default=ASKED, help="test utterances to score on, at most")
    parser.add_argument("--timed", type=int, default=TIMED, help="other test utterances to parse one by one")
    parser.add_argument("--threads", type=int, default=2, help="cores and threads of a system")
    parser.add_argument(
        "--ratios", action=argparse.BooleanOptionalAction, default=True, help="the targets' ratios, too"
    )
    parser.add_argument("--again", action="store_true", help="measure what is there already, too")
    parser.add_argument("--table", action="store_true", help="measure nothing, print what is there")
    return parser.parse_args()


if __name__ == "__main__":
    main()
