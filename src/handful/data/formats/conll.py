"""CoNLL: a word and its tag a line, a blank line between utterances, `# intent: x` before the words.

`# text: …` may give the original text, `# id: …` a name of the utterance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from handful.data.document import Document
from handful.data.formats.files import read_lines, write_text
from handful.data.formats.jsonl import with_text
from handful.data.formats.tagged import not_written, tagged_utterance, tags_to_write
from handful.errors import HandfulError, Place, Problem, ProblemLog
from handful.types import Utterance

NAME = "conll"
_COMMENT = re.compile(r"#\s*(\w+)\s*[:=]\s?(.*)")


def read(path: Path, *, repair: bool = False) -> Document:
    log, repaired, warnings = ProblemLog(), [] if repair else None, []
    utterances: list[Utterance] = []
    ids: dict[str, int] = {}
    for first, block in _blocks(read_lines(path)):
        with log.at(Place(path, first)):
            utterances.append(_utterance(path, first, block, ids, warnings, repaired))
    log.raise_if_any()
    return Document(tuple(utterances), warnings=(*warnings, *(repaired or ())))


def _blocks(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """Runs of lines between blank ones, each with the number of its first line."""
    block: list[str] = []
    for number, line in enumerate([*lines, ""], 1):
        if line.strip():
            block.append(line)
        elif block:
            yield number - len(block), block
            block = []


def _utterance(
    path: Path,
    first: int,
    block: list[str],
    ids: dict[str, int],
    warnings: list[Problem],
    repaired: list[Problem] | None,
) -> Utterance:
    comments: dict[str, str] = {}
    words: list[str] = []
    tags: list[str] = []
    places: list[Place] = []
    log = ProblemLog()
    for number, line in enumerate(block, first):
        place = Place(path, number)
        comment = None if "\t" in line else _COMMENT.fullmatch(line)
        if comment is not None:
            key, value = comment.group(1), comment.group(2).strip()
            if key in comments:
                log.add(place, f"found a second '# {key}:' in one utterance")
            elif key not in {"intent", "text", "id"}:
                warnings.append(Problem(place, f"the comment '# {key}:' is not used"))
            comments[key] = comment.group(2) if key == "text" else value
            continue
        columns = line.split("\t") if "\t" in line else line.split()
        if len(columns) < 2 or not columns[0].strip() or not columns[-1].strip():
            log.add(place, f"found {line.strip()!r}, expected a word and its tag")
            continue
        if len(columns) > 2:
            warnings.append(
                Problem(place, f"{len(columns)} columns: those between the first and the last are not used")
            )
        words.append(columns[0])
        tags.append(columns[-1].strip())
        places.append(place)
    log.raise_if_any()
    if not comments.get("intent"):
        raise ValueError("the utterance has no intent, expected a line '# intent: NAME' before its words")
    if not words:
        raise ValueError("the utterance has no words")
    if (identity := comments.get("id")) is not None and ids.setdefault(identity, first) != first:
        raise ValueError(f"the id '{identity}' was used in line {ids[identity]}")
    utterance = tagged_utterance(words, tags, comments["intent"], places=places, repaired=repaired)
    return with_text(utterance, comments["text"]) if "text" in comments else utterance


def write(document: Document, path: Path) -> list[str]:
    lines = []
    lossy = False
    for number, utterance in enumerate(document.utterances, 1):
        try:
            tags = tags_to_write(utterance, f"utterance {number}")
        except ValueError as error:
            raise HandfulError(str(error)) from error
        lines.append(f"# intent: {utterance.intent}")
        if utterance.text != " ".join(utterance.sentence):
            if any(character in utterance.text for character in "\n\t\r\0"):
                lossy = True
            else:
                lines.append(f"# text: {utterance.text}")
        lines += [f"{word}\t{tag}" for word, tag in zip(utterance.sentence, tags, strict=True)]
        lines.append("")
    write_text(path, "\n".join(lines))
    return not_written(document, text=lossy)
