"""Which records belong together: a line is a row with an encoder, and whatever else tells it from its neighbours.

Records that differ in nothing but their seeds are one cell of a line, to be averaged. What is worth telling, such as a
budget or a way of decoding, is part of a label only where the same row was measured in several ways on the same data.
"""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeVar

from pydantic import ValidationError

from handful.figures.records import Record

_ENCODERS = {"all-MiniLM-L6-v2": "MiniLM", "gte-small-fp16": "gte-small", "glove": "GloVe", "elmo": "ELMo"}
# Rows in the order of legends and tables. Their colours are the same on every page, whatever else is on it.
_COLOURS = {
    "(w,w)": "#2f6fd0",
    "(w,o)": "#1b9fb3",
    "(o,o)": "#8a63d2",
    "intent-to-slot": "#b5893a",
    "slot-to-intent": "#9aa5b1",
    "joint_spans": "#1a9850",
    "proto": "#e6a117",
    "retriever": "#d64a8a",
    "finetune": "#c0392b",
    "fomaml": "#5d6d7e",
    "prototypes": "#6b8e23",
}
_MORE_COLOURS = ("#5b7fa6", "#a65b7f", "#7fa65b", "#a67f5b", "#5ba69a", "#7f5ba6")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
_DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (4, 4))
_CORPORA = ("snips", "atis", "top")
# What makes no other learner: seeds are averaged, data and budget are told by themselves, dev scores only choose among
# a run's epochs, and a checkpoint's precision is a matter of its size.
_NO_SETTINGS = frozenset(
    {"data", "train_seed", "episode_seed", "epochs", "episodes_per_epoch", "dev", "checkpoint_precision"}
)

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Line:
    label: str
    row: str
    encoder: str  # as it is shown
    training: str  # on which data, where that is not the corpus's own
    colour: str
    shape: str
    dash: tuple[int, ...]

    @property
    def short(self) -> str:
        """Where a title tells the encoder and the training already."""
        told = f"{self.row}, {', '.join(filter(None, [self.encoder, self.training]))}"
        return f"{self.row}{self.label.removeprefix(told)}"


@dataclass(frozen=True, slots=True, eq=False)  # itself alone is its equal, so that it can be the key of what is found
class Cell:
    """Records of a line on a corpus that differ in their seeds alone."""

    line: Line
    corpus: str
    u_max: int
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Lines:
    cells: tuple[Cell, ...]
    replaced: int  # records that were measured anew


def sort_into_lines(records: Sequence[Record]) -> Lines:
    kept = _newest(records)
    groups = _grouped(kept, lambda record: (record.row, record.encoder))
    labels: list[tuple[str, Record]] = []
    for own in groups.values():
        labels += _labelled(own)
    cells = [
        Cell(_line(label, members[0][1]), corpus, u_max, tuple(record for _, record in members))
        for (label, corpus, u_max), members in _grouped(
            labels, lambda pair: (pair[0], pair[1].corpus, pair[1].u_max)
        ).items()
    ]
    cells.sort(key=lambda cell: (corpus_order(cell.corpus), cell.u_max, line_order(cell.line)))
    return Lines(tuple(_dashed(cells)), len(records) - len(kept))


def corpus_order(corpus: str) -> tuple[int, str]:
    return _CORPORA.index(corpus) if corpus in _CORPORA else len(_CORPORA), corpus


def line_order(line: Line) -> tuple[int, str, int, str, str]:
    rows = list(_COLOURS)
    row = rows.index(line.row) if line.row in rows else len(rows)
    return row, line.row, *encoder_order(line.encoder), line.label


def encoder_order(shown: str) -> tuple[int, str]:
    encoders = list(_ENCODERS.values())
    return encoders.index(shown) if shown in encoders else len(encoders), shown


def lines_of(cells: Iterable[Cell]) -> list[Line]:
    return sorted({cell.line for cell in cells}, key=line_order)


def corpora_of(cells: Iterable[Cell]) -> list[str]:
    return sorted({cell.corpus for cell in cells}, key=corpus_order)


def mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)


def _newest(records: Sequence[Record]) -> list[Record]:
    """A measurement that was made again with the same settings counts once: the one with details, or the later one."""
    found: list[Record] = []
    for same in _grouped(
        records, lambda r: (r.row, r.encoder, _training(r), r.corpus, r.u_max, _seeds(r), _traits(r), _settings(r))
    ).values():
        found.append(([record for record in same if record.details is not None] or same)[-1])
    return found


