"""From settings to a trainer, and from a checkpoint back to its learner."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import torch

from handful.data.corpora import Corpus, load_corpus
from handful.data.reading import suggestion
from handful.encoders.choose import TransformerConfig
from handful.errors import CheckpointError, ConfigError
from handful.learners.choose import build_trained
from handful.learners.explicit_joint import ExplicitJointLearner
from handful.places import cache_dir
from handful.places import data_dir as chosen_dir
from handful.training.checkpoint import About, load_checkpoint_weights, read_about, read_checkpoint
from handful.training.config import RunConfig
from handful.training.loop import Trainer
from handful.training.ranks import Ranks
from handful.training.run import RunFolder
from handful.training.sets import training_sets


def features_dir() -> Path:
    """Where frozen features are kept between runs."""
    return cache_dir() / "features"


def prepare_run(
    config: RunConfig,
    run: RunFolder,
    *,
    resume: bool = False,
    data_dir: Path | None = None,
    ranks: Ranks | None = None,
    threads: int | None = None,
) -> Trainer:
    """Everything that can be wrong is found before the folder is made and the first step is taken."""
    ranks = ranks or Ranks()
    if threads is not None:
        torch.set_num_threads(threads)
    corpus = load_corpus(config.data, chosen_dir(data_dir))
    sets = training_sets(corpus)
    _refuse_unknown_labels(config, corpus)
    # Every rank looks for itself, so that all of them stop for the same reason.
    if resume:
        run.check_config(config)
    else:
        run.refuse_existing()
    learner = build_trained(config.learner, config.encoder, seed=config.train_seed, cache=features_dir(), remember=True)
    version = "+".join(corpus.digest(split) for split in ("train", "dev") if split in corpus.splits)
    trainer = Trainer(config, learner, sets, run, data_version=version, ranks=ranks)
    ranks.wait()
    if not resume and ranks.first:
        run.create(config)
    ranks.wait()
    return trainer


def _refuse_unknown_labels(config: RunConfig, corpus: Corpus) -> None:
    """A description of a label that is nowhere would never be read: it is a slip of the pen."""
    utterances = [utterance for split in corpus.splits.values() for utterance in split]
    known = {u.intent for u in utterances} | {slot.key for u in utterances for slot in u.slots}
    for label in config.learner.descriptions:
        if label not in known:
            raise ConfigError(
                f"learner.descriptions: '{corpus.name}' has no intent or slot '{label}'"
                f"{suggestion(label, sorted(known))}"
            )


def load_learner(
    folder: Path,
    *,
    remember: bool = False,
    cache: Path | None = None,
    decoding: Literal["joint", "independent"] | None = None,
) -> tuple[ExplicitJointLearner, About]:
    """The learner of a checkpoint, or of a run's best one; `decoding` is the one setting that needs no training."""
    checkpoint = _checkpoint_of(folder)
    about, weights = read_checkpoint(checkpoint)
    config = about.config
    settings = config.learner if decoding is None else config.learner.model_copy(update={"decoding": decoding})
    learner = build_trained(settings, config.encoder, seed=config.train_seed, cache=cache, remember=remember)
    load_checkpoint_weights(checkpoint, about, weights, learner.network, learner.encoder_name)
    return learner, about


def read_run(folder: Path) -> About:
    return read_about(_checkpoint_of(folder))


def _checkpoint_of(folder: Path) -> Path:
    """A run's folder holds its checkpoint's; either may be named."""
    if (folder / "config.json").is_file() and not (folder / "checkpoint").is_dir():
        raise CheckpointError(f"{folder}: the run has no checkpoint yet: it is written after the first epoch")
    return folder / "checkpoint" if (folder / "checkpoint").is_dir() else folder


def row_of(config: RunConfig) -> str:
    """The paper's name of a variant."""
    learner = config.learner
    intent = "w" if learner.intent_contrast_weight else "o"
    terms = f"({intent},{'w' if learner.slot_contrast_weight else 'o'})"
    if learner.direction == "both":
        return terms
    # The paper's ablations have no contrastive terms, and are named without them.
    return learner.direction if terms == "(o,o)" else f"{learner.direction} {terms}"


def encoder_label(config: RunConfig) -> str:
    encoder = config.encoder
    return Path(encoder.name).name if isinstance(encoder, TransformerConfig) else encoder.kind
