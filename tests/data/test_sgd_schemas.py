from __future__ import annotations

import json
from pathlib import Path

import pytest

from handful.data.domain_sets import (
    load_domain_set,
)
from handful.data.labels import humanised
from handful.data.sgd_schemas import load_sgd_schemas
from handful.errors import DataError


def schemas(folder: Path, **changes: object) -> Path:
    for number in ("", "1", "2", "3", "4", "5"):
        for split in ("train", "dev", "test"):
            part = folder / (f"sgd_x/data/v{number}" if number else ".") / split
            part.mkdir(parents=True)
            service = {
                "service_name": f"Buses_1{number}",
                "intents": [{"name": f"FindBus{number}", "description": f"find a bus {number}"}],
                "slots": [{"name": f"to{number}", "description": f"where to {number}"}],
            }
            changed = changes if number == "3" and split == "dev" else {}
            (part / "schema.json").write_text(json.dumps([service | changed]))
    return folder


def test_schemas_of_the_test_are_read(tmp_path: Path):
    found = load_sgd_schemas(schemas(tmp_path))
    texts = found["Buses_1"].intents["FindBus"]
    assert texts.names == ("FindBus", "FindBus1", "FindBus2", "FindBus3", "FindBus4", "FindBus5")
    assert texts.descriptions[0] == "find a bus "
    assert found["Buses_1"].slots["to"].names[5] == "to5"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"slots": []}, r"found 0 slots, expected 1 as in the original schema"),
        ({"service_name": "Buses_14"}, "found the text 'Buses_14', expected a service's name that ends in 3"),
        ({"intents": None}, "found nothing, expected a list"),
    ],
)
def test_a_schema_that_does_not_fit_is_an_error(tmp_path: Path, changes: dict[str, object], message: str):
    folder = schemas(tmp_path, **changes)
    # The last of the three files counts, and in the data they are the same.
    (folder / "sgd_x/data/v3/test/schema.json").write_text((folder / "sgd_x/data/v3/dev/schema.json").read_text())
    with pytest.raises(DataError, match=rf"v3/(dev|test)/schema\.json:1.*{message}"):
        load_sgd_schemas(folder)


def test_every_label_of_sgds_lines_has_texts(data_dir: Path):
    labels = load_sgd_schemas(data_dir / "domains" / "sgd_intent_turns_cat" / "schemas")
    assert len(labels) == 45
    found = load_domain_set("sgd_intent_turns_cat", data_dir)
    for line in found.lines:
        assert line.intent is not None
        texts = labels[line.domain].intents[found.source.bare_intent(line.intent)]
        assert len(texts.names) == len(texts.descriptions) == 6
    reworded = labels["Restaurants_1"].intents["ReserveRestaurant"].names
    assert [humanised(name) for name in reworded[:2]] == ["reserve restaurant", "reserve a table"]
