"""Which records belong together, and what a line is called."""

from __future__ import annotations

from typing import Any

import pytest

from figures.made import cells_of, details, raw
from handful.figures.lines import lines_of, sort_into_lines
from handful.figures.records import Record
from handful.training.config import RunConfig


def test_records_that_differ_in_their_seeds_are_one_cell():
    (cell,) = cells_of(raw(train_seed=0), raw(train_seed=1))
    assert (cell.line.label, len(cell.records)) == ("(w,w), MiniLM", 2)


def test_a_way_of_training_is_told_once():
    cells = cells_of(raw(), raw(mode="joint", train_corpus="snips+atis+top"))
    assert [line.label for line in lines_of(cells)] == ["(w,w), MiniLM", "(w,w), MiniLM, trained jointly"]
    assert [line.short for line in lines_of(cells)] == ["(w,w)", "(w,w)"]


def test_what_tells_two_lines_apart_is_told_and_nothing_else():
    long = {"epochs": 10, "episodes_per_epoch": 100}
    cells = cells_of(raw(decoding="joint"), raw(decoding="joint", config=long), raw(row="proto"))
    assert [line.short for line in lines_of(cells)] == [
        "(w,w), budget of 1000 episodes",
        "(w,w), budget of 500 episodes",
        "proto",
    ]


def test_what_was_measured_anew_counts_once_and_the_detailed_one_wins():
    found = sort_into_lines([Record.model_validate(record) for record in (raw(details=details()), raw())])
    assert found.replaced == 1
    assert found.cells[0].records[0].details is not None


def test_cells_can_be_keys_though_their_records_hold_dictionaries():
    cells = cells_of(raw(details=details()), raw(corpus="atis"))
    assert len({cell: cell.corpus for cell in cells}) == 2


def run_settings(**changes: Any) -> dict[str, Any]:
    """A config that is one of a run, with few of its settings written down."""
    return {"data": "snips", "epochs": 5, "episodes_per_epoch": 100, "learner": {"name": "explicit_joint"}, **changes}


def test_settings_that_are_not_written_down_are_the_defaults():
    whole = RunConfig.model_validate(run_settings()).model_dump(mode="json")
    (cell,) = cells_of(raw(config=run_settings()), raw(config=whole, train_seed=1))
    assert (cell.line.label, len(cell.records)) == ("(w,w), MiniLM", 2)


@pytest.mark.parametrize(
    "changes",
    [
        {"dev": {"episodes": 30, "patience": 3}},
        {"checkpoint_precision": "float16"},
        {"train_seed": 1, "episode_seed": 1},
        {"epochs": 10, "episodes_per_epoch": 50},
    ],
)
def test_what_makes_no_other_learner_makes_no_other_line(changes: dict[str, Any]):
    (cell,) = cells_of(raw(config=run_settings()), raw(config=run_settings(**changes), train_seed=1))
    assert len(cell.records) == 2
    again = [raw(config=run_settings(**changes), details=details()), raw(config=run_settings())]
    found = sort_into_lines([Record.model_validate(record) for record in again])
    assert found.replaced == 1
    assert found.cells[0].records[0].details is not None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (run_settings(), run_settings(optimiser={"learning_rate": 0.001})),
        (run_settings(), run_settings(query_cap=5)),
        ({"intent_temperature": 0.3}, {"intent_temperature": 0.4}),  # of no run, and compared all the same
        (run_settings(gone=1), run_settings(gone=2)),  # of another version
    ],
)
def test_other_settings_are_not_the_same_measured_anew(first: dict[str, Any], second: dict[str, Any]):
    records = [raw(config=first, details=details()), raw(config=second)]
    found = sort_into_lines([Record.model_validate(record) for record in records])
    assert found.replaced == 0
    assert [line.short for line in lines_of(found.cells)] == ["(w,w), settings 1", "(w,w), settings 2"]


def test_a_number_means_the_same_settings_on_all_data():
    rates = {"snips": (1e-4, 2e-4), "atis": (2e-4, 3e-4), "top": (3e-4,)}
    cells = cells_of(
        *(
            raw(corpus=corpus, config=run_settings(data=corpus, optimiser={"learning_rate": rate}))
            for corpus, own in rates.items()
            for rate in own
        )
    )
    found = {(cell.corpus, cell.line.short): cell.records[0].config["optimiser"]["learning_rate"] for cell in cells}
    assert found == {
        ("snips", "(w,w), settings 1"): 1e-4,
        ("snips", "(w,w), settings 2"): 2e-4,
        ("atis", "(w,w), settings 2"): 2e-4,
        ("atis", "(w,w), settings 3"): 3e-4,
        ("top", "(w,w), settings 3"): 3e-4,
    }


def test_settings_of_each_data_set_alone_are_not_numbered():
    cells = cells_of(
        raw(config=run_settings()), raw(corpus="atis", config=run_settings(optimiser={"learning_rate": 0.001}))
    )
    assert [line.label for line in lines_of(cells)] == ["(w,w), MiniLM"]


def test_joint_training_on_other_data_is_another_line():
    cells = cells_of(*(raw(mode="joint", train_corpus=data) for data in ("snips+atis", "snips+atis+top")))
    assert [line.label for line in lines_of(cells)] == [
        "(w,w), MiniLM, trained jointly, on snips+atis",
        "(w,w), MiniLM, trained jointly, on snips+atis+top",
    ]
