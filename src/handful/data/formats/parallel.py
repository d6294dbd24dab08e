"""Three parallel files in a folder: `seq.in` (words), `seq.out` (tags), `label` (intents), a line an utterance."""

from __future__ import annotations

import re
from pathlib import Path

from handful.data.document import Document
from handful.data.formats.files import read_lines, write_text
from handful.data.formats.tagged import not_written, tagged_utterance, tags_to_write
from handful.errors import DataError, HandfulError, Place, ProblemLog

NAME = "seq"
FILES = ("seq.in", "seq.out", "label")


def read(path: Path, *, repair: bool = False) -> Document:
    missing = [name for name in FILES if not (path / name).is_file()]
    if missing:
        raise DataError.at(
            Place(path), f"found no {' and no '.join(missing)}; expected a folder with {', '.join(FILES)}"
        )
    words, tags, labels = (read_lines(path / name) for name in FILES)
    counts = {name: len(lines) for name, lines in zip(FILES, (words, tags, labels), strict=True)}
    if len(set(counts.values())) > 1:
        shortest = min(counts, key=lambda name: counts[name])
        found = ", ".join(f"{name} has {count} lines" for name, count in counts.items())
        raise DataError.at(Place(path / shortest, counts[shortest] + 1), f"{found}; expected the same number in each")
    log, repaired, utterances = ProblemLog(), [] if repair else None, []
    for number, (word_line, tag_line, label) in enumerate(zip(words, tags, labels, strict=True), 1):
        place = Place(path / "seq.out", number)
        if not word_line.strip():
            log.add(Place(path / "seq.in", number), "found an empty line, expected the words of an utterance")
            continue
        if not label.strip():
            log.add(Place(path / "label", number), "found an empty line, expected an intent")
            continue
        with log.at(place):
            utterances.append(
                tagged_utterance(
                    _columns(word_line), _columns(tag_line), label.strip(), places=[place], repaired=repaired
                )
            )
    log.raise_if_any()
    return Document(tuple(utterances), warnings=tuple(repaired or ()))


def write(document: Document, path: Path) -> list[str]:
    rows: list[tuple[str, str, str]] = []
    for number, utterance in enumerate(document.utterances, 1):
        try:
            tags = tags_to_write(utterance, f"utterance {number}")
        except ValueError as error:
            raise HandfulError(str(error)) from error
        rows.append((" ".join(utterance.sentence), " ".join(tags), utterance.intent))
    for name, lines in zip(FILES, zip(*rows, strict=True), strict=True):
        write_text(path / name, "\n".join(lines) + "\n")
    return not_written(document, text=True)


def _columns(line: str) -> list[str]:
    # Not str.split(): a no-break space inside a word is not a border between two.
    return [column for column in re.split(r"[ \t]+", line) if column]
