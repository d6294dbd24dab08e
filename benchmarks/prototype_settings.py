"""The settings of the learner `prototypes`, chosen on train and dev intents.

    python benchmarks/prototype_settings.py results/prototype_settings.json

Nothing is trained here, so train intents are as new to the encoder as dev intents are, and the test split stays
unseen. `nearest_share` is chosen by strict slot F1; the two temperatures, which change only confidences, by log loss of
the right intent and of each predicted span: an honest confidence makes it smallest.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from handful.data.bio import slots_of, utterance_tags
from handful.data.corpora import load_corpus
from handful.encoders.encoding import Encoder
from handful.encoders.memory import RememberingEncoder
from handful.encoders.minilm import NAME, minilm_folder
from handful.encoders.transformer import TransformerEncoder
from handful.episodes.sampler import EpisodeSampler
from handful.learners.prototypes import PrototypeLearner, PrototypesConfig
from handful.places import data_dir
from handful.training.evaluate import evaluate
from handful.types import Episode

PARTS = (("snips", "train"), ("atis", "train"), ("atis", "dev"), ("top", "train"), ("top", "dev"))
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
TEMPERATURES = (0.1, 0.15, 0.2, 0.3, 0.4, 0.6)
EPISODES, U_MAX, SEED = 40, 20, 0
SMALLEST = 1e-6  # one certain mistake must not outweigh everything else


def losses(learner: PrototypeLearner, episode: Episode) -> tuple[list[float], list[float]]:
    intents, spans = [], []
    predictions = learner.adapt(episode.support).predict([u.sentence for u in episode.query])
    for utterance, found in zip(episode.query, predictions, strict=True):
        of_intent = {ranked.name: ranked.confidence for ranked in found.ranking}
        intents.append(-math.log(max(of_intent[utterance.intent], SMALLEST)))
        gold = set(slots_of(utterance_tags(utterance)))
        for span, confidence in zip(slots_of(found.tags), found.slot_confidences, strict=True):
            right = confidence if span in gold else 1 - confidence
            spans.append(-math.log(max(right, SMALLEST)))
    return intents, spans


def log_losses(encoder: Encoder, episodes: Sequence[Episode], temperature: float) -> tuple[float, float]:
    config = PrototypesConfig(intent_temperature=temperature, slot_temperature=temperature)
    found = [losses(PrototypeLearner(encoder, config), episode) for episode in episodes]
    of_intents = [loss for intents, _ in found for loss in intents]
    of_spans = [loss for _, spans in found for loss in spans]
    return mean(of_intents), mean(of_spans)


def strict_f1(encoder: Encoder, episodes: Sequence[Episode], share: float) -> float:
    learner = PrototypeLearner(encoder, PrototypesConfig(nearest_share=share))
    return mean([event.score.slot_f1_strict for event in evaluate(learner, episodes)])


def main(out: Path) -> None:
    encoder = RememberingEncoder(TransformerEncoder(minilm_folder()))
    parts = {}
    for name, split in PARTS:
        sampler = EpisodeSampler(load_corpus(name, data_dir()).split(split), u_max=U_MAX, seed=SEED)
        parts[f"{name} {split}"] = list(sampler.episodes(EPISODES))
    shares, temperatures = [], []
    # Each part counts once, however many queries its episodes have.
    for share in SHARES:
        f1 = {part: round(100 * strict_f1(encoder, episodes, share), 2) for part, episodes in parts.items()}
        shares.append({"nearest_share": share, "slot_f1_strict": round(mean(list(f1.values())), 2), "by_part": f1})
        print(shares[-1], flush=True)
    for temperature in TEMPERATURES:
        found = [log_losses(encoder, episodes, temperature) for episodes in parts.values()]
        intent, span = (round(mean(list(column)), 4) for column in zip(*found, strict=True))
        temperatures.append({"temperature": temperature, "intent_log_loss": intent, "span_log_loss": span})
        print(temperatures[-1], flush=True)
    record = {
        "command": "python benchmarks/prototype_settings.py results/prototype_settings.json",
        "learner": "prototypes",
        "encoder": NAME,
        "scorer": "strict",
        "parts": list(parts),
        "episodes": EPISODES,
        "u_max": U_MAX,
        "seed": SEED,
        "nearest_share": shares,
        "temperature": temperatures,
    }
    out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
