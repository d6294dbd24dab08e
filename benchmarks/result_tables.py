"""The tables of results in README and docs/, from the records in results/.

python benchmarks/result_tables.py            # prints them
python benchmarks/result_tables.py --write    # puts them into their files, between their marks
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench_tables import distance_table, learners_table
from board_tables import boards_table, front_table
from confidence import calibration_table, default_table, scope_table
from confidence_constants import constants_table
from labels_saved import table as labels_table
from out_of_domain import table as domains_table
from peer_tables import ratio_table
from peer_tables import table as peers_table
from serving_tables import table as serving_table
from span_tables import ablation_table, headline_table, parsing_table, spans_table

from handful.bench.plan import all_records
from handful.bench.published import published

ROOT = Path(__file__).parent.parent
END = "<!-- end of results -->\n"
PAPER_CORPORA = ("snips", "atis", "top")
CORPORA = (*PAPER_CORPORA, "released-snips", "released-atis", "released-top")
# What every record of a table has in common: a stray one is told, not averaged.
ENCODER, SPLIT, EPISODES, EPISODE_SEED = "all-MiniLM-L6-v2", "test", 100, 0
# The paper's name of a row, how slots are decoded, and for how many episodes it was trained at most.
TRAINED_ROWS = (
    ("(o,o)", "joint", 500),
    ("(w,o)", "joint", 500),
    ("(w,w)", "joint", 500),
    ("(w,w)", "independent", 500),
    ("(w,w)", "joint", 1000),
    ("intent-to-slot", "joint", 500),
    ("slot-to-intent", "joint", 500),
)


def printed(row: str, corpus: str, u_max: int) -> tuple[float, float]:
    """The paper's intent accuracy and slot F1."""
    intents = published("BERT", row, "single", corpus, u_max, "intent")
    slots = published("BERT", row, "single", corpus, u_max, "slot")
    if intents is None or slots is None:
        raise ValueError(f"the paper prints no {row} on {corpus} at U_max {u_max}")
    return intents, slots


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
    """One line a row, corpus and U_max: what was measured with its spread, and beside it what the paper prints."""
    lines = [
        "| row | data | U_max | intent accuracy | paper | slot F1, released | paper | strict | joint | seeds "
        "| episodes, at most | best after |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row, decoding, most in TRAINED_ROWS:
        for u_max in (20, 100):
            for corpus in PAPER_CORPORA:
                found = measured(records, row, corpus, u_max, decoding, most)
                if not found:
                    continue
                accuracy, f1 = printed(row, corpus, u_max)
                metrics = ("intent_accuracy", "slot_f1_released", "slot_f1_strict", "joint_accuracy")
                ours = [over_seeds([record[metric] for record in found]) for metric in metrics]
                cells = [label(row, decoding, most), corpus, str(u_max)]
                cells += [ours[0], f"{accuracy:.1f}", ours[1], f"{f1:.1f}", *ours[2:], str(len(found))]
                cells += [f"{most:,}", ", ".join(str(record["train_episodes"]) for record in found)]
                lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def paired_table(records: Sequence[dict[str, Any]]) -> str:
    """Rows less (w,w), seed 0, episode by episode on the same episodes: mean ± 95 % interval."""
    metrics = ("intent_accuracy", "slot_f1_released", "slot_f1_strict")
    lines = [
        "| row less (w,w) | data | U_max | intent accuracy | slot F1, released | strict |",
        "|---|---|---|---|---|---|",
    ]
    for row, decoding, most in TRAINED_ROWS:
        if row == "(w,w)":
            continue
        for u_max in (20, 100):
            for corpus in PAPER_CORPORA:
                found = measured(records, row, corpus, u_max, decoding, most)[:1]
                base = measured(records, "(w,w)", corpus, u_max, decoding, most)[:1]
                if not found:
                    continue
                if found[0]["train_seed"] != base[0]["train_seed"]:
                    raise ValueError(f"{row} on {corpus}, U_max {u_max}: (w,w) has no record of the same seed")
                cells = [paired(found[0][metric], base[0][metric]) for metric in metrics]
                lines.append(f"| {row} | {corpus} | {u_max} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def paired(ours: dict[str, Any], base: dict[str, Any]) -> str:
    differences = [a - b for a, b in zip(ours["per_episode"], base["per_episode"], strict=True)]
    half = 1.96 * statistics.stdev(differences) / len(differences) ** 0.5
    return f"{statistics.mean(differences):+.1f} ± {half:.1f}"


def short_table(records: Sequence[dict[str, Any]]) -> str:
    """Means only: ours, and in brackets the paper's."""
    corpora = [corpus.upper() for corpus in PAPER_CORPORA]
    lines = [
        f"| U_max | row | intents: {' | '.join(corpora)} | slots, released: {' | '.join(corpora)} "
        f"| slots, strict: {' | '.join(corpora)} |",
        f"|---|---|{'---|' * 9}",
    ]
    for u_max in (20, 100):
        for row, decoding, most in TRAINED_ROWS:
            found = [measured(records, row, corpus, u_max, decoding, most) for corpus in PAPER_CORPORA]
            if not all(found):
                continue
            cells = [str(u_max), label(row, decoding, most)]
            for metric, place in (("intent_accuracy", 0), ("slot_f1_released", 1), ("slot_f1_strict", None)):
                for corpus, ours in zip(PAPER_CORPORA, found, strict=True):
                    mean = f"{statistics.mean(record[metric]['mean'] for record in ours):.1f}"
                    paper = "" if place is None else f" ({printed(row, corpus, u_max)[place]:.1f})"
                    cells.append(mean + paper)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def label(row: str, decoding: str, most: int) -> str:
    marks = [row, *["word by word"] * (decoding == "independent"), *["longer"] * (most > 500)]
    return ", ".join(marks)


def measured(
    records: Sequence[dict[str, Any]], row: str, corpus: str, u_max: int, decoding: str, most: int
) -> list[dict[str, Any]]:
    """The records of one cell, one a train seed, alike in everything but the seeds."""
    wanted = (row, corpus, u_max, decoding, ENCODER, SPLIT, EPISODES, EPISODE_SEED)
    keys = ("row", "corpus", "u_max", "decoding", "encoder", "split", "episodes", "episode_seed")
    found = [r for r in records if tuple(r[key] for key in keys) == wanted and budget(r) == most]
    seeds = [record["train_seed"] for record in found]
    if len(set(seeds)) != len(seeds):
        raise ValueError(f"{row} on {corpus}, U_max {u_max}: two records of one train seed: {seeds}")
    if any(without_seeds(record) != without_seeds(found[0]) for record in found):
        raise ValueError(f"{row} on {corpus}, U_max {u_max}: records of different settings or data")
    return sorted(found, key=lambda record: record["train_seed"])


def without_seeds(record: dict[str, Any]) -> tuple[Any, ...]:
    config = {key: value for key, value in record["config"].items() if key not in {"train_seed", "episode_seed"}}
    return config, record["data_version"], record["train_u_max"]


def budget(record: dict[str, Any]) -> int:
    return record["config"]["epochs"] * record["config"]["episodes_per_epoch"]


def over_seeds(values: Sequence[dict[str, Any]]) -> str:
    """One seed: mean ± ci95 over episodes. Several: mean ± std over the seeds."""
    if len(values) == 1:
        return cell(values[0])
    means = [value["mean"] for value in values]
    return f"{statistics.mean(means):.1f} ± {statistics.stdev(means):.1f} std"


def speed_table(records: Sequence[dict[str, Any]]) -> str:
    (record,) = records
    lines = ["| | ratio | |", "|---|---|---|"]

    def add(what: str, ratio: float, more: str) -> None:
        lines.append(f"| {what} | {ratio:.2f} | {more} |")

    for part in record["training"]:
        kept, anew = part["episodes_per_second_kept"], part["episodes_per_second_anew"]
        what = f"training with kept features against computed anew, {part['frozen_layers']} of 6 layers frozen"
        add(what, part["ratio"], f"{kept:.2f} against {anew:.2f} episodes/s")
    part = record["evaluation"]
    count, anew, cold, warm = (part[key] for key in ("episodes", "seconds_anew", "seconds_cold", "seconds_warm"))
    add(
        f"{count} test episodes, first time, against encoding anew in each episode",
        part["ratio_cold"],
        f"{cold:.0f} s against {anew:.0f} s",
    )
    add("the same, second time in one process", part["ratio_warm"], f"{warm:.1f} s")
    part = record["step_overhead"]
    add(
        "a training step against the bare forward and backward of encoder, BiLSTM and label texts",
        1 + part["added_percent"] / 100,
        "sampling, batching, attention, prototypes and losses together",
    )
    kept, anew = record["memory"]["peak_mb_kept"], record["memory"]["peak_mb_anew"]
    add(
        "peak memory of training with kept features against computed anew",
        kept / anew,
        f"{kept:.0f} against {anew:.0f} MB",
    )
    return "\n".join(lines) + "\n"


def records_of(*paths: Path) -> list[dict[str, Any]]:
    """Files hold one record, or a list of them."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
    return [record for content in found for record in (content if isinstance(content, list) else [content])]


def ablation_records() -> list[tuple[str, dict[str, Any]]]:
    """With the name of the job that made them."""
    files = sorted((ROOT / "results" / "joint_spans").glob("ablation-*.json"))
    return [(file.stem, record) for file in files for record in records_of(file)]


# A mark in a file -> the table that stands after it, and the records that it is made of.
TABLES: dict[str, dict[str, tuple[Callable[[Sequence[dict[str, Any]]], str], str]]] = {
    "README.md": {
        "<!-- results:boards -->\n": (front_table, "boards.json"),
        "<!-- results:headline -->\n": (headline_table, "joint_spans/test-joint-*.json"),
        "<!-- results:learners -->\n": (lambda _: learners_table(all_records(ROOT / "results")), "none"),
        "<!-- results:short -->\n": (short_table, "explicit_joint/*.json"),
    },
    "docs/method.md": {
        "<!-- results:ablation -->\n": (lambda _: ablation_table(ablation_records()), "none"),
        "<!-- results:parsing -->\n": (parsing_table, "parsing_speed.json"),
    },
    "docs/training.md": {"<!-- results:speed -->\n": (speed_table, "training_speed.json")},
    "docs/confidence.md": {
        "<!-- results:constants -->\n": (constants_table, "confidence.json"),
        "<!-- results:calibration -->\n": (calibration_table, "confidence.json"),
        "<!-- results:scope -->\n": (scope_table, "confidence.json"),
        "<!-- results:default -->\n": (default_table, "confidence.json"),
        "<!-- results:labels -->\n": (labels_table, "labels_saved.json"),
    },
    "docs/serving.md": {"<!-- results:serving -->\n": (serving_table, "serving.json")},
    "docs/results.md": {
        "<!-- results:boards -->\n": (boards_table, "boards.json"),
        "<!-- results:distance -->\n": (lambda _: distance_table(all_records(ROOT / "results")), "none"),
        "<!-- results:peers -->\n": (peers_table, "peers.json"),
        "<!-- results:peer-ratios -->\n": (ratio_table, "peers.json"),
        "<!-- results:spans -->\n": (spans_table, "joint_spans/test-*.json"),
        "<!-- results:domains -->\n": (domains_table, "out_of_domain.json"),
        "<!-- results:prototypes -->\n": (untrained_table, "prototypes.json"),
        "<!-- results:trained -->\n": (trained_table, "explicit_joint/*.json"),
        "<!-- results:paired -->\n": (paired_table, "explicit_joint/*.json"),
    },
}


def tables(file: str) -> dict[str, str]:
    return {
        mark: make(records_of(*sorted((ROOT / "results").glob(records))))
        for mark, (make, records) in TABLES[file].items()
    }


def with_tables(file: str) -> str:
    """The file's text, with its tables made anew."""
    text = (ROOT / file).read_text(encoding="utf-8")
    for mark, made in tables(file).items():
        before, rest = text.split(mark)
        _, after = rest.split(END, maxsplit=1)
        text = f"{before}{mark}{made}{END}{after}"
    return text


if __name__ == "__main__":
    for name in TABLES:
        if "--write" in sys.argv[1:]:
            (ROOT / name).write_text(with_tables(name), encoding="utf-8")
        else:
            print("\n".join(tables(name).values()))
