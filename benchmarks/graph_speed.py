"""The int8 graph against the earlier one and against torch: sentences a second, what they agree on, size.

python benchmarks/graph_speed.py --json results/graph_speed.json     # needs HANDFUL_DATA; some minutes

Both graphs are made anew of the shipped checkpoint (or of another: --checkpoint) and encode the same sentences in
turn, in one process, each in batches of the size that it came with. Agreement is that of predictions: torch and a graph
each adapt to the same bots, ten examples an intent, and are asked for the same other utterances.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
from earlier_graph import PIECES_A_BATCH, plain_session, write_earlier_graph

from handful.data.corpora import load_corpus
from handful.encoders.layers import FrozenLayers, TrainedLayers
from handful.encoders.pieces import PieceReader, like_lengths
from handful.learners.joint_spans import JointSpansLearner
from handful.learners.span_decoding import AdaptedSpans
from handful.places import data_dir
from handful.runtime import graph
from handful.runtime.export import export_model
from handful.runtime.folder import GRAPH, load_exported
from handful.runtime.spans import ExportedSpans
from handful.training.shipped import shipped_folder
from handful.training.start import load_learner
from handful.types import Prediction, Utterance, Words

SHOTS = 10
# Where a bot's examples are drawn from, and the split whose utterances are asked for.
BOTS = {"atis": ("dev", "dev"), "top": ("dev", "dev"), "fb_multilingual_en": ("train", "dev")}


@dataclass(frozen=True, slots=True)
class Agreement:
    """Of one bot, a graph with torch, in percent."""

    utterances: int
    intents: float
    tags: float


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", type=Path, help="write the record here")
    parser.add_argument(
        "--checkpoint", type=Path, default=None, help="a trained joint_spans; the shipped one by default"
    )
    parser.add_argument("--sentences", type=int, default=600, help="to encode in a round")
    parser.add_argument("--asked", type=int, default=500, help="utterances of each bot")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--speed-only", action="store_true", help="no agreement, which takes most of the time")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    learner, _ = load_learner(options.checkpoint or shipped_folder(), keep_features=False)
    assert isinstance(learner, JointSpansLearner)
    with tempfile.TemporaryDirectory() as made:
        record = measured(learner, Path(made), options)
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def measured(learner: JointSpansLearner, folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    frozen, words = learner.network.frozen, learner.network.words
    assert isinstance(frozen, FrozenLayers)
    assert isinstance(words, TrainedLayers)
    earlier, model = folder / "earlier.onnx", folder / "model"
    write_earlier_graph(frozen.model, words.layers, earlier)
    for _ in export_model(learner, model, weights="0" * 64, precision="int8"):
        pass
    sizes = {name: round(file.stat().st_size / 1e6, 1) for name, file in (("now", model / GRAPH), ("earlier", earlier))}
    print(f"size: {sizes['now']} MB, was {sizes['earlier']} MB")
    record: dict[str, Any] = {"threads": options.threads, "megabytes": sizes}
    sentences = mixed_sentences(options.sentences)
    record["batches"] = in_turn(
        graph.new_session(model / GRAPH, options.threads),
        plain_session(earlier, options.threads),
        words.reader,
        sentences,
        options.rounds,
    )
    if not options.speed_only:
        exported, _ = load_exported(model, threads=options.threads)
        before = ExportedSpans(
            graph.GraphEncoder(earlier, words.reader, options.threads), exported.maps, exported.config
        )
        record["agreement"] = {name: agreement(name, learner, exported, before, options.asked) for name in BOTS}
    return record


def mixed_sentences(count: int) -> list[Words]:
    """Of all corpora alike, in no order of length."""
    found: list[Words] = []
    for number, name in enumerate(BOTS):
        utterances = load_corpus(name, data_dir()).split("dev")
        rows = np.random.default_rng([count, number]).permutation(len(utterances))[: count // len(BOTS)]
        found += [utterances[row].sentence for row in rows]
    return found


def in_turn(
    now: onnxruntime.InferenceSession,
    earlier: onnxruntime.InferenceSession,
    reader: PieceReader,
    sentences: Sequence[Words],
    rounds: int,
) -> dict[str, float]:
    seconds: dict[str, list[float]] = {"now": [], "earlier": []}
    # Sizes as in runtime/graph.py, today's and that of then.
    both = (("now", now, graph.PIECES_A_BATCH), ("earlier", earlier, PIECES_A_BATCH))
    for number in range(-1, rounds):  # the first warms up
        for name, session, most in both if number % 2 else reversed(both):
            started = time.perf_counter()
            encode(session, reader, sentences, most)
            seconds[name].append(time.perf_counter() - started)
    ratios = [was / is_now for is_now, was in zip(*(own[1:] for own in seconds.values()), strict=True)]
    speeds = {name: round(len(sentences) / statistics.median(own[1:])) for name, own in seconds.items()}
    ratio = round(statistics.median(ratios), 2)
    print(f"in batches: {speeds['now']} sentences a second, was {speeds['earlier']}: {ratio} x", flush=True)
    return {"ratio": ratio, "sentences_a_second": speeds["now"], "earlier_sentences_a_second": speeds["earlier"]}


def encode(session: onnxruntime.InferenceSession, reader: PieceReader, sentences: Sequence[Words], most: int) -> None:
    windows = reader.windows(sentences)
    for batch in like_lengths([window.length for window in windows], most):
        ids, mask = reader.ids([windows[row] for row in batch])
        session.run(["frozen", "states"], {"ids": ids, "mask": mask})


def drawn(name: str, asked: int) -> tuple[list[Utterance], list[Utterance]]:
    """A bot's examples, and other utterances of its intents."""
    corpus, (shown, other) = load_corpus(name, data_dir()), BOTS[name]
    rng = np.random.default_rng([SHOTS, asked])
    counts: Counter[str] = Counter()
    support, rest = [], []
    utterances = corpus.split(shown)
    for row in rng.permutation(len(utterances)):
        utterance = utterances[row]
        counts[utterance.intent] += 1
        (support if counts[utterance.intent] <= SHOTS else rest).append(utterance)
    if other != shown:
        utterances = corpus.split(other)
        rest = [utterances[row] for row in rng.permutation(len(utterances)) if utterances[row].intent in counts]
    return support, rest[:asked]


def agreement(
    name: str, learner: JointSpansLearner, exported: ExportedSpans, before: ExportedSpans, asked: int
) -> dict[str, Any]:
    support, utterances = drawn(name, asked)
    sentences = [utterance.sentence for utterance in utterances]
    reference, now, earlier = (AdaptedSpans(model, support).predict(sentences) for model in (learner, exported, before))
    found = {"now": compared(reference, now), "earlier": compared(reference, earlier)}
    print(
        f"{name}: of {len(sentences)} utterances intents as torch's {found['now'].intents:.2f} % (was "
        f"{found['earlier'].intents:.2f}), tags {found['now'].tags:.2f} % (was {found['earlier'].tags:.2f})",
        flush=True,
    )
    return {which: asdict(own) for which, own in found.items()}


def compared(reference: Sequence[Prediction], found: Sequence[Prediction]) -> Agreement:
    pairs = list(zip(reference, found, strict=True))
    intents = [a.intent == b.intent for a, b in pairs]
    tags = [x == y for a, b in pairs for x, y in zip(a.tags, b.tags, strict=True)]
    return Agreement(len(pairs), *(round(100 * statistics.mean(own), 3) for own in (intents, tags)))


if __name__ == "__main__":
    main()
