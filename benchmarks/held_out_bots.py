"""Bots of domains that a model has not seen (episodes/domain_bots.py): what settings are chosen on, never boards.

    handful train configs/shipped.yml --set held_out_domains=left_out --set epochs=3 --into runs/held-out
    python benchmarks/held_out_bots.py runs/held-out --json results/held_out_bots.json
    python benchmarks/held_out_bots.py runs/held-out --set strength=30 --set slots.steps=0      # other heads

Needs HANDFUL_DATA. A record has the means over the bots of intent accuracy and of slot F1 (strict: label and both
borders; bots without slots left out), of bots of one domain and of those that merge several, in percent.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from handful.data.board_texts import board_texts
from handful.data.domain_sets import load_domain_set
from handful.data.formats.files import write_text
from handful.episodes.domain_bots import HELD_OUT, DomainBot, DomainPool, draw_bots, held_out_pools
from handful.errors import ConfigError, HandfulError
from handful.learners.bot_heads import HeadFitting
from handful.learners.joint_spans import JointSpansLearner
from handful.places import data_dir
from handful.training.config import parse_change
from handful.training.results import read_records

SHOTS = ("1", "2", "5", "10", "users")  # examples an intent; "users": 2 to 50, as users write them


def loaded_learner(run: Path) -> JointSpansLearner:
    from handful.training.start import load_learner

    learner, about = load_learner(run, remember=True)
    if not isinstance(learner, JointSpansLearner):
        raise ConfigError(f"{run}: found a model of {about.config.learner.name}, expected one of joint_spans")
    if about.config.domain_sets and about.config.held_out_domains != "left_out":
        raise ConfigError(f"{run}: it was trained on the held-out domains, so they say nothing about it")
    return learner


def all_pools() -> tuple[DomainPool, ...]:
    directory = data_dir()
    return held_out_pools([load_domain_set(name, directory) for name in HELD_OUT], leave_out=board_texts(directory))


def changed_fitting(fitting: HeadFitting, changes: Sequence[str]) -> HeadFitting:
    """`strength=30` or `slots.steps=0`."""
    for key, value in map(parse_change, changes):
        group, _, name = key.rpartition(".")
        try:
            if group == "slots":
                fitting = replace(fitting, slots=replace(fitting.slots, **{name: value}))
            else:
                fitting = replace(fitting, **{key: value})
        except (TypeError, ValueError) as error:
            raise ConfigError(f"--set {key}: {error}") from None
    return fitting


def scores(learner: JointSpansLearner, bot: DomainBot) -> tuple[float, float]:
    """Intent accuracy, and slot F1; not a number where no query has a slot."""
    predictions = learner.adapt(bot.support).predict([query.sentence for query in bot.query])
    right = np.mean([found.intent == query.intent for found, query in zip(predictions, bot.query, strict=True)])
    true, said = (
        {(row, slot.key, slot.start, slot.end) for row, one in enumerate(rows) for slot in one.slots}
        for rows in (bot.query, predictions)
    )
    return 100 * float(right), 200 * len(true & said) / (len(true) + len(said)) if true else float("nan")


def record(learner: JointSpansLearner, bots: Sequence[DomainBot]) -> dict[str, Any]:
    started = time.perf_counter()
    found = np.array([scores(learner, bot) for bot in bots])
    merged = np.arange(len(bots)) % 2 == 1  # draw_bot: an odd one merges domains
    parts: Mapping[str, np.ndarray] = {"one_domain": found[~merged], "merged": found[merged], "all": found}
    return {
        name: {"intent_accuracy": round(float(own[:, 0].mean()), 2), "slot_f1": round(float(np.nanmean(own[:, 1])), 2)}
        for name, own in parts.items()
    } | {"seconds": round(time.perf_counter() - started, 1)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("run", type=Path, help="a run's folder, trained without the held-out domains")
    parser.add_argument("--shots", nargs="+", choices=SHOTS, default=list(SHOTS))
    parser.add_argument("--count", type=int, default=30, help="bots")
    parser.add_argument("--seed", type=int, default=7, help="of the bots")
    parser.add_argument("--set", action="append", default=[], dest="changes", metavar="KEY=VALUE")
    parser.add_argument("--name", default="", help="of the record; else the run's folder and what --set changes")
    parser.add_argument("--json", type=Path, help="records are added here")
    options = parser.parse_args()
    try:
        learner = loaded_learner(options.run)
        fitting = changed_fitting(learner.config.fitting, options.changes)
        learner.config = learner.config.model_copy(update={"fitting": fitting})
        pools = all_pools()
        for shots in options.shots:
            bots = draw_bots(
                pools, seed=options.seed, count=options.count, shots=None if shots == "users" else int(shots)
            )
            made = {
                "name": options.name or " ".join([options.run.name, *options.changes]),
                "shots": shots,
                "bots": options.count,
                "seed": options.seed,
                "fitting": asdict(fitting),
                **record(learner, bots),
            }
            print(json.dumps({key: made[key] for key in ("name", "shots", "one_domain", "merged", "all")}), flush=True)
            if options.json:
                same = (made["name"], shots, options.count, options.seed)
                kept = [r for r in read_records(options.json) if (r["name"], r["shots"], r["bots"], r["seed"]) != same]
                lines = ",\n".join(json.dumps(line) for line in [*kept, made])
                write_text(options.json, f"[\n{lines}\n]\n")
    except HandfulError as error:
        raise SystemExit(f"error: {error}") from None


if __name__ == "__main__":
    main()
