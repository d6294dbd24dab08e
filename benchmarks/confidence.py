"""Confidences on bots of domains that the model has not seen: what is expected of a bot, and what comes out.

    python benchmarks/confidence.py RUN       # half an hour (needs HANDFUL_DATA), and the tables
    python benchmarks/confidence.py --tables  # the tables of what was measured

RUN is a run or a checkpoint of `handful train configs/shipped.yml --set held_out_domains=left_out`, whose heads are
fitted as the shipped model's are. The constants of parser/calibration.py and parser/rejection.py were taken from the
table of constants, whose bots are of another seed than those that are measured. Public boards are measured elsewhere
(benchmarks/boards.py), and chose nothing here.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from confidence_bots import FEWEST_STRANGERS, KINDS, AskedBot, asked_bots
from confidence_constants import constants, constants_table
from confidence_metrics import Floats, auroc, calibration_error
from numpy.typing import NDArray
from out_of_domain import cell, over_draws

from handful.data.board_texts import board_texts
from handful.data.domain_sets import load_domain_set
from handful.data.formats.files import write_text
from handful.episodes.domain_bots import HELD_OUT, held_out_pools
from handful.errors import ConfigError
from handful.learners.joint_spans import JointSpansConfig, JointSpansLearner
from handful.parser.calibration import Calibration, calibrated, fit_calibration
from handful.parser.rejection import AUTO, Rejection, fit_rejection
from handful.places import data_dir
from handful.training.results import read_records
from handful.types import Prediction, Utterance

ROOT = Path(__file__).parent.parent
SHOTS = (1, 2, 5, 10, None)  # None: from 2 to 50, as users have them
DERIVED_SEED, MEASURED_SEED = 100, 101
OURS, SOFTMAX, MIDDLE, NEAREST = "ours", "max softmax", "cosine with the intent's middle", "nearest example"

Records = list[dict[str, Any]]
Bools = NDArray[np.bool_]


def intents_right(bot: AskedBot) -> Bools:
    return np.array([said.intent == u.intent for said, u in zip(bot.predictions, bot.query, strict=True)])


def slots_right(asked: Sequence[Utterance], predictions: Sequence[Prediction]) -> Bools:
    right = [
        (slot.key, slot.start, slot.end) in {(true.key, true.start, true.end) for true in utterance.slots}
        for utterance, said in zip(asked, predictions, strict=True)
        for slot in said.slots
    ]
    return np.array(right, dtype=bool)


def calibration_of(bot: AskedBot) -> Calibration:
    return fit_calibration(bot.support, bot.held, bot.intents)


def rejection_of(bot: AskedBot) -> Rejection:
    return fit_rejection(bot.support, bot.held, bot.intents)


def calibration_record(bots: Sequence[AskedBot]) -> dict[str, Any]:
    """Errors in percent over the queries of all bots together: one bot's few hundred fill no fifteen bins."""
    after = [[calibrated(said, calibration) for said in bot.predictions] for bot, calibration in _calibrated(bots)]
    right = np.concatenate([intents_right(bot) for bot in bots])
    slots = np.concatenate([slots_right(bot.query, bot.predictions) for bot in bots])
    found: dict[str, Any] = {"bots": len(bots), "queries": len(right), "slots": len(slots)}
    found["intent accuracy"] = over_draws([100 * float(intents_right(bot).mean()) for bot in bots])
    found["share of slots right"] = _percent(slots)
    for when, parts in (("before", [bot.predictions for bot in bots]), ("after", after)):
        said = [prediction for part in parts for prediction in part]
        of_slots = np.array([sure for prediction in said for sure in prediction.slot_confidences])
        found[f"intents {when}"] = _error(np.array([prediction.confidence for prediction in said]), right)
        found[f"slots {when}"] = _error(of_slots, slots)
    return found


def _calibrated(bots: Iterable[AskedBot]) -> Iterable[tuple[AskedBot, Calibration]]:
    return ((bot, calibration_of(bot)) for bot in bots)


