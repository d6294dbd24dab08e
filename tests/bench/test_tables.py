from __future__ import annotations

import pytest

from bench.made import record, settings
from handful.bench.cells import by_cell, difference_from_base
from handful.bench.tables import tables

BASE = record("(w,w)", [80.0, 60.0], [30.0, 50.0])


def lines(records: list[dict], title: str) -> list[dict[str, str]]:
    (table,) = [table for table in tables(records) if table.title.startswith(title)]
    return [dict(zip(table.header, line, strict=True)) for line in table.lines]


def test_a_line_has_ours_the_papers_and_the_paired_difference():
    ours = record("proto", [82.0, 62.0], [20.0, 40.0])
    (proto, base) = lines([BASE, ours], "Table 3")
    assert proto["row"] == "proto"
    assert (proto["encoder"], proto["mode"], proto["budget"], proto["data"]) == ("minilm", "single", "500", "ATIS")
    assert proto["ours"] == "72.0 ± 1.5"
    assert proto["paper"] == "58.8"
    assert proto["less (w,w)"] == "+2.0 [+2.0, +2.0] p<0.001"
    assert (base["row"], base["less (w,w)"], base["seeds"]) == ("(w,w)", "", "1")
    (proto, base) = lines([BASE, ours], "Table 5")
    assert (proto["strict"], proto["released"]) == ("30.0 ± 1.5", "40.0 ± 1.5")
    assert proto["paper"] == "37.6, scorer unknown"
    assert base["paper"] == "63.6"
    assert proto["strict less (w,w)"].startswith("-10.0")
    assert proto["released less (w,w)"].startswith("-10.0")


def test_several_seeds_are_a_mean_and_a_spread():
    (line,) = lines(
        [record("proto", [80.0, 60.0], [30.0] * 2), record("proto", [90.0] * 2, [40.0] * 2, train_seed=1)], "Table 3"
    )
    assert (line["ours"], line["seeds"]) == ("80.0 ± 14.1 std", "2")


def test_tables_hold_what_belongs_to_them():
    others = [
        record("proto", [1.0], [1.0], split="dev"),
        record("proto", [1.0], [1.0], corpus="clinc150"),
        record("proto", [1.0], [1.0], encoder="some-folder"),
        record("proto", [1.0], [1.0], episode_seed=5),
        record("proto", [1.0], [1.0], decoding="independent"),
        {**record("proto", [1.0], [1.0], mode="untrained"), "row": "prototypes"},
    ]
    assert tables(others) == []
    assert [table.title[:7] for table in tables([record("proto", [1.0], [1.0], u_max=100)])] == [
        "Table 4",
        "Table 6",
        "Cost",
    ]


def test_the_ablation_stands_alone_with_what_it_is_an_ablation_of():
    records = [record(row, [70.0, 50.0], [30.0, 20.0]) for row in ("intent-to-slot", "(o,o)", "proto")]
    assert [line["row"] for line in lines(records, "Ablation: slot")] == ["(o,o)", "intent-to-slot"]
    assert [line["row"] for line in lines(records, "Table 5")] == ["proto", "(o,o)"]


def test_a_measurement_with_details_takes_the_place_of_one_without():
    old = {key: value for key, value in BASE.items() if key != "details"}
    old["intent_accuracy"] = {**old["intent_accuracy"], "mean": 1.0}
    for records in ([old, BASE], [BASE, old]):
        ((found,),) = by_cell(records).values()
        assert found is BASE


def test_budgets_and_tuning_are_lines_of_their_own():
    longer = record("(w,w)", [80.0] * 2, [30.0] * 2, config=settings("(w,w)", epochs=10))
    tuned = record("joint_spans", [80.0] * 2, [30.0] * 2, tuning_steps=5)
    untuned = record("joint_spans", [80.0] * 2, [30.0] * 2, tuning_steps=0)
    found = lines([BASE, longer, tuned, untuned], "Table 3")
    assert [(line["row"], line["budget"]) for line in found] == [
        ("(w,w)", "500"),
        ("(w,w)", "1,000"),
        ("joint_spans", "500"),
        ("joint_spans, tuned", "500"),
    ]


