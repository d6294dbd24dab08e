"""Utterances and parses to count, in the shortest way to write them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from handful.parser.parse import FilledSlot, Parse
from handful.report.cases import Case
from handful.types import Ranking, Slot, Utterance
from handful.words import split_words

_MARK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")


def utterance(marked: str, intent: str) -> Utterance:
    """`fly to [Rome](city)`."""
    text, spans = _read(marked)
    words = split_words(text)
    starts, ends = [word.start for word in words], [word.end for word in words]
    return Utterance(text, words, intent, tuple(Slot(key, starts.index(a), ends.index(b) + 1) for a, b, key in spans))


def parse(marked: str, ranking: Mapping[str, float], *, sure: float = 0.9, rejected: bool = False) -> Parse:
    text, spans = _read(marked)
    return Parse(
        text,
        split_words(text),
        Ranking(tuple(ranking), tuple(ranking.values())),
        tuple(FilledSlot(key, text[a:b], a, b, sure) for a, b, key in spans),
        in_scope=0.25 if rejected else 1.0,
        rejected=rejected,
    )


def case(
    gold: str, intent: str, found: str, said: str, confidence: float = 0.8, *, sure: float = 0.9, rejected: bool = False
) -> Case:
    """`gold` and `found` are the same text with its slots as they should be and as they were found."""
    return Case(utterance(gold, intent), parse(found, {said: confidence}, sure=sure, rejected=rejected))


def _read(marked: str) -> tuple[str, list[tuple[int, int, str]]]:
    text, spans, reached = "", [], 0
    for mark in _MARK.finditer(marked):
        text += marked[reached : mark.start()]
        spans.append((len(text), len(text) + len(mark[1]), mark[2]))
        text += mark[1]
        reached = mark.end()
    return text + marked[reached:], spans