def _error(confidences: Floats, right: Bools) -> float:
    return round(100 * calibration_error(confidences, right), 2)


def _percent(values: Any) -> float:
    return round(100 * float(np.mean(values)), 2)


def scope_scores(bot: AskedBot, kind: str) -> dict[str, Floats]:
    """Of strangers of a kind, or of the queries, which are "", by each score."""
    said = bot.strangers[kind] if kind else bot.predictions
    rejection = rejection_of(bot)
    scopes = [rejection.of_intents[prediction.intent] for prediction in said]
    return {
        OURS: np.array([rejection.score(prediction) for prediction in said]),
        SOFTMAX: np.array([prediction.confidence for prediction in said]),
        MIDDLE: np.array([scope.nearer_than_usual(p.likeness or 0.0) for scope, p in zip(scopes, said, strict=True)]),
        NEAREST: bot.nearest[kind],
    }


def scope_records(bots: Sequence[AskedBot]) -> Records:
    records: Records = []
    for kind in KINDS:
        there = [bot for bot in bots if len(bot.strangers.get(kind, ())) >= FEWEST_STRANGERS]
        found = [(scope_scores(bot, ""), scope_scores(bot, kind)) for bot in there]
        for score in (OURS, SOFTMAX, MIDDLE, NEAREST) if found else ():
            each = [100 * auroc(inside[score], outside[score]) for inside, outside in found]
            records.append({"kind": kind, "score": score, "bots": len(there), "AUROC": over_draws(each)})
    return records


def default_record(bots: Sequence[AskedBot]) -> dict[str, Any]:
    """What the threshold turns away by default, in percent of the sentences of all bots together."""
    turned_away: dict[str, list[Bools]] = {"named rightly": [], "named wrongly": [], **{kind: [] for kind in KINDS}}
    for bot in bots:
        rejection = rejection_of(bot)
        inside, right = rejected(rejection, bot.predictions), intents_right(bot)
        if bot.strangers.keys() - {KINDS[2]}:  # the bots without some intents are asked for those alone
            turned_away["named rightly"].append(inside[right])
            turned_away["named wrongly"].append(inside[~right])
        for kind, said in bot.strangers.items():
            turned_away[kind].append(rejected(rejection, said))
    return {what: _percent(np.concatenate(parts)) for what, parts in turned_away.items() if parts}


def rejected(rejection: Rejection, said: Sequence[Prediction]) -> Bools:
    return np.array([rejection.in_scope_probability(prediction) < AUTO for prediction in said], dtype=bool)


def measure(learner: JointSpansLearner, about: Mapping[str, Any], shots: Sequence[int | None], count: int) -> Records:
    directory = data_dir()
    pools = held_out_pools([load_domain_set(name, directory) for name in HELD_OUT], leave_out=board_texts(directory))
    records: Records = []

    def drawn(seed: int) -> list[AskedBot]:
        found: list[AskedBot] = []
        for number in shots:
            found += asked_bots(learner, pools, seed, count, number)
            print(f"seed {seed}: bots of {told(number)} examples an intent asked", file=sys.stderr, flush=True)
        return found

    for record in constants(drawn(DERIVED_SEED)):
        records.append({"measure": "constants", **record, "seed": DERIVED_SEED, **about})
    every = drawn(MEASURED_SEED)
    for number in shots:
        for merged in (True, False):
            bots = [bot for bot in every if bot.shots == number and bot.merged == merged]
            what = {"shots": number, "merged": merged}
            same = {"seed": MEASURED_SEED, **about}
            whole = [bot for bot in bots if KINDS[2] not in bot.strangers]
            records.append({"measure": "calibration", **what, **calibration_record(whole), **same})
            records += [{"measure": "scope", **what, **record, **same} for record in scope_records(bots)]
            records.append({"measure": "default", **what, **default_record(bots), **same})
    return records