def test_other_settings_are_another_line_and_no_base():
    other = settings("(w,w)")
    other["optimiser"] = {**other["optimiser"], "learning_rate": 1.0}
    records = [BASE, record("(w,w)", [10.0] * 2, [1.0] * 2, config=other), record("proto", [82.0, 62.0], [20.0, 40.0])]
    found = {line["row"]: line for line in lines(records, "Table 3")}
    assert set(found) == {"proto", "(w,w)", "(w,w), optimiser.learning_rate=1.0"}
    assert found["proto"]["less (w,w)"].startswith("+2.0")
    few = record("(w,w)", [80.0, 60.0], [30.0, 50.0], episodes=2)
    assert [line["row"] for line in lines([few], "Table 3")] == ["(w,w), 2 test episodes"]


def test_a_setting_that_came_later_makes_no_line_of_its_own():
    older = settings("(w,w)")
    del older["optimiser"]["new_weights_rate"], older["train_splits"]
    found = lines([BASE, record("(w,w)", [80.0, 60.0], [30.0] * 2, config=older, train_seed=1)], "Table 3")
    assert [line["seeds"] for line in found] == ["2"]
    strange = record("(w,w)", [80.0, 60.0], [30.0] * 2, config={**older, "made_up": 3})
    assert "settings of another version" in lines([strange], "Table 3")[0]["row"]


def test_the_base_is_of_the_same_budget_or_else_of_the_nearest():
    def base(epochs: int, accuracy: float) -> dict:
        return record("(w,w)", [accuracy] * 2, [30.0] * 2, config=settings("(w,w)", epochs=epochs))

    ours = record("proto", [70.0] * 2, [30.0] * 2)
    assert lines([base(1, 40.0), base(5, 60.0), base(10, 50.0), ours], "Table 3")[0]["less (w,w)"].startswith("+10.0")
    assert lines([base(1, 40.0), base(6, 55.0), ours], "Table 3")[0]["less (w,w)"].startswith("+15.0")


@pytest.mark.parametrize(
    "changes",
    [{"data_version": "d2"}, {"train_seed": 1}, {"encoder": "glove"}, {"u_max": 100}, {"query_cap": 20}],
)
def test_other_episodes_weights_or_encoders_are_not_paired(changes: dict):
    cells = by_cell([BASE, record("proto", [82.0, 62.0], [20.0, 40.0], **changes)])
    assert [difference_from_base(cells, cell, "intent_accuracy") for cell in cells] == [None, None]


def test_joint_training_is_compared_with_its_like_or_else_with_single():
    joint = {"mode": "joint", "train_corpus": "snips+atis+top"}
    ours = record("proto", [82.0, 62.0], [20.0, 40.0], **joint)
    base = record("(w,w)", [70.0, 50.0], [30.0, 50.0], **joint)

    def gains(*records: dict) -> dict[str, float | None]:
        cells = by_cell(records)
        found = {f"{c.row} {c.mode}": difference_from_base(cells, c, "intent_accuracy") for c in cells}
        return {name: None if gain is None else gain.mean for name, gain in found.items()}

    assert gains(BASE, ours) == {"(w,w) single": None, "proto joint": 2.0}
    assert gains(BASE, ours, base) == {"(w,w) single": None, "proto joint": 12.0, "(w,w) joint": -10.0}


def test_cost_stands_beside_quality():
    (line,) = lines([record("finetune", [70.0], [30.0], tuning_steps=10)], "Cost")
    assert (line["intents"], line["slots, strict"]) == ("70.0", "30.0")
    assert (line["trained, s"], line["best after"], line["steps on a support"]) == ("61", "400", "10")
    assert (line["scored, s"], line["peak, MB"]) == ("7", "1,234")
    (line,) = lines([record("proto", [70.0], [30.0], peak_mb=None)], "Cost")
    assert (line["steps on a support"], line["peak, MB"]) == ("0", "–")


def test_markdown_is_a_table():
    text = tables([BASE])[0].markdown()
    assert text.startswith("## Table 3: intent accuracy, U_max 20\n\n| row | encoder |")
    assert len({line.count("|") for line in text.splitlines()[2:]}) == 1
