from __future__ import annotations

import json

from handful.parser.explain import Neighbour
from handful.report.assessment import assess
from handful.report.cases import Case
from handful.report.report import Against, CrossValidation, Report
from report.parses import case, utterance


def report(cases: list[Case]) -> Report:
    return Report("flights", 2, 1, 4, "joint_spans", CrossValidation(5, 7), assess(cases), ("mind the gap",))


def test_json_is_plain_and_tells_everything():
    wrong = case("fly to [Rome](city)", "fly", "fly [to](city) Rome", "greet", 0.70001, sure=0.5)
    near = Neighbour(utterance("fly to [Oslo](city)", "fly"), 0.87654)
    found = report([Case(wrong.utterance, wrong.parse, (near,)), case("hello", "greet", "hello", "greet", 0.95)])
    plain = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert plain["format"] == 1
    assert plain["bot"]["name"] == "flights"
    assert plain["asked"] == {"mode": "cross-validation", "folds": 5, "seed": 7, "utterances": 2}
    assert plain["notes"] == ["mind the gap"]
    assert plain["scores"]["intent_accuracy"] == 0.5
    assert plain["scores"]["slot_f1"] == 0.0
    assert plain["intents"][0] == {
        "name": "fly",
        "precision": None,
        "recall": 0.0,
        "f1": 0.0,
        "support": 1,
        "predicted": 0,
        "right": 0,
    }
    assert {"gold": "fly", "said": "greet", "count": 1} in plain["confusion"]
    assert sum(own["count"] for own in plain["calibration"]) == 2
    assert plain["errors"] == [
        {
            "text": "fly to Rome",
            "fault": "intent",
            "sureness": 0.7,
            "gold": {"intent": "fly", "slots": [{"slot": "city", "start": 7, "end": 11}]},
            "parsed": {
                "intent": "greet",
                "guess": "greet",
                "confidence": 0.7,
                "slots": [{"slot": "city", "start": 4, "end": 6, "confidence": 0.5}],
            },
            "nearest": [
                {
                    "text": "fly to Oslo",
                    "intent": "fly",
                    "slots": [{"slot": "city", "start": 7, "end": 11}],
                    "similarity": 0.8765,
                }
            ],
        }
    ]


def test_a_bot_without_slots_has_no_slot_f1_in_json_either():
    plain = report([case("hello", "greet", "hello", "greet")]).as_json()
    assert plain["scores"]["slot_f1"] is None
    assert plain["slots"] == plain["errors"] == []


def test_where_the_utterances_came_from():
    assert Against("held.yml").as_json() == {"mode": "against", "file": "held.yml"}
    assert "5 folds (seed 7)" in str(CrossValidation(5, 7))
