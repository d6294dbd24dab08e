"""How long one parse takes beside the encoder alone, and where the rest goes.

python benchmarks/parse_latency.py --json results/parse_latency.json     # needs HANDFUL_DATA

A bot of Facebook's train utterances (or a file: --bot) is asked for one sentence after another. In turn with each
parse the same sentence goes through tokenizer and graph alone, loaded as anybody would load them: the parser's own
graph, and six MiniLM layers as ONNX Runtime's `quantize_dynamic` makes them. Medians are compared. After that the
stages of a parse are clocked apart, and its calls are counted.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import onnx
import onnxruntime
from earlier_graph import plain_session
from tokenizers import Tokenizer

from handful.data.corpora import load_corpus
from handful.data.document import Document
from handful.encoders.minilm import minilm_folder
from handful.encoders.pieces import PieceReader
from handful.encoders.transformer import load_transformer
from handful.learners.span_decoding import AdaptedSpans
from handful.parser import parser as parser_module
from handful.parser.bot import Bot, load_bot
from handful.parser.models import model_for, runtime_folder
from handful.parser.parser import Parser
from handful.places import data_dir
from handful.runtime.bert import bert_weights
from handful.runtime.encoder_graph import FloatProducts, encoder_graph
from handful.runtime.folder import GRAPH, TOKENIZER
from handful.runtime.graph import GraphEncoder
from handful.runtime.spans import ExportedSpans
from handful.training.shipped import checkpoint_sums, shipped_folder
from handful.types import Utterance

CORPUS = "fb_multilingual_en"
Call = Callable[[str], Any]
Clock = Callable[[], float]
CLOCKS: dict[str, Clock] = {"wall": time.perf_counter, "cpu": time.thread_time}

# What a parse passes through, each without those below it.
STAGES: tuple[tuple[str, Any, str], ...] = (
    ("the graph", onnxruntime.InferenceSession, "run"),
    ("words into pieces", PieceReader, "windows"),
    ("pieces into arrays", PieceReader, "ids"),
    ("the encoder's rows by sentence", GraphEncoder, "hidden"),
    ("words' states, sentence vector", ExportedSpans, "see"),
    ("deciding on intent and slots", AdaptedSpans, "predict"),
    ("text into words", parser_module, "split_words"),
    ("a prediction into a parse", Parser, "_parse"),
    ("the rest of a parse", Parser, "parse_many"),
)


class BareEncoder:
    """Text to hidden states, and nothing else."""

    def __init__(self, session: onnxruntime.InferenceSession, tokenizer: Tokenizer) -> None:
        self._session, self._tokenizer = session, tokenizer

    def __call__(self, text: str) -> Any:
        ids = np.array([self._tokenizer.encode(text).ids], dtype=np.int64)
        return self._session.run(["states"], {"ids": ids, "mask": np.ones_like(ids)})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", type=Path, help="write the record here")
    parser.add_argument("--bot", type=Path, help="a bot's file, instead of one of Facebook's utterances")
    parser.add_argument("--shots", type=int, default=10, help="examples of each of Facebook's intents")
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--threads", type=int, default=1, help="of every graph")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="cpu: for a busy machine, one thread")
    options = parser.parse_args()
    if options.clock == "cpu" and options.threads != 1:
        parser.error("the cpu's clock sees one thread: ask for --threads 1")
    clock = CLOCKS[options.clock]
    bot = load_bot(options.bot) if options.bot else Bot("latency", Document(tuple(drawn_support(options.shots))))
    asked = Parser.with_model(bot, model_for(bot.settings, threads=options.threads))
    asked.calibrate()
    utterances = load_corpus(CORPUS, data_dir()).split("dev")
    rows = np.random.default_rng(0).permutation(len(utterances))[: options.sentences + 20]
    texts = list(dict.fromkeys(utterances[row].text for row in rows))
    with tempfile.TemporaryDirectory() as made:
        bare = bare_encoders(Path(made), options.threads)
        record = compared(asked, bare, texts, clock)
    record["clock"], record["threads"] = options.clock, options.threads
    record["stages"] = stages(asked, texts, clock)
    record["calls"] = calls(asked, texts[0])
    if options.json:
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def drawn_support(shots: int) -> Iterator[Utterance]:
    counts: Counter[str] = Counter()
    utterances = load_corpus(CORPUS, data_dir()).split("train")
    for row in np.random.default_rng(shots).permutation(len(utterances)):
        counts[utterances[row].intent] += 1
        if counts[utterances[row].intent] <= shots:
            yield utterances[row]


def bare_encoders(folder: Path, threads: int) -> dict[str, BareEncoder]:
    from onnxruntime.quantization import QuantType, quantize_dynamic

    sums = checkpoint_sums(shipped_folder())
    own = runtime_folder(sums.weights, sums.encoder)  # made when the parser was
    loaded = load_transformer(minilm_folder())
    plain, quantised = folder / "plain.onnx", folder / "dynamic.onnx"
    onnx.save(encoder_graph(bert_weights(loaded.model, []), FloatProducts()), plain)
    floats = {"DefaultTensorType": onnx.TensorProto.FLOAT}
    quantize_dynamic(plain, quantised, per_channel=True, weight_type=QuantType.QInt8, extra_options=floats)

    def bare(file: Path) -> BareEncoder:
        # A tokenizer of its own: the parser's takes words one by one.
        return BareEncoder(plain_session(file, threads), Tokenizer.from_file(str(own / TOKENIZER)))

    return {"the same graph": bare(own / GRAPH), "quantize_dynamic": bare(quantised)}


def compared(asked: Parser, bare: dict[str, BareEncoder], texts: Sequence[str], clock: Clock) -> dict[str, Any]:
    """Medians, each sentence through all of them, one after the other, in an order that turns."""
    every: dict[str, Call] = {"a parse": asked.parse, **bare}
    seconds: dict[str, list[float]] = {name: [] for name in every}
    names = list(every)
    for number, text in enumerate(texts):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            started = clock()
            every[name](text)
            if number >= 20:  # the first warm up
                seconds[name].append(clock() - started)
    medians = {name: statistics.median(own) for name, own in seconds.items()}
    found: dict[str, Any] = {"milliseconds": {name: round(1000 * own, 3) for name, own in medians.items()}}
    found["ratios"] = {name: round(medians["a parse"] / medians[name], 3) for name in bare}
    print(f"a parse, p50: {1000 * medians['a parse']:.2f} ms")
    for name, ratio in found["ratios"].items():
        print(f"tokenizer and graph alone ({name}): {1000 * medians[name]:.2f} ms; a parse is {ratio:.2f} x")
    return found


@contextmanager
def clocks(spent: defaultdict[str, float], clock: Clock) -> Iterator[None]:
    """While this is entered, the seconds of every stage are added up, those of stages inside it left out."""
    inside: list[float] = []

    def clocked(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any, **named: Any) -> Any:
            inside.append(0.0)
            started = clock()
            found = function(*given, **named)
            took = clock() - started
            spent[name] += took - inside.pop()
            if inside:
                inside[-1] += took
            return found

        return run

    with ExitStack() as stack:
        for name, owner, attribute in STAGES:
            stack.enter_context(mock.patch.object(owner, attribute, clocked(name, getattr(owner, attribute))))
        yield


def stages(asked: Parser, texts: Sequence[str], clock: Clock) -> dict[str, float]:
    """Medians over sentences, in microseconds. Clocks cost a little, too."""
    rows: list[defaultdict[str, float]] = []
    for text in texts:
        rows.append(defaultdict(float))
        with clocks(rows[-1], clock):
            asked.parse(text)
    found = {name: round(1e6 * statistics.median(row[name] for row in rows), 1) for name, _, _ in STAGES}
    whole = sum(found.values())
    for name, took in sorted(found.items(), key=lambda own: -own[1]):
        print(f"  {name:32} {took:8.1f} µs  {took / whole:5.1%}")
    return found


def calls(asked: Parser, text: str) -> dict[str, int]:
    """Of one parse: functions in Python, and functions in C, which numpy's are."""
    counts: Counter[str] = Counter()

    def count(_frame: Any, event: str, _argument: Any) -> None:
        counts[event] += 1

    asked.parse(text + " ?")
    sys.setprofile(count)
    try:
        asked.parse(text)
    finally:
        sys.setprofile(None)
    found = {"python": counts["call"], "c": counts["c_call"]}
    print(f"calls of a parse: {found['python']} in Python, {found['c']} in C")
    return found


if __name__ == "__main__":
    main()
