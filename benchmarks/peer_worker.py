"""One system in a process of its own: reads a job, measures, writes what it found.

python benchmarks/peer_worker.py SYSTEM JOB.json FOUND.json [CORES]

benchmarks/peers.py starts it. The job holds the drawn bots and the sentences to ask and no more, so that the peak of
memory is the system's own, and not that of a corpus which was read to draw them from.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from peer_answers import PeerSystem, Span, TextAnswers
from peer_systems import SystemName, build

from handful.data.formats.annotation import CharacterSpan, annotate
from handful.types import Utterance

Row = Mapping[str, Any]  # an utterance in JSON


def as_row(utterance: Utterance) -> dict[str, Any]:
    words = utterance.words
    slots = [[slot.key, words[slot.start].start, words[slot.end - 1].end] for slot in utterance.slots]
    return {"text": utterance.text, "intent": utterance.intent, "slots": slots}


def as_utterance(row: Row) -> Utterance:
    """Split into words by handful, as an example in a bot's file is, however its corpus was tokenised."""
    return annotate(row["text"], row["intent"], [CharacterSpan(*slot) for slot in row["slots"]])


def spans_of(row: Row) -> frozenset[Span]:
    return frozenset((label, start, end) for label, start, end in row["slots"])


def scores(asked: Sequence[Row], said: TextAnswers) -> dict[str, float]:
    """In percent; of what a system says nothing of, nothing."""
    found: dict[str, float] = {}
    if said.intents is not None:
        right = sum(intent == row["intent"] for intent, row in zip(said.intents, asked, strict=True))
        found["intent_accuracy"] = 100 * right / len(asked)
    if said.spans is not None and any(row["slots"] for row in asked):
        found["span_f1"] = 100 * span_f1([spans_of(row) for row in asked], said.spans)
    return found


def span_f1(gold: Sequence[frozenset[Span]], said: Sequence[frozenset[Span]]) -> float:
    """Over all sentences together. By characters, not by words: a corpus may split words where we do not."""
    hits = sum(len(own & other) for own, other in zip(gold, said, strict=True))
    total = sum(map(len, gold)) + sum(map(len, said))
    return 2 * hits / total if total else 1.0


def of_two_intents(support: Sequence[Utterance]) -> list[Utterance]:
    """A bot that is quickly learnt: what a process does once, it does for this one."""
    first_two = list(dict.fromkeys(utterance.intent for utterance in support))[:2]
    return [utterance for utterance in support if utterance.intent in first_two]


def measured(name: SystemName, job: Mapping[str, Any]) -> dict[str, Any]:
    started = time.perf_counter()
    system = build(name)
    found: dict[str, Any] = {"load_seconds": time.perf_counter() - started, "draws": []}
    bots = [[as_utterance(row) for row in rows] for rows in job["bots"]]
    system.adapt(of_two_intents(bots[0])).answers([job["asked"][0]["text"]])
    for bot in bots:
        found["draws"].append(of_bot(system, bot, job))
    found["peak_megabytes"] = system.peak_megabytes()
    return found


def of_bot(system: PeerSystem, bot: Sequence[Utterance], job: Mapping[str, Any]) -> dict[str, Any]:
    texts = [row["text"] for row in job["asked"]]
    started = time.perf_counter()
    adapted = system.adapt(bot)
    adapt_seconds = time.perf_counter() - started
    one_by_one = adapted.seconds_one_by_one(job["timed"])
    started = time.perf_counter()
    said = adapted.answers(texts)
    batch_seconds = time.perf_counter() - started
    return {
        **scores(job["asked"], said),
        "adapt_seconds": adapt_seconds,
        "sentences_per_second": len(texts) / batch_seconds,
        "parse_seconds": one_by_one,
    }


def hold_to(cores: int) -> None:
    """So many cores, whatever threads a library likes to start. Linux alone can be told so."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])


def main() -> None:
    name, job, found, cores = sys.argv[1:]
    hold_to(int(cores))
    content = measured(name, json.loads(Path(job).read_text(encoding="utf-8")))  # pyright: ignore[reportArgumentType]
    Path(found).write_text(json.dumps(content), encoding="utf-8")


if __name__ == "__main__":
    main()
