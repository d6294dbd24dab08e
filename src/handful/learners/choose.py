"""Learners by their settings, for training and for those who load what was trained."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, assert_never, overload

if TYPE_CHECKING:
    from handful.encoders.choose import EncoderConfig
    from handful.learners.explicit_joint import ExplicitJointConfig, ExplicitJointLearner
    from handful.learners.finetune import FinetuneConfig
    from handful.learners.fomaml import FomamlConfig
    from handful.learners.joint_spans import JointSpansConfig, JointSpansLearner
    from handful.learners.learner import TrainedLearner
    from handful.learners.proto import ProtoConfig
    from handful.learners.prototypes import PrototypeLearner
    from handful.learners.retriever import RetrieverConfig

    TrainedConfig = (
        ExplicitJointConfig | JointSpansConfig | ProtoConfig | RetrieverConfig | FinetuneConfig | FomamlConfig
    )


def build_prototypes(*, encoder: str | None = None, remember: bool = False) -> PrototypeLearner:
    """The learner that needs no training, on the default encoder or on the one of this name or folder. Torch is
    imported here, not before."""
    from handful.encoders.memory import RememberingEncoder
    from handful.encoders.minilm import NAME
    from handful.encoders.transformer import TransformerEncoder
    from handful.encoders.weights import find_weights
    from handful.learners.prototypes import PrototypeLearner

    loaded = TransformerEncoder(find_weights(encoder or NAME))
    return PrototypeLearner(RememberingEncoder(loaded) if remember else loaded)


@overload
def build_trained(
    config: ExplicitJointConfig,
    encoder: EncoderConfig,
    *,
    seed: int,
    cache: Path | None,
    remember: bool,
    keep_features: bool = True,
) -> ExplicitJointLearner: ...


@overload
def build_trained(
    config: JointSpansConfig,
    encoder: EncoderConfig,
    *,
    seed: int,
    cache: Path | None,
    remember: bool,
    keep_features: bool = True,
) -> JointSpansLearner: ...


@overload
def build_trained(
    config: TrainedConfig,
    encoder: EncoderConfig,
    *,
    seed: int,
    cache: Path | None,
    remember: bool,
    keep_features: bool = True,
) -> TrainedLearner: ...


def build_trained(
    config: TrainedConfig,
    encoder: EncoderConfig,
    *,
    seed: int,
    cache: Path | None,
    remember: bool,
    keep_features: bool = True,
) -> TrainedLearner:
    """A learner as training begins with it; `seed` draws the weights that no encoder gives.

    Frozen features are kept in memory, and in the folder `cache` where there is one. `keep_features=False` computes
    them anew every time: a benchmark wants that, and a parser, which would only hoard what its users say.
    """
    import torch

    from handful.encoders.choose import build_encoder
    from handful.encoders.network import SentenceNetwork, Unkept, WordNetwork
    from handful.encoders.store import ArrayStore
    from handful.learners.explicit_joint import ExplicitJointConfig, ExplicitJointLearner
    from handful.learners.finetune import FinetuneConfig, FinetuneLearner
    from handful.learners.fomaml import FomamlConfig, FomamlLearner
    from handful.learners.joint_spans import JointSpansConfig, JointSpansLearner
    from handful.learners.proto import ProtoConfig, ProtoLearner
    from handful.learners.retriever import RetrieverConfig, RetrieverLearner
    from handful.model.span_network import SpanNetwork

    frozen, words = build_encoder(encoder, config.dropout)
    torch.manual_seed(seed)
    kept = ArrayStore(frozen.name, folder=cache) if keep_features else Unkept()
    if isinstance(config, ExplicitJointConfig):
        return ExplicitJointLearner(WordNetwork(frozen, words, kept, config.dropout), config, remember=remember)
    if isinstance(config, JointSpansConfig):
        network = SpanNetwork(
            frozen,
            words,
            kept,
            without=config.without,
            bfloat16=config.precision == "bfloat16",
            width=config.width,
            dropout=config.dropout,
        )
        return JointSpansLearner(network, config, remember=remember)
    body = SentenceNetwork(frozen, words, kept, config.dropout)
    match config:
        case ProtoConfig():
            return ProtoLearner(body, config, remember=remember)
        case RetrieverConfig():
            return RetrieverLearner(body, config, remember=remember)
        case FinetuneConfig():
            return FinetuneLearner(body, config, remember=remember)
        case FomamlConfig():
            return FomamlLearner(body, config, remember=remember)
        case _:
            assert_never(config)
