"""How sure should prototypes be? Log loss of intents and of predicted spans, by temperature.

    python benchmarks/temperature.py results/temperature.json

Train and dev intents only: nothing is trained here, so both are as new to the encoder as test intents, and the test
split stays unseen. A loss is what a perfectly honest confidence would make smallest.
"""

from __future__ import annotations

import json
import math
import sys
from collections import defaultdict
from pathlib import Path

from handful.data.bio import slots_of, tags_of
from handful.data.corpora import load_corpus
from handful.encoders.memory import RememberingEncoder
from handful.encoders.minilm import minilm_folder
from handful.encoders.transformer import TransformerEncoder
from handful.episodes.sampler import EpisodeSampler
from handful.learners.prototypes import PrototypeLearner, PrototypesConfig
from handful.places import data_dir
from handful.types import Episode

PARTS = (("snips", "train"), ("atis", "train"), ("atis", "dev"), ("top", "train"), ("top", "dev"))
GRID = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6)
EPISODES, U_MAX, SEED = 40, 20, 0
SMALLEST = 1e-6  # one certain mistake must not outweigh everything else


def losses(learner: PrototypeLearner, episode: Episode) -> tuple[list[float], list[float]]:
    intents, spans = [], []
    predictions = learner.adapt(episode.support).predict([u.sentence for u in episode.query])
    for utterance, found in zip(episode.query, predictions, strict=True):
        of_intent = {ranked.name: ranked.confidence for ranked in found.ranking}
        intents.append(-math.log(max(of_intent[utterance.intent], SMALLEST)))
        gold = set(slots_of(tags_of(utterance.slots, len(utterance.words))))
        for span, confidence in zip(slots_of(found.tags), found.slot_confidences, strict=True):
            right = confidence if span in gold else 1 - confidence
            spans.append(-math.log(max(right, SMALLEST)))
    return intents, spans


def main(out: Path) -> None:
    encoder = RememberingEncoder(TransformerEncoder(minilm_folder()))
    intent_loss: dict[float, list[float]] = defaultdict(list)
    span_loss: dict[float, list[float]] = defaultdict(list)
    for name, split in PARTS:
        sampler = EpisodeSampler(load_corpus(name, data_dir()).split(split), u_max=U_MAX, seed=SEED)
        episodes = list(sampler.episodes(EPISODES))
        for temperature in GRID:
            config = PrototypesConfig(intent_temperature=temperature, slot_temperature=temperature)
            found = [losses(PrototypeLearner(encoder, config), episode) for episode in episodes]
            intent = [loss for intents, _ in found for loss in intents]
            span = [loss for _, spans in found for loss in spans]
            # Each part counts once, however many queries its episodes have.
            intent_loss[temperature].append(sum(intent) / len(intent))
            span_loss[temperature].append(sum(span) / len(span))
            print(f"{name:6} {split:6} T={temperature:<5} intents {intent_loss[temperature][-1]:.3f}", flush=True)
    rows = [
        {
            "temperature": temperature,
            "intent_log_loss": round(sum(intent_loss[temperature]) / len(PARTS), 4),
            "span_log_loss": round(sum(span_loss[temperature]) / len(PARTS), 4),
        }
        for temperature in GRID
    ]
    record = {
        "command": "python benchmarks/temperature.py results/temperature.json",
        "learner": "prototypes",
        "parts": [f"{name} {split}" for name, split in PARTS],
        "episodes": EPISODES,
        "u_max": U_MAX,
        "seed": SEED,
        "rows": rows,
    }
    out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    for row in rows:
        print(row)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
