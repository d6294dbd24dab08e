"""TOP's tab-separated rows: raw text, tokens, and a tree `[IN:X … [SL:Y … ] … ]`.

handful fills flat slots, so only trees with exactly one intent are read; the others are counted in a warning.
"""

from __future__ import annotations

from pathlib import Path

from handful.data.document import Document
from handful.data.formats.files import read_lines
from handful.errors import DataError, Place, Problem, ProblemLog
from handful.types import Slot, Utterance

NAME = "top"


def read(path: Path) -> Document:
    log, utterances, nested = ProblemLog(), [], []
    for number, line in enumerate(read_lines(path), 1):
        with log.at(Place(path, number)):
            utterance = parse_row(line)
            if utterance is None:
                nested.append(number)
            else:
                utterances.append(utterance)
    log.raise_if_any()
    if not utterances:
        raise DataError.at(Place(path), "found no tree with exactly one intent")
    warnings = []
    if nested:
        told = f"{len(nested)} of {len(nested) + len(utterances)} trees hold more than one intent and are left out"
        warnings.append(Problem(Place(path, nested[0]), f"{told} (this is the first)"))
    return Document(tuple(utterances), warnings=tuple(warnings))


def parse_row(row: str) -> Utterance | None:
    """The utterance of a row, or None where the tree holds more than one intent."""
    columns = row.split("\t")
    if len(columns) != 3:
        raise ValueError(f"found {len(columns)} columns, expected 3 (text, tokens, tree) separated by tabs")
    _, tokens, tree = columns
    labels, words, spans = _walk(tree)
    if words != tokens.split():
        raise ValueError(f"the words of the tree, {' '.join(words)!r}, are not the tokens, {tokens!r}")
    if sum(kind == "IN" for kind, _ in labels) != 1:
        return None
    slots = []
    for kind, label, start, end, depth in spans:
        if kind != "SL":
            continue
        if depth != 1:
            raise ValueError(f"found the slot '{label}' inside another slot, expected flat slots")
        if end == start:
            raise ValueError(f"the slot '{label}' has no words")
        slots.append(Slot(label, start, end))
    intent = next(label for kind, label in labels if kind == "IN")
    return Utterance.from_words(words, intent, sorted(slots, key=lambda slot: slot.start))


def _walk(tree: str) -> tuple[list[tuple[str, str]], list[str], list[tuple[str, str, int, int, int]]]:
    """All labels as they open, the words, and each bracket as (kind, label, first word, end, depth)."""
    labels, words, spans = [], [], []
    stack: list[tuple[str, str, int]] = []
    for token in tree.split():
        if token.startswith("["):
            kind, _, label = token[1:].partition(":")
            if kind not in {"IN", "SL"} or not label:
                raise ValueError(f"found '{token}', expected '[IN:NAME' or '[SL:NAME'")
            if not stack and (labels or words or kind != "IN"):
                raise ValueError(f"found '{token}' outside the tree, expected one '[IN:NAME … ]'")
            labels.append((kind, label))
            stack.append((kind, label, len(words)))
        elif token == "]":
            if not stack:
                raise ValueError("found a ']' without its '['")
            kind, label, start = stack.pop()
            spans.append((kind, label, start, len(words), len(stack)))
        elif not stack:
            raise ValueError(f"found the word '{token}' outside the tree")
        else:
            words.append(token)
    if stack:
        raise ValueError(f"'[{stack[-1][0]}:{stack[-1][1]}' is not closed, expected a ']' for each '['")
    if not labels:
        raise ValueError("found no tree, expected '[IN:NAME … ]'")
    return labels, words, spans
