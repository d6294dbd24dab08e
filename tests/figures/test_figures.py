"""The numbers behind the figures, of records whose answers are known."""

from __future__ import annotations

from typing import Any

import pytest

from figures.made import EMPTY_BINS, cells_of, details, projected, raw
from handful.figures.calibration import calibration_figures, reliability
from handful.figures.chapters import chapters
from handful.figures.cost import cost, cost_figures, frontier
from handful.figures.curves import curve_figures
from handful.figures.figure import Figure, Missing, draw_png, draw_svg
from handful.figures.projection import projection_figure
from handful.figures.quality import headline, quality_figures
from handful.figures.records import Projection
from handful.figures.scores import Measure, score
from handful.figures.shots import by_bin, shots_figures
from handful.figures.slots import slot_counts, slots_figure
from handful.report.assessment import expected_calibration_error


def only(figures: list[Figure | Missing]) -> Figure:
    (figure,) = figures
    assert isinstance(figure, Figure)
    return figure


# quality


def test_one_record_has_the_interval_of_its_episodes_and_several_the_spread_of_their_seeds():
    (one,) = cells_of(raw(intent_accuracy={"mean": 90.0, "ci95": 1.5}))
    assert str(score(one, Measure.INTENT)) == "90.0 ± 1.5"
    (alone,) = cells_of(raw(intent_accuracy={"mean": 90.0, "ci95": None}))
    assert str(score(alone, Measure.INTENT)) == "90.0"
    (two,) = cells_of(raw(slot_f1_strict=40.0), raw(slot_f1_strict=44.0, train_seed=1))
    assert str(score(two, Measure.STRICT)) == "42.0 ± 2.8"


def test_the_headline_names_the_best_of_intents_and_of_slots():
    cells = cells_of(
        raw(),
        raw(row="proto", intent_accuracy=95.0, slot_f1_strict=30.0),
        raw(row="proto", corpus="top"),  # alone: no best
    )
    assert headline(cells).rows == (
        ("snips", 20, "intent accuracy", "proto, MiniLM", "95.0 ± 2.0"),
        ("snips", 20, "slot F1 (strict)", "(w,w), MiniLM", "40.0 ± 2.0"),
    )


def test_quality_has_a_figure_for_each_encoder_and_way_of_training():
    found = quality_figures(cells_of(raw(), raw(encoder="glove"), raw(mode="joint")))
    assert [figure.title for figure in found] == [
        "Quality: MiniLM",
        "Quality: MiniLM, trained jointly",
        "Quality: GloVe",
    ]
    first = found[0]
    assert isinstance(first, Figure)
    assert first.numbers[0].rows == (("snips", "(w,w), MiniLM", 20, "90.0 ± 2.0", "40.0 ± 2.0", "50.0 ± 2.0", 1),)
    assert {value["text"] for value in values(first.spec)} == {"90.0", "40.0", "50.0"}
    assert {(value["low"], value["high"]) for value in values(first.spec)} == {(88, 92), (38, 42), (48, 52)}


# calibration


def test_reliability_adds_up_seeds_and_knows_its_error():
    (cell,) = cells_of(raw(details=details()))
    bins = reliability(cell)
    assert [(own.count, own.right) for own in bins[8:]] == [(6, 6), (4, 3)]
    assert bins[8].confidence == pytest.approx(0.85)
    # 0.6 · |1 − 0.85| + 0.4 · |0.75 − 0.95|
    assert expected_calibration_error(bins) == pytest.approx(0.17)
    (both,) = cells_of(raw(details=details()), raw(train_seed=1, details=details()))
    assert [own.count for own in reliability(both)[8:]] == [12, 8]
    assert expected_calibration_error(reliability(both)) == pytest.approx(0.17)


def test_the_calibration_table_has_the_error_and_the_bins_that_are_not_empty():
    figure = only(calibration_figures(cells_of(raw(details=details()))))
    errors, bins = figure.numbers
    assert errors.rows == (("snips", "(w,w), MiniLM", 10, "17.0", "89.0", "90.0"),)
    assert [row[2:] for row in bins.rows] == [("80–90", 6, "85.0", "100.0"), ("90–100", 4, "95.0", "75.0")]
    assert "ECE 17.0 %" in draw_svg(figure.spec)


