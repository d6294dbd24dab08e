"""What benchmarks/peers.py compares: handful, and what people would take without it. Text in, as a user calls it.

Each system is built once in a process of its own, adapts to a bot's examples, and is then asked. Heavy imports wait
until a system is built; what a record says of its settings is known without building it.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, assert_never

import bot_systems
from peer_answers import Adapted, PeerSystem, Span, TextAnswers, clocked, own_peak_megabytes
from peer_setfit import SetFitIntents, setfit_config

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

NLPJS = Path(__file__).parent / "nlpjs"


class Handful:
    """The model is loaded once; a bot's examples are encoded, and confidences fitted, when it adapts."""

    def __init__(self, runtime: Runtime) -> None:
        from handful.data.bot_settings import BotSettings
        from handful.parser.models import model_for

        self._model = model_for(BotSettings(), runtime=runtime)

    def adapt(self, support: Sequence[Utterance]) -> Adapted:
        from handful.data.document import Document
        from handful.parser.bot import Bot
        from handful.parser.parser import Parse, Parser

        parser = Parser.with_model(Bot("peers", Document(tuple(support))), self._model)
        parser.calibrate()  # the first parse would do it; it is part of adapting

        def spans(parse: Parse) -> frozenset[Span]:
            return frozenset((slot.label, slot.start, slot.end) for slot in parse.slots)

        def answers(texts: Sequence[str]) -> TextAnswers:
            found = parser.parse_many(texts)
            # The likeliest intent, rejected or not: every sentence that is asked has one of the bot's.
            return TextAnswers([parse.ranking[0].name for parse in found], [spans(parse) for parse in found])

        return clocked(answers)

    def session(self) -> Any:
        """Of the graph, to be run bare. handful offers no such thing, so this reaches inside."""
        return self._model.learner._encoder._session  # pyright: ignore[reportAttributeAccessIssue]

    def peak_megabytes(self) -> float:
        return own_peak_megabytes()


def exported_folder() -> Path:
    """Of the int8 model that comes with the package: the bare encoder is its graph and its tokenizer."""
    from handful.parser.models import runtime_folder
    from handful.training.shipped import checkpoint_sums, shipped_folder

    sums = checkpoint_sums(shipped_folder())
    return runtime_folder(sums.weights, sums.encoder)


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
        # A CRF needs no torch, and its memory is not to be charged with it.
        self._system = bot_systems.CrfSlots() if name == "crf" else bot_systems.build(name, None, remember=False)

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
            return {"weights": shipped_weights(), **versions("torch" if name == "handful_torch" else "onnxruntime")}
        case "setfit":
            return {**encoder, **setfit_config(), **versions("setfit", "sentence-transformers", "torch")}
        case "logistic":
            return {**encoder, **bot_systems.LOGISTIC, **versions("scikit-learn", "torch")}
        case "tfidf":
            return {**TFIDF, **bot_systems.LOGISTIC, **versions("scikit-learn")}
        case "crf":
            return {**bot_systems.CRF, **versions("python-crfsuite")}
        case "nlpjs":
            return {"versions": json.loads((NLPJS / "package.json").read_text(encoding="utf-8"))["dependencies"]}
        case _:
            assert_never(name)


def versions(*packages: str) -> dict[str, Any]:
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
