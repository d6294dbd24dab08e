"""What benchmarks/peers.py compares: handful, and what people would take without it. Text in, as a user calls it.

Each system is built once in a process of its own, adapts to a bot's examples, and is then asked. Heavy imports wait
until a system is built; what a record says of its settings is known without building it.
"""

from __future__ import annotations

import copy
import json
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, Protocol, assert_never

import bot_systems

from handful.data.bio import slots_of
from handful.types import Utterance
from handful.words import split_words

SystemName = Literal["handful_int8", "handful_torch", "setfit", "logistic", "tfidf", "crf", "nlpjs"]
SYSTEMS: dict[SystemName, str] = {
    "handful_int8": "handful (int8)",
    "handful_torch": "handful (torch)",
    "setfit": "SetFit",
    "logistic": "logistic regression on MiniLM",
    "tfidf": "TF-IDF + logistic regression",
    "crf": "CRF",
    "nlpjs": "nlp.js",
}
Runtime = Literal["int8", "torch"]

TFIDF = {"ngram_range": [1, 2], "sublinear_tf": True}
# SetFit's own defaults (one epoch, batches of 16 pairs, learning rate 2e-5, a logistic regression on top), but for two
# settings. Pairs: by default it takes every pair of examples there is, which for 150 intents are hours; with
# `num_iterations` each example is in so many pairs of the same and of another intent. Head: vectors of length one need
# less regularisation than scikit-learn's C = 1. Both were chosen on other data: see `SetFitIntents`.
SETFIT = {"num_iterations": 20, "num_epochs": 1, "body_learning_rate": 2e-5, "batch_size": 16, "head": {"C": 10.0}}
SETFIT_SEED = 0

NLPJS = Path(__file__).parent / "nlpjs"

Span = tuple[str, int, int]  # a slot's label and the characters that it covers


@dataclass(frozen=True, slots=True)
class TextAnswers:
    """What a system says of texts; one that knows of intents alone, or of slots alone, leaves the other out."""

    intents: Sequence[str] | None
    spans: Sequence[frozenset[Span]] | None


@dataclass(frozen=True, slots=True)
class Adapted:
    """A system that knows a bot: it answers many texts at once, or one by one against the clock."""

    answers: Callable[[Sequence[str]], TextAnswers]
    seconds_one_by_one: Callable[[Sequence[str]], list[float]]


class PeerSystem(Protocol):
    def adapt(self, support: Sequence[Utterance]) -> Adapted: ...

    def peak_megabytes(self) -> float: ...


def clocked(answers: Callable[[Sequence[str]], TextAnswers]) -> Adapted:
    def seconds_one_by_one(texts: Sequence[str]) -> list[float]:
        found = []
        for text in texts:
            started = time.perf_counter()
            answers([text])
            found.append(time.perf_counter() - started)
        return found

    return Adapted(answers, seconds_one_by_one)


def own_peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # Linux counts in kilobytes


class Handful:
    """The model is loaded once; a bot's examples are encoded, and confidences fitted, when it adapts."""

    def __init__(self, runtime: Runtime) -> None:
        from handful.data.bot_settings import BotSettings
        from handful.parser.models import model_for

        self._model = model_for(BotSettings(), None, runtime=runtime)

    def adapt(self, support: Sequence[Utterance]) -> Adapted:
        from handful.data.document import Document
        from handful.parser.bot import Bot
        from handful.parser.parser import Parse, Parser

        parser = Parser.with_model(Bot("peers", Document(tuple(support))), self._model)

        def spans(parse: Parse) -> frozenset[Span]:
            return frozenset((slot.label, slot.start, slot.end) for slot in parse.slots)

        def answers(texts: Sequence[str]) -> TextAnswers:
            found = parser.parse_many(texts)
            # The likeliest intent, rejected or not: every sentence that is asked has one of the bot's.
            return TextAnswers([parse.ranking[0].name for parse in found], [spans(parse) for parse in found])

        return clocked(answers)

    def peak_megabytes(self) -> float:
        return own_peak_megabytes()


def exported_folder() -> Path:
    """Of the int8 model that comes with the package: the bare encoder is its graph and its tokenizer."""
    from handful.parser.models import runtime_folder
    from handful.training.shipped import checkpoint_sums, shipped_folder

    sums = checkpoint_sums(shipped_folder())
    return runtime_folder(sums.weights, sums.encoder)


class SetFitIntents:
    """SetFit on the same MiniLM, with the pooling (mean) and the unit length that its folder names.

    Its first figures here were suspiciously low, below logistic regression on the same vectors.
    """

    def __init__(self) -> None:
        from sentence_transformers import SentenceTransformer

        from handful.encoders.minilm import minilm_folder

        self._body = SentenceTransformer(str(minilm_folder()), device="cpu")

    def adapt(self, support: Sequence[Utterance]) -> Adapted:
        from datasets import Dataset  # pyright: ignore[reportMissingImports]
        from setfit import SetFitModel, Trainer, TrainingArguments  # pyright: ignore[reportMissingImports]
        from sklearn.linear_model import LogisticRegression
        from transformers import PrinterCallback

        intents = sorted({utterance.intent for utterance in support})
        head = LogisticRegression(max_iter=bot_systems.LOGISTIC["max_iter"], **SETFIT["head"])
        # Training changes the body: a copy in memory is quicker than loading it anew.
        model = SetFitModel(model_body=copy.deepcopy(self._body), model_head=head, labels=intents)
        with tempfile.TemporaryDirectory() as folder:
            settings = TrainingArguments(
                output_dir=folder,
                report_to="none",
                save_strategy="no",
                logging_strategy="no",
                show_progress_bar=False,
                seed=SETFIT_SEED,
                **{key: value for key, value in SETFIT.items() if key != "head"},
            )
            examples = {
                "text": [utterance.text for utterance in support],
                "label": [intents.index(utterance.intent) for utterance in support],
            }
            trainer = Trainer(model=model, args=settings, train_dataset=Dataset.from_dict(examples))
            trainer.st_trainer.remove_callback(PrinterCallback)
            trainer.train()
        return clocked(
            lambda texts: TextAnswers([str(i) for i in model.predict(list(texts), show_progress_bar=False)], None)
        )

    def peak_megabytes(self) -> float:
        return own_peak_megabytes()