def test_bins_without_queries_are_no_calibration():
    empty = details(calibration=[*EMPTY_BINS, [0, 0.0, 0], [0, 0.0, 0]])
    assert isinstance(calibration_figures(cells_of(raw(details=empty)))[0], Missing)


# cost


def test_costs_are_means_of_the_records_that_know_them():
    (cell,) = cells_of(raw(peak_mb=None), raw(train_seed=1, train_seconds=300.0, eval_seconds=30.0))
    found = cost(cell)
    assert (found.train_seconds, found.eval_seconds, found.peak_mb) == (200.0, 20.0, 1000.0)
    assert found.episode_seconds == pytest.approx(0.2)


def test_the_frontier_is_what_nothing_cheaper_beats():
    assert frontier([(3, 50), (1, 10), (2, 60), (2, 70), (4, 70), (5, 80)]) == [(1, 10), (2, 70), (5, 80)]
    assert frontier([]) == []


def test_the_cost_table_has_all_and_the_plot_what_was_trained():
    cells = cells_of(raw(), raw(row="prototypes", mode="untrained", train_seconds=None, peak_mb=None))
    figure = only(cost_figures(cells))
    assert figure.numbers[0].rows == (
        ("snips", "(w,w), MiniLM", "90.0 ± 2.0", "40.0 ± 2.0", "100", "10.0", "0.100", "1000", 1),
        ("snips", "prototypes, MiniLM", "90.0 ± 2.0", "40.0 ± 2.0", "–", "10.0", "0.100", "–", 1),
    )
    drawn = [(value["row"], value["cost"]) for value in values(figure.spec) if "row" in value]
    assert drawn.count(("(w,w)", 100.0)) == 2, "intents and slots against the seconds of training"
    assert drawn.count(("prototypes", 0.1)) == 2, "and against those of evaluation alone"
    assert sum(row == "prototypes" for row, _ in drawn) == 2
    assert "training, seconds" in draw_svg(figure.spec)


def test_what_was_trained_on_other_data_is_told_as_hollow():
    cells = cells_of(raw(), raw(mode="joint", train_corpus="snips+atis"))
    assert "Hollow marks are trained jointly." in only(cost_figures(cells)).says
    assert "Hollow" not in only(cost_figures(cells_of(raw(), raw(row="proto")))).says


def test_the_cost_of_a_process_is_told_as_such():
    told = only(cost_figures(cells_of(raw(), raw(row="proto")))).caption
    assert "20 first: what was encoded then is not encoded again at 100" in told
    assert "Peak memory is that of the whole process, with the training where that was done in it." in told


def test_no_cost_is_told_as_missing():
    bare = raw(train_seconds=None, eval_seconds=None, peak_mb=None)
    assert isinstance(cost_figures(cells_of(bare))[0], Missing)


# shots, slots, curves, Figure 2


def test_queries_count_at_the_number_of_their_intents_examples():
    (cell,) = cells_of(raw(details=details()))
    found = by_bin(cell)
    assert found["1"] == (4, 25.0, 50.0)
    assert found["3–4"] == (6, pytest.approx(500 / 6), 75.0)
    assert set(found) == {"1", "3–4"}
    figure = only(shots_figures([cell]))
    assert figure.numbers[0].rows[0] == ("snips", "(w,w), MiniLM", "1", 4, "25.0", "50.0")


def test_slots_stand_beside_those_of_the_best_baseline():
    cells = cells_of(
        raw(details=details()),
        raw(row="proto", slot_f1_strict=30.0, details=details(slots={"city": [1, 2, 6]})),
        raw(row="finetune", slot_f1_strict=20.0, details=details()),
    )
    assert slot_counts(cells[0])["city"].f1 == pytest.approx(60.0)
    figure = slots_figure(cells)
    assert isinstance(figure, Figure)
    assert figure.numbers[0].columns[3:] == ("F1 (w,w), MiniLM %", "F1 proto, MiniLM %")
    assert figure.numbers[0].rows == (("snips", "city", 6, "60.0", "25.0"), ("snips", "date", 1, "100.0", "–"))


