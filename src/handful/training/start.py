"""From settings to a trainer, and from a checkpoint back to its learner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError

from handful.data.corpora import Corpus, load_corpus
from handful.data.near_names import suggestion
from handful.encoders.choose import TransformerConfig
from handful.errors import CheckpointError, ConfigError, listed
from handful.learners.choose import build_trained
from handful.learners.explicit_joint import ExplicitJointConfig
from handful.learners.learner import TrainedLearner
from handful.places import cache_dir
from handful.places import data_dir as chosen_dir
from handful.training.checkpoint import About, load_checkpoint_weights, read_about, read_checkpoint
from handful.training.config import LearnerConfig, RunConfig, apply_change, told
from handful.training.loop import Trainer
from handful.training.ranks import Ranks
from handful.training.run import RunFolder
from handful.training.sets import domain_training_sets, domains_version, training_sets


def features_dir() -> Path:
    """Where frozen features are kept between runs."""
    return cache_dir() / "features"


def prepare_run(
    config: RunConfig,
    run: RunFolder,
    *,
    resume: bool = False,
    data_dir: Path | None = None,
    corpora: Sequence[Corpus] | None = None,
    ranks: Ranks | None = None,
    threads: int | None = None,
) -> Trainer:
    """Everything that can be wrong is found before the folder is made and the first step is taken.

    `corpora`, where given, are those that the settings name, already read.
    """
    ranks = ranks or Ranks()
    if threads is not None:
        torch.set_num_threads(threads)
    if corpora is None:
        corpora = [load_corpus(name, chosen_dir(data_dir)) for name in config.corpora]
    if config.domain_sets:
        sets = domain_training_sets(
            corpora,
            config.train_splits,
            config.domain_sets,
            chosen_dir(data_dir),
            hold_out=config.held_out_domains == "left_out",
        )
        version = domains_version(sets.domains)
    else:
        sets = training_sets(corpora, config.train_splits, scored=config.dev.episodes > 0, leave_out=config.leave_out)
        version = corpora_version(corpora)
    _refuse_unknown_labels(config, corpora)
    # Every rank looks for itself, so that all of them stop for the same reason.
    if resume:
        run.check_config(config)
    else:
        run.refuse_existing()
    learner = build_trained(config.learner, config.encoder, seed=config.train_seed, cache=features_dir(), remember=True)
    trainer = Trainer(config, learner, sets, run, data_version=version, ranks=ranks)
    ranks.wait()
    if not resume and ranks.first:
        run.create(config)
    ranks.wait()
    return trainer


def corpora_version(corpora: Sequence[Corpus]) -> str:
    """The sums of all that a run may train on or score with."""
    return "+".join(c.digest(split) for c in corpora for split in ("train", "dev") if split in c.splits)


def _refuse_unknown_labels(config: RunConfig, corpora: Sequence[Corpus]) -> None:
    """A description of a label that is nowhere would never be read: it is a slip of the pen."""
    utterances = [utterance for corpus in corpora for split in corpus.splits.values() for utterance in split]
    known = {u.intent for u in utterances} | {slot.key for u in utterances for slot in u.slots}
    for label in getattr(config.learner, "descriptions", ()):
        if label not in known:
            raise ConfigError(
                f"learner.descriptions: '{config.data_label}' has no intent or slot '{label}'"
                f"{suggestion(label, sorted(known))}"
            )


def load_learner(
    folder: Path,
    *,
    remember: bool = False,
    cache: Path | None = None,
    keep_features: bool = True,
    changes: Mapping[str, Any] | None = None,
) -> tuple[TrainedLearner, About]:
    """The learner of a checkpoint, or of a run's best one, with other settings where they need no training."""
    checkpoint = _checkpoint_of(folder)
    about, weights = read_checkpoint(checkpoint)
    config = about.config
    settings = changed_settings(config.learner, changes or {})
    learner = build_trained(
        settings, config.encoder, seed=config.train_seed, cache=cache, remember=remember, keep_features=keep_features
    )
    load_checkpoint_weights(checkpoint, about, weights, learner.network, learner.encoder_name)
    return learner, about


def changed_settings(settings: LearnerConfig, changes: Mapping[str, Any]) -> LearnerConfig:
    """A learner's settings with others for those that matter in prediction alone."""
    values = settings.model_dump()
    for key, value in changes.items():
        if key.partition(".")[0] not in settings.of_prediction:
            raise ConfigError(
                f"--set {key}: a trained {settings.name} can be given {listed(sorted(settings.of_prediction))}, and "
                "nothing else without training it anew"
            )
        apply_change(values, key, value)
    try:
        return type(settings).model_validate(values)
    except ValidationError as error:
        raise ConfigError("; ".join(f"--set: {told(found)}" for found in error.errors())) from None


def read_run(folder: Path) -> About:
    return read_about(_checkpoint_of(folder))


def _checkpoint_of(folder: Path) -> Path:
    """A run's folder holds its checkpoint's; either may be named."""
    if (folder / "config.json").is_file() and not (folder / "checkpoint").is_dir():
        raise CheckpointError(f"{folder}: the run has no checkpoint yet: it is written after the first epoch")
    return folder / "checkpoint" if (folder / "checkpoint").is_dir() else folder


def row_of(config: RunConfig) -> str:
    """The paper's name of a variant, or the learner's own."""
    learner = config.learner
    if not isinstance(learner, ExplicitJointConfig):
        return learner.name
    intent = "w" if learner.intent_contrast_weight else "o"
    terms = f"({intent},{'w' if learner.slot_contrast_weight else 'o'})"
    if learner.direction == "both":
        return terms
    # The paper's ablations have no contrastive terms, and are named without them.
    return learner.direction if terms == "(o,o)" else f"{learner.direction} {terms}"


def encoder_label(config: RunConfig) -> str:
    encoder = config.encoder
    return Path(encoder.name).name if isinstance(encoder, TransformerConfig) else encoder.kind
