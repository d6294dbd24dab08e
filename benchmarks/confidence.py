"""What confidences are worth out of domain: calibrated or not, and against sentences that are out of scope.

    python benchmarks/confidence.py              # some minutes (needs HANDFUL_DATA), and the tables
    python benchmarks/confidence.py --tables     # the tables of what was measured

Bots are drawn as in out_of_domain.py: 1, 5 or 10 examples of each intent, five times, asked for the same utterances.
Everything is set by a bot's own examples; what they cannot show was chosen on other corpora (docs/confidence.md).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from confidence_metrics import Floats, accuracy_at_recall, auroc, calibration_error, false_positives
from numpy.typing import NDArray
from out_of_domain import (
    CORPORA,
    DRAWS,
    SHOTS,
    TEST_SEED,
    TEST_UTTERANCES,
    asked_sample,
    cell,
    drawn_support,
    over_draws,
)

from handful.data.corpora import load_corpus
from handful.data.formats.files import write_text
from handful.learners.held_out import HeldOut, held_out
from handful.learners.joint_spans import JointSpansLearner
from handful.model.nearness import ClassMeans
from handful.model.spans import members_of, unit_rows
from handful.parser.calibration import calibrated, fit_calibration
from handful.parser.rejection import AUTO, fit_rejection
from handful.places import data_dir
from handful.training.results import read_records
from handful.types import Prediction, Utterance

ROOT = Path(__file__).parent.parent
RECALLS = (0.5, 0.7, 0.8, 0.9)
OURS, SOFTMAX, FROZEN = "ours", "max softmax", "frozen MiniLM"

Measured = dict[str, float]


class Vectors:
    """Sentences as vectors of length one: of the frozen encoder, and of the trained network on it."""

    def __init__(self, learner: JointSpansLearner) -> None:
        from handful.encoders.memory import RememberingEncoder
        from handful.encoders.minilm import minilm_folder
        from handful.encoders.transformer import TransformerEncoder

        self._learner, self._frozen = learner, RememberingEncoder(TransformerEncoder(minilm_folder()))

    def of(self, utterances: Sequence[Utterance]) -> dict[str, Floats]:
        sentences = [utterance.sentence for utterance in utterances]
        return {
            FROZEN: unit_rows(np.stack([found.sentence for found in self._frozen.encode(sentences)])),
            "the model's vectors": unit_rows(np.stack([mean for _, mean in self._learner.see(sentences)])),
        }


def calibration_errors(
    asked: Sequence[Utterance], before: Sequence[Prediction], after: Sequence[Prediction]
) -> Measured:
    """In percent, of intents and, where there are any, of slots."""
    found: Measured = {}
    right = np.array([said.intent == utterance.intent for said, utterance in zip(before, asked, strict=True)])
    found["intent accuracy"] = 100 * float(right.mean())
    slot_is_right = np.array(
        [
            (slot.key, slot.start, slot.end) in {(true.key, true.start, true.end) for true in utterance.slots}
            for utterance, said in zip(asked, before, strict=True)
            for slot in said.slots
        ],
        dtype=bool,
    )
    for when, predictions in (("before", before), ("after", after)):
        confidences = np.array([said.confidence for said in predictions])
        found[f"intents {when}"] = 100 * calibration_error(confidences, right)
        if len(slot_is_right):
            of_slots = np.array([sure for said in predictions for sure in said.slot_confidences])
            found[f"slots {when}"] = 100 * calibration_error(of_slots, slot_is_right)
    return found


def scope_measures(inside: Floats, outside: Floats, right: NDArray[np.bool_]) -> Measured:
    found = {"AUROC": auroc(inside, outside), "FPR95": false_positives(inside, outside)}
    for recall in RECALLS:
        found[f"accuracy at {recall:.0%}"] = accuracy_at_recall(inside, right, outside, recall)
    return {name: 100 * value for name, value in found.items()}


def cosine_scores(support: Sequence[Utterance], vectors: Floats, asked: Floats) -> dict[str, Floats]:
    """Plain cosines: with the nearest example, and with the nearest mean of an intent's."""
    names = sorted({utterance.intent for utterance in support})
    means = [vectors[[row for row, u in enumerate(support) if u.intent == name]].mean(0) for name in names]
    return {"example": (asked @ vectors.T).max(1), "mean": (asked @ unit_rows(np.stack(means)).T).max(1)}