def test_slots_are_compared_within_an_encoder_and_a_way_of_training():
    joint = {"mode": "joint", "train_corpus": "snips+atis"}
    cells = cells_of(
        raw(slot_f1_strict=50.0, details=details()),
        raw(encoder="glove", details=details()),
        raw(row="proto", slot_f1_strict=30.0, details=details()),
        raw(row="proto", slot_f1_strict=60.0, details=details(), **joint),
        raw(row="retriever", slot_f1_strict=70.0, encoder="glove", details=details()),
        raw(corpus="atis", encoder="glove", details=details()),
        raw(corpus="atis", row="proto", details=details()),
    )
    figure = slots_figure(cells)
    assert isinstance(figure, Figure)
    assert [numbers.columns[3:] for numbers in figure.numbers] == [
        ("F1 (w,w), MiniLM %", "F1 proto, MiniLM %"),
        ("F1 (w,w), GloVe %",),
    ]
    assert "Encoder and training of both: snips with MiniLM; atis with GloVe." in figure.caption
    assert "No such baseline has counts by slot on atis." in figure.says
    svg = draw_svg(figure.spec)
    assert ">snips: MiniLM<" in svg
    assert ">atis: GloVe<" in svg


def test_a_run_that_was_scored_twice_has_one_curve_and_seeds_are_averaged():
    cells = cells_of(
        raw(curve=[[100, 50.0, 20.0, 30.0], [200, 60.0, 30.0, 40.0]]),
        raw(curve=[[100, 50.0, 20.0, 30.0], [200, 60.0, 30.0, 40.0]], u_max=100),
        raw(curve=[[100, 70.0, 40.0, 50.0]], train_seed=1),
    )
    assert only(curve_figures(cells)).numbers[0].rows == (
        ("snips", "(w,w), MiniLM", 100, "60.0", "30.0", "40.0", 2),
        ("snips", "(w,w), MiniLM", 200, "60.0", "30.0", "40.0", 1),
    )


def test_figure_2_has_a_panel_for_each_way_and_split():
    figure = projection_figure(Projection.model_validate(projected()))
    assert isinstance(figure, Figure)
    svg = draw_svg(figure.spec)
    for name in ("original", "CE", "CE+SCL"):
        assert f">{name}, train: silhouette" in svg
        assert f">{name}, test: silhouette" in svg
    assert figure.numbers[0].rows[1] == ("CE", "(o,o)", "0.4000", "0.2000")
    assert draw_png(figure.spec).startswith(b"\x89PNG")


# all of them


def test_what_the_records_cannot_give_is_told_with_what_would_make_it():
    found = {chapter.name: chapter for chapter in chapters(cells_of(raw()), None)}
    assert {name for name, chapter in found.items() if chapter.missing} == {
        "figure2",
        "shots",
        "curves",
        "slots",
        "calibration",
    }
    assert all("`handful bench" in m.reason for chapter in found.values() for m in chapter.missing)
    assert not any(chapter.drawable for chapter in chapters(cells_of(), None))


def test_figures_of_encoders_with_like_names_do_not_share_a_file():
    found = chapters(cells_of(raw(encoder="my encoder"), raw(encoder="my-encoder")), None)
    names = [figure.name for chapter in found for figure in chapter.drawable]
    assert {"quality-my-encoder", "quality-my-encoder-2"} <= set(names)
    assert len(names) == len(set(names))


def values(spec: Any) -> list[dict[str, Any]]:
    """All that a spec draws, wherever it stands."""
    if isinstance(spec, list):
        return [value for part in spec for value in values(part)]
    if not isinstance(spec, dict):
        return []
    own = [value for value in spec.get("values", []) if isinstance(value, dict)]
    own += [value for rows in spec.get("datasets", {}).values() for value in rows]
    return own + [value for key, part in spec.items() if key not in {"values", "datasets"} for value in values(part)]
