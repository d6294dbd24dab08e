"""What benchmarks/out_of_domain.py compares: our learners, and what people would take without them.

Each adapts to a support set; what comes out says of sentences what it knows. Heavy imports wait until one is built.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, assert_never

import numpy as np

from handful.data.bio import utterance_tags
from handful.types import Utterance, Words

if TYPE_CHECKING:
    from handful.encoders.encoding import Encoder
    from handful.learners.learner import Learner

SystemName = Literal["joint_spans", "tuned", "prototypes", "logistic", "crf"]
SYSTEMS: dict[SystemName, str] = {
    "joint_spans": "joint_spans",
    "tuned": "joint_spans, tuned",
    "prototypes": "prototypes",
    "logistic": "logistic regression",
    "crf": "CRF",
}

TUNED = {"tuning.steps": 5}
LOGISTIC = {"C": 10.0, "max_iter": 1000}
# With all transitions: one that a small support lacks is learned to be unlikely, not left at nought.
CRF = {"c1": 0.1, "c2": 0.1, "max_iterations": 100, "feature.possible_transitions": True}


@dataclass(frozen=True, slots=True)
class Answers:
    """What a system says of sentences; one that knows of intents alone, or of slots alone, leaves the other out."""

    intents: Sequence[str] | None
    tags: Sequence[Sequence[str]] | None


Predict = Callable[[Sequence[Words]], Answers]


class System(Protocol):
    @property
    def config(self) -> Mapping[str, Any]:
        """All that its answers depend on besides the support."""
        ...

    def adapt(self, support: Sequence[Utterance]) -> Predict: ...


class Learned:
    """One of our learners."""

    def __init__(self, learner: Learner, about: Mapping[str, Any]) -> None:
        self._learner = learner
        self.config = {**about, **learner.config.model_dump(mode="json")}

    def adapt(self, support: Sequence[Utterance]) -> Predict:
        adapted = self._learner.adapt(support)

        def predict(sentences: Sequence[Words]) -> Answers:
            found = adapted.predict(sentences)
            return Answers([p.intent for p in found], [p.tags for p in found])

        return predict


class LogisticIntents:
    """Logistic regression on frozen sentence vectors of length one."""

    def __init__(self, encoder: Encoder, name: str) -> None:
        self._encoder = encoder
        self.config = {"encoder": name, **LOGISTIC}

    def adapt(self, support: Sequence[Utterance]) -> Predict:
        from sklearn.linear_model import LogisticRegression

        model = LogisticRegression(**LOGISTIC)
        vectors = unit_sentence_vectors(self._encoder, [utterance.sentence for utterance in support])
        with warnings.catch_warnings():
            # One example a class is what is asked here, and no sign of a regression.
            warnings.filterwarnings("ignore", message="The number of unique classes")
            model.fit(vectors, [utterance.intent for utterance in support])

        def predict(sentences: Sequence[Words]) -> Answers:
            intents = model.predict(unit_sentence_vectors(self._encoder, sentences))
            return Answers([str(intent) for intent in intents], None)

        return predict


def unit_sentence_vectors(encoder: Encoder, sentences: Sequence[Words]) -> np.ndarray:
    """[n, d]."""
    vectors = np.stack([encoding.sentence for encoding in encoder.encode(sentences)])
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class CrfSlots:
    """A linear-chain CRF on the words as they are written; it knows of no intent."""

    config = CRF

    def adapt(self, support: Sequence[Utterance]) -> Predict:
        from pycrfsuite import Tagger, Trainer  # pyright: ignore[reportAttributeAccessIssue]  # compiled

        trainer = Trainer(algorithm="lbfgs", params=CRF, verbose=False)
        for utterance in support:
            trainer.append(word_features(utterance.sentence), utterance_tags(utterance))
        tagger = Tagger()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model"
            trainer.train(str(file))
            tagger.open(str(file))  # reads all of it; open_inmemory keeps a pointer to bytes that are then gone
        return lambda sentences: Answers(None, [tagger.tag(word_features(words)) for words in sentences])


def word_features(words: Words) -> list[list[str]]:
    lower = ["BOS", *(f"word={word.lower()}" for word in words), "EOS"]
    return [
        [
            "bias",
            f"as written={word}",
            f"shape={shape(word)}",
            f"digits={word.isdigit()}",
            *(f"begins {size}={word[:size].lower()}" for size in (2, 3)),
            *(f"ends {size}={word[-size:].lower()}" for size in (2, 3)),
            lower[place],
            f"before: {lower[place - 1]}",
            f"after: {lower[place + 1]}",
        ]
        for place, word in enumerate(words, 1)
    ]


def shape(word: str) -> str:
    return "".join("d" if c.isdigit() else "X" if c.isupper() else "x" if c.isalpha() else "-" for c in word)


def build(name: SystemName, checkpoint: Path | None, *, remember: bool) -> System:
    from handful.encoders.memory import RememberingEncoder
    from handful.encoders.minilm import NAME, minilm_folder
    from handful.encoders.transformer import TransformerEncoder
    from handful.learners.choose import build_prototypes
    from handful.training.shipped import shipped_folder
    from handful.training.start import features_dir, load_learner

    match name:
        case "joint_spans" | "tuned":
            learner, about = load_learner(
                checkpoint or shipped_folder(),
                remember=remember,
                cache=features_dir() if remember else None,
                keep_features=remember,
                changes=TUNED if name == "tuned" else {},
            )
            return Learned(learner, {"weights_sha256": about.weights_sha256})
        case "prototypes":
            return Learned(build_prototypes(remember=remember), {"encoder": NAME})
        case "logistic":
            encoder = TransformerEncoder(minilm_folder())
            return LogisticIntents(RememberingEncoder(encoder) if remember else encoder, NAME)
        case "crf":
            return CrfSlots()
        case _:
            assert_never(name)
