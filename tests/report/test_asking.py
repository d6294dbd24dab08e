"""A parser is asked: a real one, on an encoder that is small and untrained."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from handful.data.document import Document
from handful.encoders.choose import TransformerConfig
from handful.errors import ConfigError
from handful.learners.choose import build_trained
from handful.learners.joint_spans import JointSpansConfig
from handful.parser.bot import Bot
from handful.parser.parse import FALLBACK
from handful.parser.parser import Parser
from handful.report.asking import Answered, already_examples, ask, cross_validate, never_asked, strangers
from handful.report.cases import Case
from handful.report.layout import layout
from handful.types import Utterance
from report.parses import utterance

EXAMPLES = (
    utterance("fly to [boston](city)", "fly"),
    utterance("fly to [rome](city)", "fly"),
    utterance("fly now to [rome](city)", "fly"),
    utterance("now !", "wait"),
    utterance("now a now", "wait"),
    utterance("now now", "wait"),
    utterance("!", "alone"),
)


@pytest.fixture
def parser(tiny_bert: Path) -> Parser:
    encoder = TransformerConfig(name=str(tiny_bert), frozen_layers=1)
    learner = build_trained(JointSpansConfig(width=8), encoder, seed=0, cache=None, remember=False)
    return Parser(Bot("tiny", Document(EXAMPLES)), learner)


def cases_of(events: Iterable[Answered]) -> list[Case]:
    return [case for event in events for case in event.cases]


def test_every_example_but_a_lonely_one_is_asked_for_once_and_never_of_a_bot_that_has_it(parser: Parser):
    events = list(cross_validate(parser, 3, 0))
    cases = cases_of(events)
    assert sorted(case.utterance.text for case in cases) == sorted(u.text for u in EXAMPLES[:-1])
    assert never_asked(EXAMPLES) == 1
    for case in cases:
        assert case.utterance not in [near.utterance for near in case.nearest]
        assert bool(case.nearest) == (case.fault is not None), "what is right needs no explaining"
    assert [(event.done, event.fold) for event in events] == [(2, 1), (4, 2), (6, 3)]
    assert all(event.total == 6 and event.folds == 3 for event in events)


def test_a_seed_deals_the_same_shares(parser: Parser):
    first, again, other = (cases_of(cross_validate(parser, 3, seed)) for seed in (5, 5, 6))
    assert first == again
    assert [case.utterance for case in first] != [case.utterance for case in other]


def test_a_fold_says_what_a_bot_of_its_examples_says(parser: Parser):
    """Whatever is kept from the whole bot, nothing of the held-out examples may be."""
    [case, *_] = cases_of(cross_validate(parser, 6, 0))
    kept = tuple(own for own in EXAMPLES if own != case.utterance)
    alone = cases_of(ask(parser.with_examples(kept), [case.utterance]))[0]
    assert alone.parse == case.parse
    assert alone.nearest == case.nearest


def test_a_file_is_asked_for_in_order(parser: Parser):
    held = [utterance(f"fly to {'now ' * n}!", "fly") for n in range(100)]
    events = list(ask(parser, held))
    assert [case.utterance for case in cases_of(events)] == held
    assert [event.done for event in events] == [64, 100]


def test_a_bot_with_nothing_to_ask_for(parser: Parser):
    with pytest.raises(ConfigError, match="--against"):
        next(cross_validate(parser.with_examples(EXAMPLES[-1:] + EXAMPLES[:1]), 5, 0))


def test_what_a_bot_does_not_know_is_counted_by_utterance():
    held = [
        utterance("sing [a](mood) [b](mood)", "sing"),
        utterance("sing", "sing"),
        utterance("fly to [rome](city) [now](date)", "fly"),
        utterance("what", FALLBACK),
    ]
    intents, slots = strangers(Bot("tiny", Document(EXAMPLES)), held)
    assert (intents.names, intents.utterances) == (("sing",), 2)
    assert (slots.names, slots.utterances) == (("mood", "date"), 2)
    assert str(slots).startswith("2 slots of the file are unknown to the bot and can only be wrong, in 2 utterances")
    assert strangers(Bot("tiny", Document(EXAMPLES)), EXAMPLES) == []


def test_examples_in_the_file_are_found_whatever_their_case():
    held = [utterance("Fly to  Rome", "fly"), utterance("fly to oslo", "fly")]
    assert already_examples(Bot("tiny", Document(EXAMPLES)), held) == 1


def test_the_map_has_every_example_once_and_the_errors_of_a_file_beside_them(parser: Parser):
    wrong = Utterance.from_words(["sing"], "sing")
    drawn = layout(parser, cases_of(ask(parser, [wrong])))
    assert [spot.text for spot in drawn.spots] == [*(own.text for own in EXAMPLES), "sing"]
    assert [spot.example for spot in drawn.spots] == [True] * 7 + [False]
    assert drawn.spots[-1].fault is not None
    assert np.isfinite([(spot.x, spot.y) for spot in drawn.spots]).all()
    assert drawn.examples == 7
    own = cases_of(cross_validate(parser, 3, 0))
    errors = [case for case in own if case.fault is not None]
    marked = {spot.text for spot in layout(parser, errors).spots if spot.fault is not None}
    assert marked == {case.utterance.text for case in errors}
