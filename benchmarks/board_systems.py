"""What is measured on the boards: handful, and what people would take without it. Texts in, predictions out.

A system adapts to a support set and predicts texts that it has not seen; it gets neither their annotation nor any
sentence that is out of scope. What a record says of a system's settings is known before anything heavy is loaded.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, assert_never

import numpy as np
from board_metrics import BoardPrediction
from bot_systems import CRF, unit_sentence_vectors
from peer_setfit import SetFitIntents, setfit_config
from peer_systems import OfWords, versions

from handful.data.labels import humanised
from handful.types import Prediction, Utterance, Word
from handful.words import split_words

if TYPE_CHECKING:
    from handful.encoders.transformer import TransformerEncoder
    from handful.parser.models import Model
    from handful.parser.parse import Parse
    from handful.parser.parser import Parser
    from handful.parser.understanding import Understanding

SystemName = Literal["handful", "handful_unfitted", "logistic_regression", "setfit", "crf"]
SYSTEM_NAMES: tuple[SystemName, ...] = ("handful", "handful_unfitted", "logistic_regression", "setfit", "crf")
# Packages that a system needs and that handful does not.
NEEDED: Mapping[SystemName, str] = {"logistic_regression": "sklearn", "setfit": "setfit", "crf": "pycrfsuite"}

INTENTS_WITH_CONFIDENCE = frozenset({"intent_accuracy", "intent_ece", "auroc", "coverage_at_5"})
LOGISTIC = {"C": 30.0, "max_iter": 1000}


@dataclass(frozen=True, slots=True)
class Answers:
    """What a system says of one task's texts, and the seconds that it took."""

    predictions: Sequence[BoardPrediction]
    fit_seconds: float  # encoding the support and fitting to it; loading weights is no part of it
    predict_seconds: float
    calibration_seconds: float = 0.0


class BoardSystem(Protocol):
    @property
    def metrics(self) -> frozenset[str]:
        """What it can be measured by."""
        ...

    @property
    def config(self) -> Mapping[str, Any]:
        """All that its predictions depend on besides the task."""
        ...

    def load(self) -> None:
        """Weights, which are no part of the seconds."""
        ...

    def answer(self, support: Sequence[Utterance], texts: Sequence[str], *, calibrated: bool) -> Answers:
        """`calibrated`: with confidences and a threshold that are set by the support, where the system has such."""
        ...


# -- handful ------------------------------------------------------------------------------------------------------


def adapted_parser(model: Model, support: Sequence[Utterance]) -> Parser:
    """A parser as the product makes it of a bot's file."""
    from handful.data.document import Document
    from handful.parser.bot import Bot
    from handful.parser.parser import Parser

    return Parser.with_model(Bot("board", Document(tuple(support))), model)


def adapted_model(model: Model, support: Sequence[Utterance]) -> Understanding:
    """The same without a parser around it: nothing is calibrated, which would be most of a tiny episode's time."""
    from handful.parser.understanding import Understanding

    return Understanding(model.learner, support, {})


class HandfulSystem:
    def __init__(self, checkpoint: Path | None, *, fitted: bool) -> None:
        """`checkpoint` is the folder of a run or of a checkpoint; None is the one that comes with the package. Without
        `fitted` the slots' maps are those of the checkpoint; the intents' head is nothing without a fit."""
        self._checkpoint, self._fitted = checkpoint, fitted

    @property
    def metrics(self) -> frozenset[str]:
        """Slots alone, where their maps are all that is different."""
        of_slots = frozenset({"slot_f1", "joint_accuracy", "slot_ece"})
        return INTENTS_WITH_CONFIDENCE | of_slots | {"in_scope_accuracy", "oos_recall"} if self._fitted else of_slots

    @property
    def config(self) -> dict[str, Any]:
        from handful.training.shipped import checkpoint_sums, shipped_folder

        sums = checkpoint_sums(self._checkpoint or shipped_folder())
        return {"weights": sums.weights, "runtime": "int8", "fitted": self._fitted, **versions("onnxruntime")}

    @cached_property
    def _model(self) -> Model:
        from handful.data.bot_settings import BotSettings
        from handful.parser.models import model_for
        from handful.runtime.spans import ExportedSpans

        model = model_for(BotSettings(checkpoint=self._checkpoint), runtime="int8")
        if self._fitted or not isinstance(model.learner, ExportedSpans):
            return model
        fitting = model.learner.config.fitting
        unfitted = replace(fitting, slots=replace(fitting.slots, steps=0))
        return replace(model, learner=model.learner.with_fitting(unfitted))

    def load(self) -> None:
        _ = self._model

    def answer(self, support: Sequence[Utterance], texts: Sequence[str], *, calibrated: bool) -> Answers:
        if not calibrated:
            return self._raw_answer(support, texts)
        started = time.perf_counter()
        parser = adapted_parser(self._model, support)
        fitted = time.perf_counter()
        parser.calibrate()  # otherwise the first parse would do it
        ready = time.perf_counter()
        predictions = [_of_parse(parse) for parse in parser.parse_many(texts)]
        return Answers(predictions, fitted - started, time.perf_counter() - ready, ready - fitted)

    def _raw_answer(self, support: Sequence[Utterance], texts: Sequence[str]) -> Answers:
        started = time.perf_counter()
        adapted = adapted_model(self._model, support)
        fitted = time.perf_counter()
        split = [split_words(text) for text in texts]
        found = adapted.predict([tuple(word.text for word in words) for words in split], None)
        predictions = [_of_prediction(said, words) for said, words in zip(found, split, strict=True)]
        return Answers(predictions, fitted - started, time.perf_counter() - fitted)