def measure_bot(
    learner: JointSpansLearner,
    vectors: Vectors,
    support: Sequence[Utterance],
    asked: Sequence[Utterance],
    strangers: Sequence[Utterance],
) -> tuple[Measured, dict[str, Measured]]:
    """Of one draw: calibration, and of each score how well it tells the strangers from those that are asked."""
    adapted = learner.adapt(support)
    without, intents = held_out(learner, adapted), sorted({utterance.intent for utterance in support})
    calibration = fit_calibration(support, without, intents)
    inside = adapted.predict([utterance.sentence for utterance in asked])
    errors = calibration_errors(asked, inside, [calibrated(said, calibration) for said in inside])
    if not strangers:
        return errors, {}
    outside = adapted.predict([utterance.sentence for utterance in strangers])
    right = np.array([said.intent == utterance.intent for said, utterance in zip(inside, asked, strict=True)])
    ours = in_scope(support, without, intents, inside, outside)
    scopes = {OURS: scope_measures(ours[0], ours[1], right)}
    scopes[OURS] |= {
        "accuracy without rejection": 100 * float(right.mean()),
        "accuracy by default": 100 * float(((ours[0] >= AUTO) & right).mean()),
        "rejected in scope": 100 * float((ours[0] < AUTO).mean()),
        "recall by default": 100 * float((ours[1] < AUTO).mean()),
    }
    softmax = [np.array([said.confidence for said in part]) for part in (inside, outside)]
    scopes[SOFTMAX] = scope_measures(softmax[0], softmax[1], right)
    examples, *others = (vectors.of(part) for part in (support, asked, strangers))
    for kind, own in examples.items():
        near = [cosine_scores(support, own, other[kind]) for other in others]
        for what in ("example", "mean"):
            scopes[f"nearest {what}, {kind}"] = scope_measures(near[0][what], near[1][what], right)
    frozen = [part[FROZEN] for part in (examples, *others)]
    ours = in_scope(support, *with_other_vectors(support, without, intents, (inside, outside), frozen))
    scopes[f"{OURS}, with {FROZEN} beside the model"] = scope_measures(ours[0], ours[1], right)
    return errors, scopes


def in_scope(
    support: Sequence[Utterance],
    held_out: HeldOut,
    intents: Sequence[str],
    inside: Sequence[Prediction],
    outside: Sequence[Prediction],
) -> list[Floats]:
    rejection = fit_rejection(support, held_out, intents)
    return [np.array([rejection.in_scope_probability(said) for said in part]) for part in (inside, outside)]


def with_other_vectors(
    support: Sequence[Utterance],
    held_out: HeldOut,
    intents: Sequence[str],
    asked: Sequence[Sequence[Prediction]],
    vectors: Sequence[Floats],  # of the support, and of what is asked
) -> tuple[HeldOut, Sequence[str], list[Prediction], list[Prediction]]:
    """What would be known if sentences had these vectors as well: likenesses are theirs, all else stays."""
    numbers = [intents.index(utterance.intent) for utterance in support]
    names = np.zeros((len(intents), vectors[0].shape[1]))  # names do not count in it
    means = ClassMeans.of(members_of(names, vectors[0], numbers, np.arange(len(support))))
    rows = np.array(held_out.numbers, dtype=np.intp)
    parts = [
        [
            replace(said, likeness=float(row[intents.index(said.intent)]))
            for said, row in zip(part, means.cosines(own), strict=True)
        ]
        for part, own in zip(asked, vectors[1:], strict=True)
    ]
    return replace(held_out, cosines=means.cosines(vectors[0][rows], rows)), intents, parts[0], parts[1]


