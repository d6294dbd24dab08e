"""Damaged files of every format: each is read or refused with a place, and nothing else ever happens."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from handful.data.document import Document
from handful.data.reading import format_named, read_document
from handful.errors import DataError, Problem

GOOD = {
    "rasa-yaml": "version: '3.1'\nhandful: 1\ndescriptions:\n  fly: to travel\nsettings:\n  threshold: 0.5\n"
    "  checkpoint: here\nnlu:\n- intent: fly\n  examples: |\n    - to [New York](city) at [9](time)\n"
    '    - from [Rome]{"entity": "city", "role": "from"}\n- regex: zip\n  examples: |\n    - \\d{5}\n',
    "rasa-json": json.dumps(
        {
            "rasa_nlu_data": {
                "common_examples": [
                    {"text": "to Rome", "intent": "fly", "entities": [{"start": 3, "end": 7, "entity": "city"}]}
                ],
                "entity_synonyms": [{"value": "Rome", "synonyms": ["Roma"]}],
            }
        },
        indent=1,
    ),
    "snips-json": json.dumps(
        {
            "intents": {
                "fly": {
                    "utterances": [{"data": [{"text": "to "}, {"text": "Rome", "slot_name": "to", "entity": "city"}]}]
                }
            },
            "entities": {"city": {"data": [{"value": "Rome", "synonyms": ["Roma"]}], "use_synonyms": True}},
            "language": "en",
        },
        indent=1,
    ),
    "snips-yaml": "type: intent\nname: fly\nutterances:\n- to [to:city](Rome) now\n"
    "---\ntype: entity\nname: city\nvalues:\n- [Rome, Roma]\n",
    "luis": json.dumps(
        {
            "luis_schema_version": "7.0.0",
            "intents": [{"name": "fly"}],
            "entities": [{"name": "city", "roles": []}],
            "utterances": [
                {"text": "to Rome", "intent": "fly", "entities": [{"entity": "city", "startPos": 3, "endPos": 6}]}
            ],
        },
        indent=1,
    ),
    "wit": json.dumps(
        {
            "utterances": [
                {
                    "text": "to Rome",
                    "intent": "fly",
                    "entities": [{"entity": "city:to", "start": 3, "end": 7, "body": "Rome", "entities": []}],
                    "traits": [],
                }
            ]
        },
        indent=1,
    ),
    "conll": "# intent: fly\n# text: to Rome!\nto\tO\nRome\tB-city\n!\tO\n\n# intent: greet\nhi\tO\n",
    "jsonl": '{"tokens": ["to", "Rome"], "slots": ["O", "B-city"], "intent": "fly", "id": 1}\n' * 1,
    "top": "to Rome\tto Rome\t[IN:FLY to [SL:CITY Rome ] ]\nhi\thi\t[IN:GREET hi ]\n",
    "released": '{"text_u": "to Rome", "intent": "fly", "slots": "O, B-fly city, F"}\n',
}
MARKS = [
    b"",
    b"\n",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\r",
    b"[",
    b"]",
    b"{",
    b"}",
    b'"',
    b":",
    b",",
    b"\\",
    b"- ",
    b"# ",
]
VALUES = [b"null", b"1e999", b"-1", b"\\ud800", b"\xe2\x80\xa8", b"\t", b"I-x", b"&a ", b"*a", b"!!int "]
PIECES = [*MARKS, *VALUES]


def damaged(good: bytes, rng: np.random.Generator) -> bytes:
    """One to three small accidents: a piece cut, doubled, replaced or put in."""
    for _ in range(int(rng.integers(1, 4))):
        start = int(rng.integers(0, len(good) + 1))
        end = min(len(good), start + int(rng.choice([0, 1, 1, 2, 5, 20])))
        piece = good[start:end] * 2 if rng.random() < 0.2 else PIECES[int(rng.integers(len(PIECES)))]
        good = good[:start] + piece + good[end:]
    return good


def survive(name: str, folder: Path, count: int, seed: int) -> int:
    """How many of `count` damaged files were refused; anything but a reading or a DataError with a place fails."""
    rng, refused = np.random.default_rng([seed, len(name)]), 0
    file = folder / "damaged"
    for _ in range(count):
        file.write_bytes(damaged(GOOD[name].encode(), rng))
        for read in (format_named(name).read, read_document):
            problems = problems_of(read, file)
            refused += bool(problems)
            assert all(problem.place.path == file and problem.message for problem in problems)
    return refused


def problems_of(read: Callable[[Path], Document], file: Path) -> tuple[Problem, ...]:
    try:
        read(file)
    except DataError as error:
        return error.problems
    return ()


@pytest.mark.parametrize("name", GOOD)
def test_undamaged_files_are_read(name: str, tmp_path: Path):
    (tmp_path / "good").write_text(GOOD[name], encoding="utf-8")
    assert format_named(name).read(tmp_path / "good") == read_document(tmp_path / "good")


@pytest.mark.parametrize("name", GOOD)
def test_damaged_files_are_read_or_refused(name: str, tmp_path: Path):
    assert survive(name, tmp_path, 150, seed=0) > 30


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
@pytest.mark.parametrize("name", GOOD)
def test_thousands_of_damaged_files_are_read_or_refused(name: str, seed: int, tmp_path: Path):
    assert survive(name, tmp_path, 3000, seed) > 600