def _of_parse(parse: Parse) -> BoardPrediction:
    """The likeliest intent, rejected or not, with its own confidence."""
    return BoardPrediction(
        parse.ranking[0].name,
        parse.ranking[0].confidence,
        tuple((slot.label, slot.start, slot.end) for slot in parse.slots),
        tuple(slot.confidence for slot in parse.slots),
        parse.in_scope,
        parse.rejected,
    )


def _of_prediction(prediction: Prediction, words: Sequence[Word]) -> BoardPrediction:
    spans = tuple((slot.label, words[slot.start].start, words[slot.end - 1].end) for slot in prediction.slots)
    return BoardPrediction(prediction.intent, prediction.confidence, spans, prediction.slot_confidences)


# -- what people would take without it ----------------------------------------------------------------------------


class LogisticRegressionSystem:
    """Softmax regression on frozen sentence vectors of length one; an intent's name is one more example of it."""

    metrics = INTENTS_WITH_CONFIDENCE

    @property
    def config(self) -> dict[str, Any]:
        from handful.encoders.minilm import NAME

        return {"encoder": NAME, "names": "one more example each", **LOGISTIC, **versions("scikit-learn", "torch")}

    @cached_property
    def _encoder(self) -> TransformerEncoder:
        from handful.encoders.minilm import minilm_folder
        from handful.encoders.transformer import TransformerEncoder

        return TransformerEncoder(minilm_folder())

    def load(self) -> None:
        _ = self._encoder

    def answer(self, support: Sequence[Utterance], texts: Sequence[str], *, calibrated: bool) -> Answers:
        from sklearn.linear_model import LogisticRegression

        started = time.perf_counter()
        intents = sorted({utterance.intent for utterance in support})
        examples = [utterance.text for utterance in support] + [humanised(intent) for intent in intents]
        labels = [utterance.intent for utterance in support] + intents
        model = LogisticRegression(**LOGISTIC).fit(self._vectors(examples), labels)
        fitted = time.perf_counter()
        predictions = likeliest(model.predict_proba(self._vectors(texts)), intents)
        return Answers(predictions, fitted - started, time.perf_counter() - fitted)

    def _vectors(self, texts: Sequence[str]) -> np.ndarray:
        return unit_sentence_vectors(self._encoder, [tuple(w.text for w in split_words(text)) for text in texts])


class SetFitSystem:
    """SetFit at the settings of benchmarks/peer_setfit.py, which says how they were chosen."""

    metrics = INTENTS_WITH_CONFIDENCE

    @property
    def config(self) -> dict[str, Any]:
        from handful.encoders.minilm import NAME

        return {"encoder": NAME, **setfit_config(), **versions("setfit", "sentence-transformers", "torch")}

    @cached_property
    def _setfit(self) -> SetFitIntents:
        return SetFitIntents()

    def load(self) -> None:
        _ = self._setfit

    def answer(self, support: Sequence[Utterance], texts: Sequence[str], *, calibrated: bool) -> Answers:
        started = time.perf_counter()
        model = self._setfit.fit(support)
        fitted = time.perf_counter()
        probabilities = model.predict_proba(list(texts), as_numpy=True, show_progress_bar=False)
        predictions = likeliest(probabilities, sorted({utterance.intent for utterance in support}))
        return Answers(predictions, fitted - started, time.perf_counter() - fitted)


def likeliest(probabilities: np.ndarray, intents: Sequence[str]) -> list[BoardPrediction]:
    """[n, N], of intents in the order of the columns. The highest probability is the score of being in scope, too."""
    columns: list[int] = probabilities.argmax(1).tolist()
    highest: list[float] = probabilities.max(1).tolist()
    return [
        BoardPrediction(intents[column], sure, in_scope=sure) for column, sure in zip(columns, highest, strict=True)
    ]


class CrfSystem:
    """A linear-chain CRF on words as they are written; it knows of no intent and gives no confidences."""

    metrics = frozenset({"slot_f1"})

    @property
    def config(self) -> dict[str, Any]:
        return {**CRF, **versions("python-crfsuite")}

    @cached_property
    def _crf(self) -> OfWords:
        return OfWords("crf")

    def load(self) -> None:
        _ = self._crf

    def answer(self, support: Sequence[Utterance], texts: Sequence[str], *, calibrated: bool) -> Answers:
        started = time.perf_counter()
        adapted = self._crf.adapt(support)
        fitted = time.perf_counter()
        spans = adapted.answers(texts).spans
        if spans is None:
            raise TypeError("the CRF answered without slots")
        predictions = [BoardPrediction(spans=tuple(sorted(own))) for own in spans]
        return Answers(predictions, fitted - started, time.perf_counter() - fitted)


def build(name: SystemName, checkpoint: Path | None = None) -> BoardSystem:
    """Nothing heavy is loaded before `load`, or the first task."""
    match name:
        case "handful" | "handful_unfitted":
            return HandfulSystem(checkpoint, fitted=name == "handful")
        case "logistic_regression":
            return LogisticRegressionSystem()
        case "setfit":
            return SetFitSystem()
        case "crf":
            return CrfSystem()
        case _:
            assert_never(name)


def is_installed(name: SystemName) -> bool:
    return name not in NEEDED or find_spec(NEEDED[name]) is not None
