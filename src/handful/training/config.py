"""The settings of a training run: a YAML file, and --set a.b=c on top. A misspelt key is an error."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BeforeValidator, Discriminator, Field, Tag, ValidationError

from handful.data.formats.tree import Node
from handful.data.formats.yaml_tree import read_yaml
from handful.encoders.choose import EncoderConfig, TransformerConfig
from handful.errors import ConfigError, DataError, Place, Problem
from handful.learners.explicit_joint import ExplicitJointConfig
from handful.learners.finetune import FinetuneConfig
from handful.learners.fomaml import FomamlConfig
from handful.learners.joint_spans import JointSpansConfig
from handful.learners.proto import ProtoConfig
from handful.learners.retriever import RetrieverConfig
from handful.settings import Settings


class OptimiserConfig(Settings):
    """AdamW; the rate rises over the warm-up and then falls in a straight line to nought at the last planned step."""

    learning_rate: float = Field(default=1e-4, gt=0)
    weight_decay: float = Field(default=0.01, ge=0)
    warmup_steps: int = Field(default=100, ge=0)
    clip: float = Field(default=1.0, gt=0)  # of the gradient's norm
    episodes_per_step: int = Field(default=1, ge=1)  # whose gradients are averaged, over all processes
    # What was not pretrained may learn faster than the encoder: its rate is this many times as high.
    new_weights_rate: float = Field(default=1.0, gt=0)


class DevConfig(Settings):
    """After each epoch dev episodes are scored; the best epoch's weights, or the last one's, are the checkpoint."""

    episodes: int = Field(default=50, ge=0)  # none: the last epoch's weights are the checkpoint, unscored
    u_max: int = Field(default=20, ge=3)
    episode_seed: int = Field(default=1_000_003, ge=0)
    # "mean" is that of intent accuracy and strict slot F1.
    choose_by: Literal["mean", "intent_accuracy", "slot_f1_strict"] = "mean"
    patience: int = Field(default=4, ge=1)  # epochs without a better score before training ends
    keep: Literal["best", "last"] = "best"  # with "last", dev scores are there to be read, and end nothing

    def score(self, scores: Mapping[str, float]) -> float:
        if self.choose_by == "mean":
            return (scores["intent_accuracy"] + scores["slot_f1_strict"]) / 2
        return scores[self.choose_by]


class PaperEpisodes(Settings):
    """The paper's sampler, with the settings `u_max` and `query_cap`. Of several corpora each has its turn."""

    kind: Literal["paper"] = "paper"


class BalancedEpisodes(Settings):
    """Our own: every class gives what it has (episodes/balanced.py)."""

    kind: Literal["balanced"]
    most_classes: int = Field(default=6, ge=3)
    most_shots: int = Field(default=8, ge=1)


class DomainEpisodes(Settings):
    """Of the corpora and of the domain sets, each corpus one domain (episodes/domain_episodes.py)."""

    kind: Literal["domains"]
    most_classes: int = Field(default=16, ge=3)
    most_shots: int = Field(default=8, ge=1)
    single: float = Field(default=0.4, ge=0, le=1)  # the share of episodes of one domain
    mixed: float = Field(default=0.2, ge=0, le=1)  # and of those that mix all sets

    def model_post_init(self, _: Any) -> None:
        if self.single + self.mixed > 1:
            raise ValueError(f"single and mixed are shares of all episodes: found {self.single} and {self.mixed}")


def _by(key: str, default: str) -> Discriminator:
    """Settings that name no kind are the default's: `frozen_layers: 4` alone is enough."""

    def tag(value: Any) -> str | None:
        return str(value.get(key, default)) if isinstance(value, dict) else getattr(value, key, None)

    return Discriminator(tag)


LearnerConfig = Annotated[
    Annotated[ExplicitJointConfig, Tag("explicit_joint")]
    | Annotated[JointSpansConfig, Tag("joint_spans")]
    | Annotated[ProtoConfig, Tag("proto")]
    | Annotated[RetrieverConfig, Tag("retriever")]
    | Annotated[FinetuneConfig, Tag("finetune")]
    | Annotated[FomamlConfig, Tag("fomaml")],
    _by("name", "explicit_joint"),
]
EpisodesConfig = Annotated[
    Annotated[PaperEpisodes, Tag("paper")]
    | Annotated[BalancedEpisodes, Tag("balanced")]
    | Annotated[DomainEpisodes, Tag("domains")],
    _by("kind", "paper"),
]
_UNIONS = {"encoder": "kind", "learner": "name", "train_episodes": "kind"}  # and what names their variant


