from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics import f1_score

from handful.parser.parse import FALLBACK
from handful.report.assessment import Assessment, Confused, Row, assess, confidence_bins, expected_calibration_error
from handful.report.cases import Case, Fault
from handful.types import Slot, Utterance, Word
from report.parses import case, parse, utterance


@pytest.fixture
def mixed() -> Assessment:
    return assess(
        [
            case("fly to [Rome](city)", "fly", "fly to [Rome](city)", "fly", 0.95),
            case("fly to [New York](city)", "fly", "fly to New [York](city)", "fly", 0.85, sure=0.6),
            case("fly to [Oslo](city) [now](date)", "fly", "fly to [Oslo](city) now", "fly", 0.75),
            case("eat in [Rome](city)", "dine", "eat in [Rome](city)", "fly", 0.65),
            case("eat now", "dine", "eat now", "fly", 0.55),
            case("hello", "greet", "hello", "greet", 0.35, rejected=True),
            case("what is love", FALLBACK, "what is love", "greet", 0.2, rejected=True),
        ]
    )


def test_the_figures(mixed: Assessment):
    assert mixed.intent_accuracy == pytest.approx(4 / 7)
    assert mixed.joint_accuracy == pytest.approx(2 / 7)
    assert (mixed.spans.right, mixed.spans.predicted, mixed.spans.gold) == (3, 4, 5)
    assert mixed.slot_f1 == pytest.approx(6 / 9)
    assert (mixed.rejected, mixed.rejected_though_guessed) == (2, 1)


def test_rows_from_the_worst_up(mixed: Assessment):
    assert mixed.intents == (
        Row("dine", 0, 0, 2),
        Row("greet", 0, 0, 1),
        Row(FALLBACK, 1, 2, 1),
        Row("fly", 3, 5, 3),
    )
    dine, *_, fly = mixed.intents
    assert (dine.precision, dine.recall, dine.f1) == (None, 0.0, 0.0), "what was never said has no precision"
    assert (fly.precision, fly.recall, fly.f1) == pytest.approx((0.6, 1.0, 0.75))
    assert mixed.slots == (Row("date", 0, 0, 1), Row("city", 3, 4, 4))


def test_what_is_rejected_has_a_column_of_its_own_and_no_row_unless_it_was_meant(mixed: Assessment):
    assert mixed.confused[-1] == Confused("greet", FALLBACK, 1)
    assert mixed.confusion[0] == Confused("fly", "fly", 3)
    assert mixed.confused[0] == Confused("dine", "fly", 2)
    only = assess([case("hello", "greet", "hello", "greet", 0.3, rejected=True)])
    assert [row.name for row in only.intents] == ["greet"]


def test_the_worst_errors_come_first(mixed: Assessment):
    found = [(error.utterance.text, error.fault, error.sureness) for error in mixed.errors]
    assert found == [
        ("eat in Rome", Fault.INTENT, 0.65),
        ("eat now", Fault.INTENT, 0.55),
        ("hello", Fault.REJECTED, 0.75),
        ("fly to New York", Fault.SLOTS, 0.6),
        ("fly to Oslo now", Fault.SLOTS, 0.0),
    ]


def test_confidences_are_those_of_the_best_guess(mixed: Assessment):
    """The rejected greeting was guessed right; the question was not, for no guess could be."""
    by_low = {own.low: own for own in mixed.bins}
    assert (by_low[0.3].count, by_low[0.3].right) == (1, 1)
    assert (by_low[0.2].count, by_low[0.2].right) == (1, 0)
    gaps = [0.05, 0.15, 0.25, 0.65, 0.55, 0.65, 0.2]
    assert mixed.calibration_error == pytest.approx(sum(gaps) / 7)


def test_a_bin_holds_its_lower_edge_and_the_last_one_both():
    bins = confidence_bins([case("a", "x", "a", "x", c) for c in (0.0, 0.1, 0.5, 1.0)], 10)
    assert [own.count for own in bins] == [1, 1, 0, 0, 0, 1, 0, 0, 0, 1]
    assert bins[2].accuracy is None
    assert bins[2].confidence is None


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=30), st.integers(1, 20))
def test_every_confidence_is_in_one_bin_and_the_error_is_a_share(told: list[tuple[float, bool]], count: int):
    bins = confidence_bins([case("a", "x", "a", "x" if right else "y", sure) for sure, right in told], count)
    assert sum(own.count for own in bins) == len(told)
    assert sum(own.right for own in bins) == sum(right for _, right in told)
    assert all(own.low - 1e-9 <= own.confidence <= own.high + 1e-9 for own in bins if own.confidence is not None)
    assert 0.0 <= expected_calibration_error(bins) <= 1.0


LABELS = st.lists(st.sampled_from(["", "city", "date"]), min_size=4, max_size=4)  # a slot of one word, or none


@given(st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=6))
def test_slot_f1_is_seqevals(rows: list[tuple[list[str], list[str]]]):
    def marked(labels: list[str]) -> str:
        return " ".join(f"[w{n}]({label})" if label else f"w{n}" for n, label in enumerate(labels))

    def tags(labels: list[str]) -> list[str]:
        return [f"B-{label}" if label else "O" for label in labels]

    found = assess([case(marked(gold), "x", marked(said), "x") for gold, said in rows])
    if found.slot_f1 is None:
        assert not any(label for pair in rows for labels in pair for label in labels)
    elif found.spans.gold and found.spans.predicted:
        gold_tags, said_tags = [tags(gold) for gold, _ in rows], [tags(said) for _, said in rows]
        assert found.slot_f1 == pytest.approx(f1_score(gold_tags, said_tags))
    else:
        assert found.slot_f1 == 0.0


def test_a_bot_without_slots_has_no_slot_f1():
    assert assess([case("hello", "greet", "hello", "greet")]).slot_f1 is None
    assert assess([case("hello", "greet", "[hello](city)", "greet")]).slot_f1 == 0.0


def test_spans_are_compared_by_characters_where_a_file_has_other_words():
    """The file has one word where the parser has three; the slot is the same."""
    words = (Word("at", 0, 2), Word("9:30", 3, 7))
    told = Case(Utterance("at 9:30", words, "wake", (Slot("time", 1, 2),)), parse("at [9:30](time)", {"wake": 0.9}))
    assert told.fault is None


def test_a_text_in_which_the_parser_sees_no_words_is_a_rejection():
    text = "\u200d"
    gold = Utterance(text, (Word(text, 0, 1),), "greet")
    told = Case(gold, parse(text, {}))
    assert (told.said, told.fault, told.sureness) == (FALLBACK, Fault.REJECTED, 0.0)
    assert assess([told]).rejected == 1


def test_a_parse_of_something_else_is_no_answer():
    with pytest.raises(ValueError, match="no answer"):
        Case(utterance("hello", "greet"), parse("bye", {"greet": 0.9}))


def test_nothing_cannot_be_assessed():
    with pytest.raises(ValueError, match="nothing"):
        assess([])
