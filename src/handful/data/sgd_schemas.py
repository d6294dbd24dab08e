"""What the Schema-Guided Dialogue data says of its labels: descriptions, and five rewordings of every name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from handful.data.formats.json_tree import read_json
from handful.data.formats.tree import Node

_SPLITS = ("train", "dev", "test")
_VARIANTS = range(1, 6)


@dataclass(frozen=True, slots=True)
class LabelTexts:
    """What one intent or slot is called: its own name first, then the rewordings, and a description of each."""

    names: tuple[str, ...]
    descriptions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ServiceLabels:
    """The labels of one service, by their own names."""

    intents: Mapping[str, LabelTexts]
    slots: Mapping[str, LabelTexts]


def load_sgd_schemas(folder: Path) -> dict[str, ServiceLabels]:
    """By service (`Restaurants_1`), from the `schemas` folder: the data's own, and SGD-X's variants of it.

    A variant's labels stand in the order of the original's, and that is how they are matched.
    """
    originals = _services(folder, suffix="")
    variants = [_services(folder / f"sgd_x/data/v{number}", suffix=str(number)) for number in _VARIANTS]
    found: dict[str, ServiceLabels] = {}
    for service, original in originals.items():
        reworded = [variant.get(service) for variant in variants]
        for number, variant in zip(_VARIANTS, reworded, strict=True):
            if variant is None:
                original.fail(f"the service '{service}' is missing in variant {number}, expected '{service}{number}'")
        versions = [original, *(variant for variant in reworded if variant is not None)]
        found[service] = ServiceLabels(_labels(versions, "intents"), _labels(versions, "slots"))
    return found


def _services(folder: Path, suffix: str) -> dict[str, Node]:
    """By the original's name: variant 3 of 'Restaurants_1' is called 'Restaurants_13'."""
    found: dict[str, Node] = {}
    for split in _SPLITS:
        for service in read_json(folder / split / "schema.json").items("a list of services"):
            name = service.need("service_name")
            if not name.text().endswith(suffix):
                name.expected(f"a service's name that ends in {suffix}")
            found[name.text().removesuffix(suffix)] = service
    return found


def _labels(versions: list[Node], kind: str) -> dict[str, LabelTexts]:
    columns = [version.need(kind).items() for version in versions]
    for version, column in zip(versions, columns, strict=True):
        if len(column) != len(columns[0]):
            version.fail(f"found {len(column)} {kind}, expected {len(columns[0])} as in the original schema")
    texts = [
        LabelTexts(
            tuple(label.need("name").text() for label in row),
            tuple(label.need("description").text() for label in row),
        )
        for row in zip(*columns, strict=True)
    ]
    return {text.names[0]: text for text in texts}