def _names(value: Any) -> Any:
    several = isinstance(value, (list, tuple)) and value and all(isinstance(name, str) for name in value)
    if not isinstance(value, str) and not several:
        raise ValueError("expected the name of a corpus, or a list of names")
    return value


class RunConfig(Settings):
    data: Annotated[str | tuple[str, ...], BeforeValidator(_names)]  # several: "joint", in the paper's words
    # Which intents are trained on. With dev intents among them nothing is left to choose by.
    train_splits: tuple[Literal["train", "dev"], ...] = ("train",)
    # A few sentences of TOP stand in two splits with two intents; the paper's protocol trains on them all the same.
    # "boards": nothing that any public board or test intent has (data/board_texts.py).
    leave_out: Literal["nothing", "test_texts", "boards"] = "nothing"
    domain_sets: tuple[str, ...] = ()  # trained on beside the corpora, with train_episodes of the kind "domains"
    held_out_domains: Literal["trained_on", "left_out"] = "trained_on"  # left out while settings are chosen on them
    train_episodes: EpisodesConfig = PaperEpisodes()
    u_max: int = Field(default=20, ge=3)
    query_cap: int = Field(default=10, ge=1)
    train_seed: int = Field(default=0, ge=0, lt=2**63)  # of weights and dropout
    episode_seed: int = Field(default=0, ge=0, lt=2**63)  # of the train episodes
    epochs: int = Field(default=10, ge=1)
    episodes_per_epoch: int = Field(default=100, ge=1)
    encoder: EncoderConfig = TransformerConfig()
    learner: LearnerConfig = ExplicitJointConfig()
    optimiser: OptimiserConfig = OptimiserConfig()
    dev: DevConfig = DevConfig()
    # After the epochs so much of the encoder's own weights is mixed in: w + kept · (own - w) of what was trained of it.
    kept_encoder: float = Field(default=0.0, ge=0, lt=1)
    settling_epochs: int = Field(default=0, ge=0)  # after that, in which what no encoder brought is trained alone
    checkpoint_precision: Literal["float32", "float16"] = "float32"

    @property
    def corpora(self) -> tuple[str, ...]:
        return (self.data,) if isinstance(self.data, str) else self.data

    @property
    def data_label(self) -> str:
        return "+".join(self.corpora)

    @property
    def steps_per_epoch(self) -> int:
        return self.episodes_per_epoch // self.optimiser.episodes_per_step

    @property
    def steps(self) -> int:
        return (self.epochs + self.settling_epochs) * self.steps_per_epoch

    @property
    def encoder_steps(self) -> int:
        """Those that train the encoder."""
        return self.epochs * self.steps_per_epoch

    def digest(self) -> str:
        """A short name of all settings: two runs with the same one are the same run."""
        written = json.dumps(self.model_dump(mode="json"), sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(written.encode()).hexdigest()[:12]

    def written(self) -> dict[str, Any]:
        """Without defaults: those of one kind of encoder are no settings of another."""
        return self.model_dump(mode="json", exclude_unset=True)

    def model_post_init(self, _: Any) -> None:
        if self.episodes_per_epoch % self.optimiser.episodes_per_step:
            raise ValueError(
                f"episodes_per_epoch is {self.episodes_per_epoch}, expected a multiple of "
                f"optimiser.episodes_per_step, {self.optimiser.episodes_per_step}"
            )
        if len(set(self.corpora)) < len(self.corpora):
            raise ValueError(f"data names a corpus twice: {self.data_label}")
        if "train" not in self.train_splits or len(set(self.train_splits)) < len(self.train_splits):
            raise ValueError(f"train_splits is {list(self.train_splits)}, expected [train] or [train, dev]")
        if bool(self.domain_sets) != isinstance(self.train_episodes, DomainEpisodes):
            raise ValueError("domain_sets and train_episodes of the kind 'domains' go together: set both or neither")
        if self.domain_sets and (self.dev.episodes or self.leave_out != "boards"):
            raise ValueError("with domain_sets, leave_out must be 'boards' and dev.episodes 0")
        if self.leave_out == "boards" and not self.domain_sets:
            raise ValueError("leave_out is 'boards', which is for runs with domain_sets")
        if len(set(self.domain_sets)) < len(self.domain_sets):
            raise ValueError(f"domain_sets names a set twice: {', '.join(self.domain_sets)}")
        if self.held_out_domains == "left_out" and not self.domain_sets:
            raise ValueError("held_out_domains is 'left_out', but there are no domain_sets to leave them out of")
        if self.kept_encoder and self.dev.episodes:
            raise ValueError("dev scores would choose weights before kept_encoder changes them: set dev.episodes to 0")
        if self.settling_epochs and not self.kept_encoder:
            raise ValueError("settling_epochs is what follows kept_encoder: set both or neither")
        if "dev" in self.train_splits and self.dev.episodes:
            raise ValueError("dev intents that are trained on cannot choose a checkpoint: set dev.episodes to 0")


def load_config(path: Path, changes: Sequence[str] = ()) -> RunConfig:
    """The file's settings with `a.b=c` changes on top; everything wrong is told at once, with its line."""
    document = read_mapping(path)
    values = plain(document)
    changed: dict[str, Place] = {}
    for change in changes:
        key, value = parse_change(change)
        apply_change(values, key, value)
        changed[key] = Place(Path(f"--set {change}"))
    try:
        return RunConfig.model_validate(values)
    except ValidationError as error:
        raise DataError(
            [
                Problem(change_of(changed, setting_name(found)) or place_of(document, found), told(found))
                for found in error.errors()
            ]
        ) from None


def read_mapping(path: Path) -> Node:
    documents = read_yaml(path)
    if len(documents) != 1:
        raise DataError.at(documents[1].place, f"found {len(documents)} YAML documents, expected one")
    documents[0].mapping("settings, as `data: snips`")
    return documents[0]


def parse_change(change: str) -> tuple[str, Any]:
    """'a.b=c' -> ('a.b', c), with c read as YAML reads it."""
    key, equals, written = change.partition("=")
    if not equals or not all(key.split(".")):
        raise ConfigError(f"found --set {change!r}, expected key=value, as learner.window=1")
    try:
        return key, yaml.safe_load(written)
    # ValueError: what PyYAML makes of a date that is none. RecursionError: brackets without an end.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"found --set {change!r}: the value is not YAML") from error


def apply_change(values: dict[str, Any], key: str, value: Any) -> None:
    *parents, last = key.split(".")
    for parent in parents:
        inner = values.setdefault(parent, {})
        if not isinstance(inner, dict):
            raise ConfigError(f"cannot set {key}: {parent} is {inner!r}, not a group of settings")
        values = inner
    values[last] = value


def plain(node: Node) -> Any:
    if isinstance(node.value, dict):
        return {key: plain(child) for key, child in node.value.items()}
    if isinstance(node.value, list):
        return [plain(child) for child in node.value]
    return node.value


def change_of(changed: Mapping[str, Place], name: str) -> Place | None:
    """The --set that gave a setting, by itself or with the group around it."""
    while name and name not in changed:
        name = name.rpartition(".")[0]
    return changed.get(name)


def place_of(document: Node, error: Any) -> Place:
    """The place of a setting in the file, or of the nearest group around it (a value may come from --set)."""
    node = document
    for key in _location(error):
        if isinstance(node.value, dict) and key in node.value:
            node = node.value[str(key)]
        elif isinstance(node.value, list) and isinstance(key, int) and key < len(node.value):
            node = node.value[key]
        else:
            break
    return node.place


def setting_name(error: Any) -> str:
    """The setting's name as people write it."""
    return ".".join(str(part) for part in _location(error))


def _location(error: Any) -> list[str | int]:
    found = list(error["loc"])
    variant = _UNIONS.get(str(found[0])) if found else None
    if error["type"] == "union_tag_invalid" and variant is not None:
        return [*found, variant]
    if variant is not None:
        # The variant of a union (the encoder's kind) is in pydantic's location and not in the file.
        del found[1:2]
    return found


def told(error: Any) -> str:
    name = setting_name(error)
    match error["type"]:
        case "extra_forbidden":
            return f"there is no setting '{name}'"
        case "missing":
            return f"the setting '{name}' is missing"
        case "union_tag_invalid":
            return f"{name}: found '{error['ctx']['tag']}', expected one of {error['ctx']['expected_tags']}"
        case "union_tag_not_found" | "model_type" | "model_attributes_type":
            return f"{name}: found {error['input']!r}, expected a group of settings"
        case "tuple_type":
            return f"{name}: found {error['input']!r}, expected a list of values"
        case _:
            message = error["msg"].removeprefix("Value error, ")
            return f"{name}: {message[0].lower()}{message[1:]}, found {error['input']!r}" if name else message
