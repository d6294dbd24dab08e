"""Result records, read from every list of them below a folder, with their faults told."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    ValidationError,
    field_validator,
    model_validator,
)

from handful.data.formats.files import read_text
from handful.errors import ConfigError, DataError, Place, ProblemLog
from handful.training.details import BINS

FIGURE_2 = "figure2.json"

# What no XML may hold, and so no figure either: to draw it would end the process, and say little of why.
_UNDRAWABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def _drawable(name: str) -> str:
    if found := _UNDRAWABLE.search(name):
        raise ValueError(f"found the character U+{ord(found.group()):04X}, expected text that can be shown")
    return name


Name = Annotated[str, AfterValidator(_drawable)]
Triple = tuple[NonNegativeInt, NonNegativeInt, NonNegativeInt]
# Support examples of the intent, queries, right intents, and spans: right, predicted, gold.
Shots = tuple[NonNegativeInt, NonNegativeInt, NonNegativeInt, NonNegativeInt, NonNegativeInt, NonNegativeInt]
Bin = tuple[NonNegativeInt, NonNegativeFloat, NonNegativeInt]  # queries, sum of their confidences, right intents


class _Part(BaseModel):
    """What a record has that no figure shows is left alone."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)


class Metric(_Part):
    mean: float  # in percent
    ci95: NonNegativeFloat | None = None  # over episodes; of one there is none


class Details(_Part):
    """Counts that an evaluation keeps beside its means; see handful.training.details."""

    slots: dict[Name, Triple] = {}  # right, predicted, gold
    shots: tuple[Shots, ...] = ()
    calibration: tuple[Bin, ...] = ()

    @field_validator("calibration")
    @classmethod
    def _bins_are_whole(cls, bins: tuple[Bin, ...]) -> tuple[Bin, ...]:
        if bins and len(bins) != BINS:
            raise ValueError(f"found {len(bins)} bins, expected {BINS}")
        for number, (queries, confidences, right) in enumerate(bins):
            # Sums are rounded, so a little more than one a query may be.
            if right > queries or confidences > queries + 0.01:
                raise ValueError(
                    f"bin {number}: found {right} right and confidences of {confidences:g} together, expected no more "
                    f"than its {queries} queries"
                )
        return bins


class Record(_Part):
    row: Name
    encoder: Name
    mode: Name = "single"
    corpus: Name
    split: Name
    u_max: NonNegativeInt
    episodes: NonNegativeInt
    train_corpus: Name | None = None
    train_u_max: NonNegativeInt | None = None
    train_seed: NonNegativeInt | None = None
    episode_seed: NonNegativeInt | None = None
    decoding: Name | None = None
    tuning_steps: NonNegativeInt | None = None
    train_seconds: NonNegativeFloat | None = None
    train_episodes: NonNegativeInt | None = None
    eval_seconds: NonNegativeFloat | None = None
    peak_mb: NonNegativeFloat | None = None
    config: Annotated[dict[str, Any], Field(repr=False)] = {}
    intent_accuracy: Metric
    slot_f1_strict: Metric
    slot_f1_released: Metric
    details: Details | None = None
    curve: tuple[tuple[NonNegativeInt, float, float, float], ...] = ()

    @property
    def budget(self) -> int | None:
        """Train episodes that the run might use; how many it did is known where this is not."""
        epochs, each = self.config.get("epochs"), self.config.get("episodes_per_epoch")
        return epochs * each if isinstance(epochs, int) and isinstance(each, int) else self.train_episodes


class Panel(_Part):
    name: Name
    row: Name | None = None
    points: tuple[tuple[float, float, NonNegativeInt, NonNegativeInt], ...]  # x, y, and numbers of intent and split
    separation: dict[Name, float] = {}


class Projection(_Part):
    """Figure 2's points, as `handful bench --figure` writes them."""

    corpus: Name
    seed: NonNegativeInt
    method: Name
    budget: Name | None = None
    intents: tuple[Name, ...]
    splits: tuple[Name, ...]
    panels: Annotated[tuple[Panel, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _numbers_are_names(self) -> Projection:
        for panel in self.panels:
            for number, (_, _, intent, split) in enumerate(panel.points):
                if intent >= len(self.intents) or split >= len(self.splits):
                    raise ValueError(
                        f"panel '{panel.name}', point {number}: found intent {intent} of split {split}, expected the "
                        f"numbers of {len(self.intents)} intents and {len(self.splits)} splits"
                    )
        return self


@dataclass(frozen=True, slots=True)
class Results:
    folder: Path
    records: tuple[Record, ...]  # of the split test
    left_out: int  # of other splits
    files: int
    projection: Projection | None


def read_results(folder: Path) -> Results:
    """Every fault of every file is told at once."""
    if not folder.is_dir():
        raise ConfigError(f"{folder}: found no folder of results here: `handful bench` makes them, in results/")
    log = ProblemLog()
    records: list[Record] = []
    files = 0
    projection = None
    for path in sorted(folder.rglob("*.json")):
        if not path.is_file():
            continue
        with log.at(Place(path)):
            content = _parsed(path)
            if path == folder / FIGURE_2:
                projection = _projection(path, content)
            elif _is_list_of_records(content):
                records += _records(path, content)
                files += 1
    log.raise_if_any()
    if not records:
        raise ConfigError(
            f"{folder}: found no result records in its JSON files: `handful bench` makes them, and "
            "`handful evaluate --results FILE` adds one"
        )
    kept = tuple(record for record in records if record.split == "test")
    return Results(folder, kept, len(records) - len(kept), files, projection)


def _parsed(path: Path) -> Any:
    try:
        return json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise DataError.at(Place(path), f"not JSON: {error}") from None


def _is_list_of_records(content: Any) -> bool:
    """Other JSON is at home in the folder, too: sweeps, speeds, what the benchmarks of peers have found."""
    return isinstance(content, list) and any(
        isinstance(item, Mapping) and "row" in item and "intent_accuracy" in item for item in content
    )


def _records(path: Path, content: Sequence[Any]) -> list[Record]:
    log = ProblemLog()
    found: list[Record] = []
    for number, item in enumerate(content):
        try:
            found.append(Record.model_validate(item))
        except ValidationError as error:
            log.add(*_fault(path, error, str(number)))
    log.raise_if_any()
    return found


def _projection(path: Path, content: Any) -> Projection:
    try:
        return Projection.model_validate(content)
    except ValidationError as error:
        raise DataError.at(*_fault(path, error)) from None


def _fault(path: Path, error: ValidationError, *above: str) -> tuple[Place, str]:
    """The first of a record's faults: the others are often its consequences."""
    first = error.errors()[0]
    pointer = ".".join([*above, *map(str, first["loc"])])
    message = first["msg"].removeprefix("Value error, ")
    return Place(path, pointer=pointer or None), f"{message[0].lower()}{message[1:]}"
