from __future__ import annotations

import json
from pathlib import Path

import pytest

from handful.encoders.memory import RememberingEncoder
from handful.errors import DataError
from handful.learners.prototypes import PrototypeLearner
from handful.parser.bot import starter_bot
from handful.parser.parser import Parser
from handful.training.shipped import READY, ready_learner


@pytest.fixture(scope="module", params=[*READY, "int8"])
def parser(minilm: RememberingEncoder, request: pytest.FixtureRequest) -> Parser:
    if request.param == "int8":
        return Parser.of(starter_bot())
    learner = PrototypeLearner(minilm) if request.param == "prototypes" else ready_learner(request.param)
    return Parser(starter_bot(), learner)


@pytest.mark.parametrize(
    ("text", "intent", "slots"),
    [
        ("send 35 dollars to Johanna", "send_money", {"amount": "35 dollars", "person": "Johanna"}),
        ("Play some REGGAE in the bathroom", "play_music", {"genre": "REGGAE", "room": "bathroom"}),
        (
            "will it be warm in Barcelona next weekend",
            "check_weather",
            {"city": "Barcelona", "date": "next weekend"},
        ),
        ("switch off the radio in the kitchen", "switch_device", {"device": "radio", "room": "kitchen"}),
    ],
)
def test_sentences_it_has_never_seen(parser: Parser, text: str, intent: str, slots: dict[str, str]):
    found = parser.parse(text)
    assert found.intent == intent
    assert {slot.label: slot.value for slot in found.slots} == slots
    assert 0 < found.confidence <= 1
    assert all(text[slot.start : slot.end] == slot.value for slot in found.slots)


def test_offsets_are_those_of_the_text_as_written(parser: Parser):
    text = "  😀 send\t35   dollars ,to  JOHANNA!"
    found = parser.parse(text)
    amount, person = found.slots
    assert text[amount.start : amount.end] == "35   dollars"
    assert text[person.start : person.end] == "JOHANNA"


def test_synonyms_give_the_value_they_stand_for(parser: Parser):
    found = parser.parse("book a table for two at Casa Verde at noon")
    assert {slot.label: slot.value for slot in found.slots} == {
        "party_size": "2",
        "place": "Casa Verde",
        "time": "12:00",
    }


def test_many_texts_are_parsed_as_each_alone(parser: Parser):
    texts = ["where is my parcel", "", "put on Nina Simone", "   ", "will it rain"]
    together = parser.parse_many(texts)
    for text, found in zip(texts, together, strict=True):
        alone = parser.parse(text)
        assert (found.intent, [s.value for s in found.slots]) == (alone.intent, [s.value for s in alone.slots])
        assert found.confidence == pytest.approx(alone.confidence, abs=1e-5)


def test_a_text_without_words_has_no_intent(parser: Parser):
    for text in ("", " \t", "\u200e"):
        found = parser.parse(text)
        assert found.intent is None
        assert found.confidence == 0.0
        assert found.as_json()["intent"] == {"name": None, "confidence": 0.0}


def test_a_very_long_text_is_parsed_whole(parser: Parser):
    """Longer than the encoder reads at once: what stands at the end is found, too."""
    text = "well , you know , " * 179 + "send 35 dollars to Johanna"
    found = parser.parse(text)
    assert len(found.words) == 900
    assert found.slots[-1].value == "Johanna"
    assert found.slots[-1].end == len(text)
    assert parser.parse("send 35 dollars to Johanna " * 180).ranking.names[0] == "send_money"


def test_a_ranking_names_every_intent_once_and_sums_to_one(parser: Parser):
    found = parser.parse("play jazz")
    assert sorted(ranked.name for ranked in found.ranking) == sorted(parser.bot.intents)
    assert sum(ranked.confidence for ranked in found.ranking) == pytest.approx(1.0, abs=1e-5)
    assert json.loads(json.dumps(found.as_json()))["intent_ranking"][0]["name"] == "play_music"


def test_a_bot_with_a_mistake_is_told_before_anything_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("handful.parser.parser.model_for", lambda *_, **__: pytest.fail("a model was loaded"))
    file = tmp_path / "bot.yml"
    file.write_text("nlu:\n- intent: a\n  examples: |\n    - to [Rome(city)\n")
    with pytest.raises(DataError, match=r"bot\.yml:4"):
        Parser.load(file)


def test_load_takes_a_path_and_the_package_offers_it(tmp_path: Path):
    import handful

    file = tmp_path / "bot.yml"
    intents = {"yes": "sure", "no": "never"}
    file.write_text("nlu:\n" + "".join(f"- intent: {i}\n  examples: |\n    - {text}\n" for i, text in intents.items()))
    assert handful.Parser.load(str(file)).parse("certainly").intent == "yes"
