"""The processed files that the paper's authors released: JSON lines of `{"text_u", "intent", "slots"}`.

`slots` is one string, tags separated by ", ". Its defects, kept as they are: "F" tags fill some rows up to another
tokeniser's length (dropped here); TOP has bare labels without B-/I- (a run of one label is read as one span) and
has lost the first two letters of every slot's name (a slot of two letters has none left); in some rows the tags are
shifted against the words; one row has a tag too few (read as O).
"""

from __future__ import annotations

from pathlib import Path

from handful.data.bio import OUTSIDE, mended
from handful.data.document import Document
from handful.data.formats.files import read_lines
from handful.data.formats.json_tree import parse_json
from handful.data.formats.tagged import tagged_utterance
from handful.data.formats.tree import Node
from handful.errors import Place, Problem, ProblemLog
from handful.types import Utterance

NAME = "released"
_FILLER = "F"


def read(path: Path) -> Document:
    log, utterances, warnings = ProblemLog(), [], []
    for number, line in enumerate(read_lines(path), 1):
        with log.at(Place(path, number)):
            row = parse_json(line, path, number)
            warnings += row.unknown_key_warnings({"text_u", "intent", "slots"})
            utterances.append(_utterance(row, Place(path, number), warnings))
    log.raise_if_any()
    return Document(tuple(utterances), warnings=tuple(warnings))


def _utterance(row: Node, place: Place, warnings: list[Problem]) -> Utterance:
    words = row.need("text_u").text().split()
    tags = [tag.strip() for tag in row.need("slots").text("tags separated by ', '").split(", ")]
    tags = [tag for tag in tags if tag != _FILLER]
    if not any(tag.startswith(("B-", "I-")) for tag in tags):  # TOP: bare labels
        tags = list(mended([tag if tag == OUTSIDE else f"I-{tag}" for tag in tags]))
    if len(tags) < len(words):
        warnings.append(Problem(place, f"{len(words)} words and {len(tags)} tags: the rest is read as {OUTSIDE}"))
        tags += [OUTSIDE] * (len(words) - len(tags))
    intent = row.need("intent").text("an intent's name")
    return tagged_utterance(words, tags, intent, places=[place], repaired=warnings)
