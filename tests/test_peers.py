"""The pure parts of benchmarks/peers.py: what is counted, kept and shown. Nothing is timed here."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import pytest

from handful.data.formats.annotation import CharacterSpan, annotate
from handful.types import Slot, Utterance

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
MODULES = (
    "peer_tables",
    "peer_worker",
    "peer_ratios",
    "peers",
    "peers_plot",
    "peer_systems",
    "peer_answers",
    "peer_setfit",
    "out_of_domain",
    "bot_systems",
)


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield
    for name in MODULES:
        sys.modules.pop(name, None)


def over_draws(*values: float) -> dict[str, Any]:
    return {"mean": sum(values) / len(values), "ci95": None, "per_draw": list(values)}


def record(system: str, *accuracies: float, seconds: float = 1.0, **more: Any) -> dict[str, Any]:
    return {
        "corpus": "clinc150",
        "shots": 5,
        "system": system,
        "draws": list(range(len(accuracies))),
        "intent_accuracy": over_draws(*accuracies),
        "adapt_seconds": over_draws(seconds),
        "sentences_per_second": over_draws(1234.5),
        "p50_ms": 1.5,
        "p95_ms": 2.25,
        "peak_megabytes": 99.6,
        **more,
    }


def test_a_percentile_is_a_value_that_was_measured():
    from peer_tables import percentile  # pyright: ignore[reportMissingImports]

    hundred = list(range(100, 0, -1))
    assert [percentile(hundred, percent) for percent in (1, 50, 95, 100)] == [1, 50, 95, 100]
    assert percentile([3.0, 1.0, 2.0], 50) == 2.0
    assert percentile([7.0], 95) == 7.0
    for size in range(1, 40):
        values = list(range(size))
        for percent in (5, 50, 95):
            found = percentile(values, percent)
            within = sum(value <= found for value in values)
            assert within * 100 >= percent * size > (within - 1) * 100
    with pytest.raises(ValueError, match="no values"):
        percentile([], 50)


def test_spans_are_scored_over_all_sentences_together():
    from peer_worker import span_f1  # pyright: ignore[reportMissingImports]

    gold = [frozenset({("city", 0, 4), ("date", 8, 12)}), frozenset({("city", 3, 6)}), frozenset()]
    said = [frozenset({("city", 0, 4), ("date", 8, 11)}), frozenset(), frozenset({("city", 0, 1)})]
    precision, recall = 1 / 3, 1 / 3
    assert math.isclose(span_f1(gold, said), 2 * precision * recall / (precision + recall))
    assert span_f1(gold, gold) == 1.0
    assert span_f1([frozenset()], [frozenset()]) == 1.0


def test_a_system_is_scored_on_what_it_says():
    from peer_answers import TextAnswers  # pyright: ignore[reportMissingImports]
    from peer_worker import scores  # pyright: ignore[reportMissingImports]

    asked = [
        {"text": "to Rome", "intent": "fly", "slots": [["city", 3, 7]]},
        {"text": "hello", "intent": "greet", "slots": []},
    ]
    city = frozenset({("city", 3, 7)})
    assert scores(asked, TextAnswers(["fly", "fly"], None)) == {"intent_accuracy": 50.0}
    assert scores(asked, TextAnswers(None, [city, frozenset()])) == {"span_f1": 100.0}
    without_slots = [row | {"slots": []} for row in asked]
    assert scores(without_slots, TextAnswers(["fly", "greet"], [city, city])) == {"intent_accuracy": 100.0}


def test_an_utterance_is_split_as_in_a_bot_file_and_keeps_its_characters():
    from peer_worker import as_row, as_utterance, spans_of  # pyright: ignore[reportMissingImports]

    tokenised = Utterance.from_words(["what's", "on", "at", "5:30"], "ask", [Slot("time", 3, 4)])
    row = as_row(tokenised)
    assert row == {"text": "what's on at 5:30", "intent": "ask", "slots": [["time", 13, 17]]}
    again = as_utterance(row)
    assert again == annotate("what's on at 5:30", "ask", [CharacterSpan("time", 13, 17)])
    assert [word.text for word in again.words] == ["what", "'", "s", "on", "at", "5", ":", "30"]
    assert again.slot_text(again.slots[0]) == "5:30"
    assert spans_of(row) == {("time", 13, 17)}


def test_sentences_against_the_clock_are_new_ones():
    from peers import timed_sample  # pyright: ignore[reportMissingImports]

    test = [Utterance.from_words([word], "say") for word in "abcdeef"]
    found = timed_sample(test, test[:2], 4)
    assert len(set(found)) == 4
    assert set(found) <= {"c", "d", "e", "f"}
    assert found == timed_sample(test, test[:2], 4)
    with pytest.raises(ValueError, match="4 other sentences are left, expected 5"):
        timed_sample(test, test[:2], 5)


def test_a_summary_is_over_draws_and_over_all_parses():
    from peers import summary  # pyright: ignore[reportMissingImports]

    draws = [
        {"span_f1": 40.0, "adapt_seconds": 1.0, "sentences_per_second": 100.0, "parse_seconds": [0.001, 0.003]},
        {"span_f1": 50.0, "adapt_seconds": 3.0, "sentences_per_second": 300.0, "parse_seconds": [0.002, 0.009]},
    ]
    found = summary({"draws": draws, "load_seconds": 0.5, "peak_megabytes": 80.04})
    assert "intent_accuracy" not in found
    assert found["span_f1"]["per_draw"] == [40.0, 50.0]
    assert (found["adapt_seconds"]["mean"], found["sentences_per_second"]["mean"]) == (2.0, 200.0)
    assert (found["p50_ms"], found["p95_ms"], found["peak_megabytes"]) == (2.0, 9.0, 80.0)


def test_a_record_of_the_same_settings_is_known_and_a_new_one_takes_its_place(tmp_path: Path):
    from peers import file_record, is_known  # pyright: ignore[reportMissingImports]

    from handful.training.results import read_records

    path = tmp_path / "peers.json"
    file_record(record("SetFit", 80.0, config={"num_iterations": 20}), path)
    file_record(record("handful (int8)", 85.0), path)
    assert [old["system"] for old in read_records(path)] == ["handful (int8)", "SetFit"]
    wanted = {"system": "SetFit", "corpus": "clinc150", "config": {"num_iterations": 20}}
    assert is_known(wanted, read_records(path))
    assert not is_known(wanted | {"config": {"num_iterations": 5}}, read_records(path))
    assert not is_known(wanted | {"threads": 2}, read_records(path))
    file_record(record("SetFit", 81.0), path)
    assert [old["intent_accuracy"]["mean"] for old in read_records(path)] == [85.0, 81.0]


def test_the_table_has_a_line_a_system_and_a_dash_for_what_was_not_asked():
    from peer_tables import table  # pyright: ignore[reportMissingImports]

    crf = record("CRF", 0.0, corpus="fb_multilingual_en", span_f1={"mean": 48.71, "ci95": 2.0, "per_draw": [48.71]})
    del crf["intent_accuracy"]
    lines = table([record("SetFit", 80.0, 82.0, seconds=611.2), crf]).splitlines()
    assert lines[2] == "| fb_multilingual_en | 5 | CRF | – | 48.7 ± 2.0 | 1 | 1.50 | 2.25 | 1,234 | 100 | 1 |"
    assert lines[3] == "| clinc150 | 5 | SetFit | 81.0 | – | 611 | 1.50 | 2.25 | 1,234 | 100 | 2 |"
    assert len({line.count("|") for line in lines}) == 1


def test_setfit_is_compared_on_the_draws_that_both_have():
    from peer_tables import against_setfit, ratio_table  # pyright: ignore[reportMissingImports]

    both = [record("handful (int8)", 84.0, 90.0, 96.0, seconds=0.5), record("SetFit", 83.0, seconds=100.0)]
    (row,) = against_setfit(both)
    assert row == {"corpus": "clinc150", "shots": 5, "times_quicker": 200.0, "accuracy_gained": 1.0}
    assert "| 200 | ≥ 50 | handful's accuracy is +1.0 points |" in ratio_table(both)
    assert against_setfit(both[:1]) == []


def test_a_ratio_is_that_of_the_medians():
    from peer_ratios import ratio_record  # pyright: ignore[reportMissingImports]
    from peer_tables import ratio_table  # pyright: ignore[reportMissingImports]

    found = ratio_record("parse", [0.006, 0.003, 0.0031], [0.002, 0.0025, 0.009])
    assert (found["ratio"], found["milliseconds"], found["against_milliseconds"]) == (1.24, 3.1, 2.5)
    shown = ratio_table([{"corpus": "clinc150", "shots": 10, **found}])
    assert "(clinc150, 10 examples an intent) | 1.24 | ≤ 1.25 | 3.1 ms against 2.5 ms |" in shown


def test_points_of_the_plot_are_systems_that_name_intents():
    from peers_plot import points  # pyright: ignore[reportMissingImports]

    crf = record("CRF", 0.0)
    del crf["intent_accuracy"]
    assert points([crf, record("nlp.js", 70.0, seconds=0.2)]) == [
        {"bot": "clinc150, 5 examples an intent", "system": "nlp.js", "seconds": 0.2, "accuracy": 70.0}
    ]