class TfidfIntents:
    """Logistic regression on words and pairs of words: no encoder at all."""

    def adapt(self, support: Sequence[Utterance]) -> Adapted:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline

        low, high = TFIDF["ngram_range"]
        vectors = TfidfVectorizer(ngram_range=(low, high), sublinear_tf=TFIDF["sublinear_tf"])
        model = make_pipeline(vectors, LogisticRegression(**bot_systems.LOGISTIC))
        model.fit([utterance.text for utterance in support], [utterance.intent for utterance in support])
        return clocked(lambda texts: TextAnswers([str(intent) for intent in model.predict(list(texts))], None))

    def peak_megabytes(self) -> float:
        return own_peak_megabytes()


class OfWords:
    """A system of benchmarks/out_of_domain.py, which is asked in words, behind the one tokeniser."""

    def __init__(self, name: Literal["logistic", "crf"]) -> None:
        self._system = bot_systems.build(name, None, remember=False)

    def adapt(self, support: Sequence[Utterance]) -> Adapted:
        predict = self._system.adapt(support)

        def answers(texts: Sequence[str]) -> TextAnswers:
            split = [split_words(text) for text in texts]
            said = predict([tuple(word.text for word in words) for words in split])
            if said.tags is None:
                return TextAnswers(said.intents, None)
            spans = [
                frozenset((slot.label, words[slot.start].start, words[slot.end - 1].end) for slot in slots_of(tags))
                for words, tags in zip(split, said.tags, strict=True)
            ]
            return TextAnswers(said.intents, spans)

        return clocked(answers)

    def peak_megabytes(self) -> float:
        return own_peak_megabytes()


class NlpJs:
    """nlp.js in a Node process, asked in JSON lines. Its memory and its seconds are Node's own, without the pipe."""

    def __init__(self) -> None:
        if not (NLPJS / "node_modules").is_dir():
            raise SystemExit("nlp.js is not installed: npm ci --prefix benchmarks/nlpjs")
        self._node = subprocess.Popen(["node", NLPJS / "ask.js"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def adapt(self, support: Sequence[Utterance]) -> Adapted:
        self._asked({"adapt": [[utterance.text, utterance.intent] for utterance in support]})
        return Adapted(
            lambda texts: TextAnswers(self._asked({"parse": list(texts)})["intents"], None),
            lambda texts: self._asked({"parse": list(texts)})["seconds"],
        )

    def peak_megabytes(self) -> float:
        return self._asked({"peak": True})["megabytes"]

    def _asked(self, request: Mapping[str, Any]) -> dict[str, Any]:
        assert self._node.stdin is not None
        assert self._node.stdout is not None
        self._node.stdin.write(json.dumps(request).encode() + b"\n")
        self._node.stdin.flush()
        return json.loads(self._node.stdout.readline())


def config_of(name: SystemName) -> dict[str, Any]:
    """All that a system's figures depend on besides the bot: settings, weights and versions."""
    from handful.encoders.minilm import NAME

    encoder = {"encoder": NAME}
    match name:
        case "handful_int8" | "handful_torch":
            return {"weights": shipped_weights(), **_versions("torch" if name == "handful_torch" else "onnxruntime")}
        case "setfit":
            return {**encoder, **SETFIT, "seed": SETFIT_SEED, **_versions("setfit", "sentence-transformers", "torch")}
        case "logistic":
            return {**encoder, **bot_systems.LOGISTIC, **_versions("scikit-learn", "torch")}
        case "tfidf":
            return {**TFIDF, **bot_systems.LOGISTIC, **_versions("scikit-learn")}
        case "crf":
            return {**bot_systems.CRF, **_versions("python-crfsuite")}
        case "nlpjs":
            return {"versions": json.loads((NLPJS / "package.json").read_text(encoding="utf-8"))["dependencies"]}
        case _:
            assert_never(name)


def _versions(*packages: str) -> dict[str, Any]:
    # Without the build's name: torch 2.13.0 and 2.13.0+cpu are the same numbers.
    return {"versions": {package: version(package).partition("+")[0] for package in packages}}


def shipped_weights() -> str:
    from handful.training.shipped import checkpoint_sums, shipped_folder

    return checkpoint_sums(shipped_folder()).weights


def build(name: SystemName) -> PeerSystem:
    match name:
        case "handful_int8":
            return Handful("int8")
        case "handful_torch":
            return Handful("torch")
        case "setfit":
            return SetFitIntents()
        case "logistic" | "crf":
            return OfWords(name)
        case "tfidf":
            return TfidfIntents()
        case "nlpjs":
            return NlpJs()
        case _:
            assert_never(name)
