"""Figure 2 of the paper: sentence embeddings of TOP, train and test intents, before training, after training with the
prototypes' cross entropy alone, (o,o), and with the contrastive terms, (w,w). Two dimensions by t-SNE.

A picture can flatter, so a number stands beside it: the mean silhouette of the intents in the full space, which no
projection touches.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from handful.bench.rows import BASE, Budget, run_config
from handful.bench.work import Failed, Means, Work, do
from handful.data.corpora import Corpus, load_corpus
from handful.data.formats.files import write_text
from handful.errors import ConfigError, TrainingError
from handful.learners.explicit_joint import ExplicitJointLearner
from handful.places import data_dir as chosen_dir
from handful.training.start import features_dir, load_learner
from handful.types import Utterance

_CORPUS, _SEED, _OF_INTENT = "top", 0, 60
_PANELS = (("original", None), ("CE", "(o,o)"), ("CE+SCL", BASE))
_SPLITS = ("train", "test")


def write_figure(path: Path, runs: Path, budget: Budget, data_dir: Path | None, threads: int) -> Iterator[str]:
    """Trains what is missing, projects, and writes the points; yields what is going on."""
    _require_sklearn()
    means = Means(threads=threads, data_dir=data_dir)
    corpus = load_corpus(_CORPUS, chosen_dir(data_dir))
    shown = {split: drawn(corpus.split(split)) for split in _SPLITS}
    intents = [intent for split in _SPLITS for intent in sorted({u.intent for u in shown[split]})]
    panels = []
    for name, row in _PANELS:
        yield f"Figure 2, {name}: {'untrained' if row is None else row}"
        learner = _learner(row, runs, budget, means, corpus)
        panels.append({"name": name, "row": row, **_panel(learner, shown, intents)})
    content = {
        "corpus": _CORPUS,
        "seed": _SEED,
        "method": f"t-SNE, perplexity 30, of the mean of H's words; {_OF_INTENT} utterances an intent at most",
        "budget": f"{budget.episodes} train episodes at most",
        "data_version": [corpus.digest(split) for split in _SPLITS],
        "intents": intents,
        "splits": list(_SPLITS),
        "panels": panels,
    }
    write_text(path, json.dumps(content) + "\n")


def drawn(utterances: tuple[Utterance, ...]) -> list[Utterance]:
    """Up to so many of each intent, by chance; an intent with one or two utterances shows nothing."""
    rng = np.random.default_rng(_SEED)
    found = []
    for intent in sorted({utterance.intent for utterance in utterances}):
        own = [utterance for utterance in utterances if utterance.intent == intent]
        if len(own) > 2:
            found += [own[int(number)] for number in sorted(rng.permutation(len(own))[:_OF_INTENT])]
    return found


def _learner(row: str | None, runs: Path, budget: Budget, means: Means, corpus: Corpus) -> ExplicitJointLearner:
    config = run_config(row or BASE, "minilm", (_CORPUS,), _SEED, budget)
    if row is None:
        from handful.learners.choose import build_trained

        return _checked(
            build_trained(config.learner, config.encoder, seed=config.train_seed, cache=features_dir(), remember=False)
        )
    work = Work(config, runs / config.digest())
    if isinstance(end := do(work, means), Failed):
        raise TrainingError(f"{work.title}: {end.reason}")
    return _checked(load_learner(work.folder, cache=features_dir())[0])


def _checked(learner: object) -> ExplicitJointLearner:
    if not isinstance(learner, ExplicitJointLearner):
        raise TypeError(f"Figure 2 is of the paper's framework, found {type(learner).__name__}")
    return learner


def _panel(learner: ExplicitJointLearner, shown: dict[str, list[Utterance]], intents: list[str]) -> dict[str, Any]:
    from sklearn.metrics import silhouette_score

    utterances = [(utterance, number) for number, split in enumerate(_SPLITS) for utterance in shown[split]]
    vectors = np.stack([h.mean(axis=0) for h in learner.encode([utterance.sentence for utterance, _ in utterances])])
    classes = np.array([intents.index(utterance.intent) for utterance, _ in utterances])
    splits = np.array([split for _, split in utterances])
    points = projected(vectors)
    separation = {
        split: round(float(silhouette_score(vectors[splits == number], classes[splits == number])), 4)
        for number, split in enumerate(_SPLITS)
    }
    rows = zip(points.tolist(), classes.tolist(), splits.tolist(), strict=True)
    return {
        "separation": separation,
        "points": [[round(x, 2), round(y, 2), intent, split] for (x, y), intent, split in rows],
    }


def projected(vectors: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """[n, d] -> [n, 2], begun from the main directions, so that no draw decides the picture."""
    from sklearn.manifold import TSNE

    return TSNE(perplexity=30, init="pca", random_state=_SEED).fit_transform(vectors)


def _require_sklearn() -> None:
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise ConfigError("--figure needs a package that is not installed: pip install 'handful[bench]'") from error
