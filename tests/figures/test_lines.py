"""Which records belong together, and what a line is called."""

from __future__ import annotations

from figures.made import cells_of, details, raw
from handful.figures.lines import lines_of, sort_into_lines
from handful.figures.records import Record


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
