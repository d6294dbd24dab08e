"""What adapting to a bot costs: encoding its examples and fitting both heads, beside encoding alone and beside SetFit.

    python benchmarks/adapting_speed.py --json results/adapting_speed.json
    .venv-peers/bin/python benchmarks/adapting_speed.py --setfit      # with SetFit in the same run

Needs HANDFUL_DATA: ten examples of each intent of Facebook's data (100, with slots) and of CLINC150 (1,500, without).
Seconds are the least of several rounds, of one thread each; ratios are what can be compared between machines.
Calibration, which the first parse sets off, stands apart.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from board_sets import read_board

from handful.data.bot_settings import BotSettings
from handful.data.document import Document
from handful.data.formats.files import write_text
from handful.errors import HandfulError
from handful.learners.bot_heads import EncodedSupport, fit_intents, fit_maps
from handful.learners.span_model import Encodings
from handful.learners.span_support import SpanSupport
from handful.parser.bot import Bot
from handful.parser.models import model_for
from handful.parser.parser import Parser
from handful.places import data_dir
from handful.runtime.spans import ExportedSpans


def best_seconds(work: Callable[[], object], rounds: int) -> float:
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return min(taken)


def measured(board: str, *, rounds: int, setfit: bool) -> dict[str, Any]:
    support = read_board(board, data_dir(), 10).tasks
    task = next(iter(support.values()))[0]
    model = model_for(BotSettings(), runtime="int8", threads=1)
    learner = model.learner
    if not isinstance(learner, ExportedSpans):
        raise HandfulError("expected the shipped model on ONNX Runtime")
    sentences = [utterance.sentence for utterance in task.support]
    shown = SpanSupport(task.support, {})
    encoded = EncodedSupport.of(shown, sentences, learner, Encodings())
    fitting = learner.config.fitting
    with learner.undisturbed():
        intents = best_seconds(lambda: fit_intents(encoded, fitting), rounds)
        slots = best_seconds(lambda: fit_maps(encoded, learner.maps, fitting), rounds)
    found = {
        "board": board,
        "examples": len(sentences),
        "encode": best_seconds(lambda: EncodedSupport.of(shown, sentences, learner, Encodings()), rounds),
        "fit_intents": intents,
        "fit_slots": slots,
        "adapt": best_seconds(lambda: learner.adapt(task.support), rounds),
    }
    parser = Parser.with_model(Bot(board, Document(tuple(task.support))), model)
    found["calibrate"] = best_seconds(parser.calibrate, 1)
    found["adapt_over_encode"] = found["adapt"] / found["encode"]
    if setfit:
        from peer_setfit import SetFitIntents

        peer = SetFitIntents()
        found["setfit"] = best_seconds(lambda: peer.fit(task.support), 1)
        found["setfit_over_adapt"] = found["setfit"] / found["adapt"]
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--board", nargs="+", choices=("facebook", "clinc150"), default=["facebook", "clinc150"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--setfit", action="store_true", help="beside SetFit, which must be installed")
    parser.add_argument("--json", type=Path, help="the records are written here")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error(f"found {options.rounds} rounds, expected at least one")
    try:
        records = []
        for board in options.board:
            records.append(measured(board, rounds=options.rounds, setfit=options.setfit))
            print(json.dumps(records[-1]), flush=True)
        if options.json:
            lines = ",\n".join(map(json.dumps, records))
            write_text(options.json, f"[\n{lines}\n]\n")
    except HandfulError as error:
        raise SystemExit(f"error: {error}") from None


if __name__ == "__main__":
    main()
