"""The tables of joint_spans, of bots out of domain and of what a bot costs, from the records in results/."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

CORPORA = ("snips", "atis", "top")
# The best published figure of any system, whatever its scorer: corpus -> intents at U_max 20; slots at 20 and 100.
PUBLISHED_BEST = {"snips": (87.64, 59.88, 62.71), "atis": (80.44, 64.14, 68.13), "top": (62.85, 39.92, 40.88)}
METRICS = ("intent_accuracy", "slot_f1_released", "slot_f1_strict")
ABLATED = (
    ("whole", "joint_spans, whole"),
    ("without-names", "without labels' names"),
    ("without-nearest", "without nearest: the mean of a label's examples"),
    ("without-spans", "without span vectors: words and borders alone"),
    ("without-neighbours", "without neighbours: a span is its own words alone"),
    ("without-types", "without words' types: span vectors and borders alone"),
    ("without-borders", "without border scores"),
    ("without-support", "support utterances not asked for in training"),
    ("four-layers", "four layers trained instead of three"),
    ("longer", "800 episodes instead of 400"),
)

Record = dict[str, Any]


def spans_table(records: Sequence[Record]) -> str:
    """One line a mode, tuning, U_max and corpus; the best published figure of any system in brackets."""
    lines = [
        "| trained on | tuned | data | U_max | intent accuracy | slot F1, released | strict | joint | seeds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for mode in ("joint", "single"):
        for steps in (0, 5):
            for u_max in (20, 100):
                for corpus in CORPORA:
                    found = chosen(records, mode, steps, u_max, corpus)
                    if not found:
                        continue
                    intents, at_20, at_100 = PUBLISHED_BEST[corpus]
                    values = [over_seeds([r[metric] for r in found]) for metric in (*METRICS, "joint_accuracy")]
                    values[0] += f" ({intents:.1f})" if u_max == 20 else ""
                    values[1] += f" ({at_20 if u_max == 20 else at_100:.1f})"
                    trained = "all three" if mode == "joint" else corpus
                    cells = [trained, f"{steps} steps" if steps else "no", corpus, str(u_max), *values, str(len(found))]
                    lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def headline_table(records: Sequence[Record]) -> str:
    """Means only: trained on all three corpora, and in brackets the best published figure of any system."""
    names = [corpus.upper() for corpus in CORPORA]
    lines = [
        f"| U_max | | intents: {' | '.join(names)} | slots, released: {' | '.join(names)} "
        f"| slots, strict: {' | '.join(names)} |",
        f"|---|---|{'---|' * 9}",
    ]
    for u_max in (20, 100):
        for steps, name in ((0, "at once"), (5, "tuned on the support")):
            cells = [str(u_max), name]
            for number, metric in enumerate(METRICS):
                for corpus in CORPORA:
                    found = chosen(records, "joint", steps, u_max, corpus)
                    mean = statistics.mean(record[metric]["mean"] for record in found)
                    intents, at_20, at_100 = PUBLISHED_BEST[corpus]
                    best = ({20: intents}, {20: at_20, 100: at_100}, {})[number].get(u_max)
                    cells.append(f"{mean:.1f}" + ("" if best is None else f" ({best:.1f})"))
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def chosen(records: Sequence[Record], mode: str, steps: int, u_max: int, corpus: str) -> list[Record]:
    """The records of one cell on the test intents, one a train seed."""
    wanted = ("joint_spans", mode, steps, u_max, corpus, "test", 100, 0)
    keys = ("row", "mode", "tuning_steps", "u_max", "corpus", "split", "episodes", "episode_seed")
    found = [record for record in records if tuple(record.get(key) for key in keys) == wanted]
    seeds = [record["train_seed"] for record in found]
    if len(set(seeds)) != len(seeds):
        raise ValueError(f"joint_spans on {corpus}, U_max {u_max}: two records of one train seed: {seeds}")
    return sorted(found, key=lambda record: record["train_seed"])


def over_seeds(values: Sequence[Record]) -> str:
    """One seed: mean ± 95 % interval over episodes. Several: mean ± standard deviation over the seeds."""
    if len(values) == 1:
        return f"{values[0]['mean']:.1f} ± {values[0]['ci95']:.1f}"
    means = [value["mean"] for value in values]
    return f"{statistics.mean(means):.1f} ± {statistics.stdev(means):.1f} std"


def ablation_table(named: Sequence[tuple[str, Record]]) -> str:
    """Records with the name of their job: dev intents of ATIS and TOP, U_max 20, 50 episodes."""
    lines = [
        "| | ATIS: intents | strict | released | TOP: intents | strict | released | tuned, ATIS: intents | strict "
        "| released | tuned, TOP: intents | strict | released | seeds |",
        f"|---|{'---|' * 13}",
    ]
    for variant, name in ABLATED:
        lines += _ablated(_predicted(named, variant, 0.05, "shown"), name)
        if variant == "whole":
            lines += _ablated(_predicted(named, variant, 0.05, "free"), "slots as often as they like")
            lines += _ablated(_predicted(named, variant, 0.0, "shown"), "evidence 0: the intent first")
            lines += _ablated(_predicted(named, variant, 0.1, "shown"), "evidence 0.1")
    return "\n".join(lines) + "\n"


def _ablated(records: Sequence[Record], name: str) -> list[str]:
    if not records:
        return []
    cells = [name]
    for steps in (0, 5):
        for corpus in ("atis", "top"):
            own = [r for r in records if r["corpus"] == corpus and r["tuning_steps"] == steps]
            for metric in ("intent_accuracy", "slot_f1_strict", "slot_f1_released"):
                means = [record[metric]["mean"] for record in own]
                spread = f" ± {statistics.stdev(means):.1f}" if len(means) > 1 else ""
                cells.append(f"{statistics.mean(means):.1f}{spread}" if own else "–")
    seeds = {record["train_seed"] for record in records}
    return [f"| {' | '.join(cells)} | {len(seeds)} |"]


def _variant(job: str) -> str:
    return job.removeprefix("ablation-").rpartition("-")[0]


def _predicted(named: Sequence[tuple[str, Record]], variant: str, evidence: float, repeats: str) -> list[Record]:
    """A variant's records with these settings of prediction."""
    found = [record for job, record in named if _variant(job) == variant]
    settings = [record["config"]["learner"] for record in found]
    wanted = [(own["evidence"], own["slot_repeats"]) == (evidence, repeats) for own in settings]
    return [record for record, right in zip(found, wanted, strict=True) if right]


def parsing_table(records: Sequence[Record]) -> str:
    (record,) = records
    lines = ["| | ratio | |", "|---|---|---|"]
    for key, what in (
        ("adapting", "adapting to 100 examples against encoding them"),
        ("parsing_200", "parsing 200 sentences against encoding them"),
        ("parsing_one_by_one", "parsing sentences one by one against encoding them one by one"),
        ("thousand_intents_200", "a bot of 1,000 intents against one of 10, 200 sentences"),
        ("thousand_intents_one_by_one", "the same, sentences one by one"),
    ):
        part = record[key]
        lines.append(
            f"| {what} | {part['ratio']:.2f} | {part['seconds']:.3f} s against {part['against_seconds']:.3f} s |"
        )
    return "\n".join(lines) + "\n"
