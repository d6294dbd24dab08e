from __future__ import annotations

from dataclasses import replace

import pytest

from handful.data.bio import slots_of
from handful.training.details import Details
from handful.types import Episode, Prediction, Ranking, Slot, Utterance


def utterance(text: str, intent: str, *slots: Slot) -> Utterance:
    return Utterance.from_words(text.split(), intent, slots)


def said(intent: str, confidence: float, tags: str) -> Prediction:
    """Tags with a role in their name have a slot with that role."""
    found = []
    for slot in slots_of(tags.split()):
        label, _, role = slot.label.partition(":")
        found.append(Slot(label, slot.start, slot.end, role=role or None))
    return Prediction(
        Ranking((intent, "other"), (confidence, 0.0)), tuple(tags.split()), tuple(found), (1.0,) * len(found)
    )


EPISODE = Episode(
    support=(
        utterance("a", "fly"),
        utterance("b", "fly"),
        utterance("c", "fly"),
        utterance("d", "ask"),
    ),
    query=(
        utterance("to rome now", "fly", Slot("city", 1, 2), Slot("time", 2, 3)),
        utterance("to new york", "fly", Slot("city", 1, 3, role="to")),
        utterance("rome", "ask", Slot("city", 0, 1)),
        utterance("why", "ask"),
    ),
    seed=0,
    index=0,
)
PREDICTIONS = [
    said("fly", 0.95, "O B-city B-place"),  # one right, one of another label
    said("ask", 0.55, "O B-city:to O"),  # too short, so wrong; the intent, too
    said("ask", 0.5, "I-city"),  # a span opens with I: as conlleval reads it, it is there
    said("fly", 1.0, "B-time"),
]


def test_counts_are_those_made_by_hand():
    details = Details()
    details.add(EPISODE, PREDICTIONS)
    assert details.record() == {
        "slots": {"city": [2, 2, 2], "city:to": [0, 1, 1], "place": [0, 1, 0], "time": [0, 1, 1]},
        # Examples of the intent; queries, right intents; spans right, said and gold.
        "shots": [[1, 2, 1, 1, 2, 1], [3, 2, 1, 1, 3, 3]],
        "calibration": [[0, 0.0, 0]] * 5 + [[2, 1.05, 1]] + [[0, 0.0, 0]] * 3 + [[2, 1.95, 1]],
    }


def test_episodes_add_up():
    """The second episode has two examples of `fly`, and the same queries."""
    details = Details()
    details.add(EPISODE, PREDICTIONS)
    details.add(replace(EPISODE, support=EPISODE.support[1:]), PREDICTIONS)
    found = details.record()
    assert found["slots"] == {"city": [4, 4, 4], "city:to": [0, 2, 2], "place": [0, 2, 0], "time": [0, 2, 2]}
    assert found["shots"] == [[1, 4, 2, 2, 4, 2], [2, 2, 1, 1, 3, 3], [3, 2, 1, 1, 3, 3]]
    assert found["calibration"][9] == [4, 3.9, 2]


@pytest.mark.parametrize(("confidence", "place"), [(0.0, 0), (0.0999, 0), (0.1, 1), (0.95, 9), (1.0, 9)])
def test_a_confidence_has_its_bin_and_certainty_the_last(confidence: float, place: int):
    details = Details()
    prediction = Prediction(Ranking(("ask", "other"), (confidence, 0.0)), ("O",), (), ())
    details.add(replace(EPISODE, query=EPISODE.query[3:]), [prediction])
    rows = details.record()["calibration"]
    assert [row[0] for row in rows] == [int(number == place) for number in range(10)]
    assert rows[place] == [1, pytest.approx(confidence, abs=1e-4), 1]


def test_nothing_added_is_a_record_all_the_same():
    assert Details().record() == {"slots": {}, "shots": [], "calibration": [[0, 0.0, 0]] * 10}


def test_a_prediction_for_each_query_is_needed():
    with pytest.raises(ValueError, match="shorter"):
        Details().add(EPISODE, PREDICTIONS[:-1])