def measure(
    learner: JointSpansLearner, about: Mapping[str, Any], shots: Sequence[int], draws: int
) -> list[dict[str, Any]]:
    vectors, records = Vectors(learner), []
    for name in CORPORA:
        corpus = load_corpus(name, data_dir())
        asked = asked_sample(corpus.split("test"), TEST_UTTERANCES)
        strangers = corpus.splits.get("oos_test", ())
        same = {
            **about,
            "draws": list(range(draws)),
            "test_utterances": len(asked),
            "test_seed": TEST_SEED,
            "data_version": {split: corpus.digest(split) for split in ("train", "test")},
        }
        for number in shots:
            errors: list[Measured] = []
            scopes: defaultdict[str, list[Measured]] = defaultdict(list)
            for draw in range(draws):
                support = drawn_support(corpus.split("train"), number, draw)
                error, scope = measure_bot(learner, vectors, support, asked, strangers)
                errors.append(error)
                for score, found in scope.items():
                    scopes[score].append(found)
            what = {"corpus": name, "shots": number}
            records.append({"measure": "calibration", **what, **same, **summed(errors)})
            for score, found in scopes.items():
                about_scope = {"score": score, "strangers": len(strangers)}
                records.append({"measure": "scope", **what, **about_scope, **same, **summed(found)})
            print(f"{name}, {number} examples an intent: measured", file=sys.stderr, flush=True)
    return records


def summed(draws: Sequence[Measured]) -> dict[str, Any]:
    return {name: over_draws([draw[name] for draw in draws]) for name in draws[0]}


def calibration_table(records: Sequence[Mapping[str, Any]]) -> str:
    names = ("intents before", "intents after", "slots before", "slots after")
    return table(records, "calibration", ("corpus", "shots"), ("intent accuracy", *names))


def scope_table(records: Sequence[Mapping[str, Any]]) -> str:
    curve = tuple(f"accuracy at {recall:.0%}" for recall in RECALLS)
    return table(records, "scope", ("shots", "score"), ("AUROC", "FPR95", *curve))


def default_table(records: Sequence[Mapping[str, Any]]) -> str:
    names = ("accuracy without rejection", "accuracy by default", "rejected in scope", "recall by default")
    return table([record for record in records if record.get("score") == OURS], "scope", ("shots",), names)


def tables(records: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(make(records) for make in (calibration_table, scope_table, default_table))


def table(records: Sequence[Mapping[str, Any]], measured: str, keys: Sequence[str], names: Sequence[str]) -> str:
    """In percent, mean ± 95 % interval over the draws."""
    said = {"corpus": "data", "shots": "examples an intent"}
    head = [*(said.get(key, key) for key in keys), *names]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for record in records:
        if record["measure"] == measured:
            cells = [*(str(record[key]) for key in keys), *(cell(record.get(name)) for name in names)]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "confidence.json")
    parser.add_argument("--tables", action="store_true", help="measure nothing")
    parser.add_argument("--draws", type=int, choices=range(1, DRAWS + 1), default=DRAWS)
    parser.add_argument("--shots", type=int, nargs="+", default=list(SHOTS))
    parser.add_argument("--threads", type=int, default=2, help="threads of torch")
    options = parser.parse_args()
    if not options.tables:
        import torch

        from handful.training.shipped import shipped_folder
        from handful.training.start import load_learner

        torch.set_num_threads(options.threads)
        learner, about = load_learner(shipped_folder(), remember=True)
        assert isinstance(learner, JointSpansLearner)
        records = measure(learner, {"weights_sha256": about.weights_sha256}, options.shots, options.draws)
        lines = [json.dumps(record, ensure_ascii=False) for record in records]
        write_text(options.results, "[\n" + ",\n".join(lines) + "\n]\n")
    print(tables(read_records(options.results)), end="")


if __name__ == "__main__":
    main()