def _labelled(records: Sequence[Record]) -> list[tuple[str, Record]]:
    """Of one row and one encoder. A trait is told where records of the same data and training differ in it."""
    places = _grouped(records, lambda record: (record.corpus, record.u_max, _training(record))).values()
    telling = [
        number for number in range(len(_TRAITS)) if any(len({_traits(r)[number] for r in own}) > 1 for own in places)
    ]
    base = [
        (", ".join(filter(None, [_base(record), *(_traits(record)[number] for number in telling)])), record)
        for record in records
    ]
    ambiguous = {
        label
        for (label, _, _), own in _grouped(base, lambda pair: (pair[0], pair[1].corpus, pair[1].u_max)).items()
        if len({_settings(record) for _, record in own}) > 1
    }
    # Numbered for all data and U_max at once: a line has the same settings in all of its panels.
    settings = sorted({_settings(record) for label, record in base if label in ambiguous})
    return [
        (f"{label}, settings {settings.index(_settings(record)) + 1}" if label in ambiguous else label, record)
        for label, record in base
    ]


def _base(record: Record) -> str:
    return ", ".join(filter(None, [record.row, shown_encoder(record.encoder), _training(record)]))


def shown_encoder(encoder: str) -> str:
    return _ENCODERS.get(encoder, encoder)


def _training(record: Record) -> str:
    if record.mode == "joint":
        return "trained jointly"
    foreign = record.train_corpus is not None and record.train_corpus != record.corpus
    return f"trained on {record.train_corpus}" if foreign else ""


_TRAITS: tuple[Callable[[Record], str], ...] = (
    lambda record: f"on {record.train_corpus}" if record.mode == "joint" and record.train_corpus else "",
    lambda record: f"{record.decoding} decoding" if record.decoding else "",
    lambda record: f"{record.tuning_steps} tuning steps" if record.tuning_steps is not None else "",
    lambda record: f"budget of {record.budget} episodes" if record.budget is not None else "",
    lambda record: f"trained at U_max {record.train_u_max}" if record.train_u_max is not None else "",
    lambda record: f"{record.episodes} test episodes",
)


def _traits(record: Record) -> tuple[str, ...]:
    return tuple(trait(record) for trait in _TRAITS)


def _seeds(record: Record) -> tuple[int | None, int | None]:
    return record.train_seed, record.episode_seed


def _settings(record: Record) -> str:
    return _compared(json.dumps(record.config, sort_keys=True))


@cache  # many records share a config, and each is asked for several times
def _compared(written: str) -> str:
    """What makes the learner what it is. Defaults are filled in: an older record lacks the settings of newer days."""
    config = json.loads(written)
    if "data" in config:  # no run is without; elsewhere torch, which comes with the settings of runs, stays out of it
        from handful.training.config import RunConfig

        with suppress(ValidationError):  # of another version, or of no run of ours: compared as it stands
            config = RunConfig.model_validate(config).model_dump(mode="json")
    return json.dumps({key: value for key, value in config.items() if key not in _NO_SETTINGS}, sort_keys=True)


def _line(label: str, record: Record) -> Line:
    known = list(_COLOURS)
    chance = zlib.crc32(record.row.encode())
    return Line(
        label,
        record.row,
        shown_encoder(record.encoder),
        _training(record),
        _COLOURS.get(record.row, _MORE_COLOURS[chance % len(_MORE_COLOURS)]),
        SHAPES[(known.index(record.row) if record.row in known else chance) % len(SHAPES)],
        _DASHES[0],
    )


def _dashed(cells: Sequence[Cell]) -> list[Cell]:
    """A row's colour and shape are its own; what was measured in several ways is told apart by its stroke."""
    dashes: dict[Line, tuple[int, ...]] = {}
    for own in _grouped(lines_of(cells), lambda line: (line.row, line.encoder, line.training)).values():
        dashes.update({line: _DASHES[number % len(_DASHES)] for number, line in enumerate(own)})
    return [replace(cell, line=replace(cell.line, dash=dashes[cell.line])) for cell in cells]


def _grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    found: defaultdict[Key, list[Item]] = defaultdict(list)
    for item in items:
        found[key(item)].append(item)
    return dict(found)