def told(shots: int | None) -> str:
    return "2 to 50" if shots is None else str(shots)


def calibration_table(records: Sequence[Mapping[str, Any]]) -> str:
    names = (
        "intent accuracy",
        "intents before",
        "intents after",
        "share of slots right",
        "slots before",
        "slots after",
    )
    return table(records, "calibration", {"examples an intent": _shots, "bots": _size}, names)


def scope_table(records: Sequence[Mapping[str, Any]]) -> str:
    """A line for each number of examples and score, a column for each kind: of bots of several domains."""
    lines = [f"| examples an intent | score | {' | '.join(KINDS)} |", "|---" * (2 + len(KINDS)) + "|"]
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for record in records:
        if record["measure"] == "scope" and record["merged"]:
            rows.setdefault((_shots(record), record["score"]), {})[record["kind"]] = cell(record["AUROC"])
    for (shots, score), cells in rows.items():
        lines.append(f"| {shots} | {score} | {' | '.join(cells.get(kind, '–') for kind in KINDS)} |")
    return "\n".join(lines) + "\n"


def default_table(records: Sequence[Mapping[str, Any]]) -> str:
    names = ("named rightly", "named wrongly", *KINDS)
    return table(records, "default", {"examples an intent": _shots, "bots": _size}, names)


def _shots(record: Mapping[str, Any]) -> str:
    return told(record["shots"])


def _size(record: Mapping[str, Any]) -> str:
    return "several domains" if record["merged"] else "one domain"


def table(
    records: Sequence[Mapping[str, Any]],
    measured: str,
    keys: Mapping[str, Callable[[Mapping[str, Any]], str]],
    names: Sequence[str],
) -> str:
    """In percent; mean ± 95 % interval over bots where there is one of each bot."""
    lines = [f"| {' | '.join((*keys, *names))} |", "|---" * (len(keys) + len(names)) + "|"]
    for record in records:
        if record["measure"] == measured:
            values = [record.get(name) for name in names]
            cells = [f"{value:.1f}" if isinstance(value, float) else cell(value) for value in values]
            lines.append(f"| {' | '.join((*(show(record) for show in keys.values()), *cells))} |")
    return "\n".join(lines) + "\n"


def tables(records: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(make(records) for make in (constants_table, calibration_table, scope_table, default_table))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("run", type=Path, nargs="?", help="whose model has not seen the held-out domains")
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "confidence.json")
    parser.add_argument("--tables", action="store_true", help="measure nothing")
    parser.add_argument("--bots", type=int, default=24, help="for each number of examples")
    parser.add_argument("--shots", type=int, nargs="+", default=list(SHOTS), help="0: as users have them")
    parser.add_argument("--threads", type=int, default=2, help="threads of torch")
    options = parser.parse_args()
    if not options.tables:
        if options.run is None:
            parser.error("expected a run whose model has not seen the held-out domains, or --tables")
        import torch

        from handful.training.shipped import shipped_folder
        from handful.training.start import load_learner, read_run

        torch.set_num_threads(options.threads)
        learner, about = load_learner(options.run, remember=True)
        assert isinstance(learner, JointSpansLearner)
        if about.config.held_out_domains != "left_out":
            raise ConfigError(f"{options.run}: its model was trained on the domains that it would be asked for")
        shipped = read_run(shipped_folder()).config.learner
        assert isinstance(shipped, JointSpansConfig)
        fitted = {name: getattr(shipped, name) for name in ("evidence", "slot_repeats", "fitting")}
        learner.config = learner.config.model_copy(update=fitted)
        shots = [number or None for number in options.shots]
        records = measure(learner, {"weights_sha256": about.weights_sha256}, shots, options.bots)
        lines = [json.dumps(record, ensure_ascii=False) for record in records]
        write_text(options.results, "[\n" + ",\n".join(lines) + "\n]\n")
    print(tables(read_records(options.results)), end="")


if __name__ == "__main__":
    main()
