"""A model that counts what it is asked for, and parses compared in every field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import pytest

from handful.data.document import Document
from handful.encoders.encoding import Array
from handful.learners.span_model import DecodingSettings, Seen, SpanModel
from handful.model.span_maps import SpanMaps
from handful.parser.bot import Bot
from handful.parser.parser import Parse, Parser
from handful.types import Utterance, Words


class Counting:
    """A real model, and what it was asked for."""

    def __init__(self, model: SpanModel) -> None:
        self._model = model
        self.seen: list[Words] = []
        self.slot_names: list[Words] = []

    @property
    def config(self) -> DecodingSettings:
        return self._model.config

    @property
    def maps(self) -> SpanMaps:
        return self._model.maps

    def slot_name_means(self, slots: Sequence[Words]) -> Array:
        self.slot_names += slots
        return self._model.slot_name_means(slots)

    def see(self, sentences: Sequence[Words]) -> list[Seen]:
        self.seen += sentences
        return self._model.see(sentences)

    def undisturbed(self) -> AbstractContextManager[object]:
        return self._model.undisturbed()


def bot_of(*utterances: Utterance, **fields: object) -> Bot:
    return Bot("made up", Document(tuple(utterances), **fields))  # pyright: ignore[reportArgumentType]


def texts_of(parser: Parser) -> list[str]:
    return [u.text for u in parser.bot.document.utterances]


def assert_equal(found: Sequence[Parse], expected: Sequence[Parse]) -> None:
    """As near as fits end that began elsewhere: probabilities within 1e-3."""
    for mine, its in zip(found, expected, strict=True):
        assert (mine.text, mine.words, mine.rejected, mine.intent) == (its.text, its.words, its.rejected, its.intent)
        assert mine.ranking.names == its.ranking.names
        assert mine.ranking.confidences == pytest.approx(its.ranking.confidences, abs=1e-3)
        assert mine.in_scope == pytest.approx(its.in_scope, abs=1e-3)
        assert [(s.label, s.role, s.value, s.start, s.end) for s in mine.slots] == [
            (s.label, s.role, s.value, s.start, s.end) for s in its.slots
        ]
        assert [s.confidence for s in mine.slots] == pytest.approx([s.confidence for s in its.slots], abs=1e-3)


class Interrupted(Counting):
    """While it looks at a sentence, something else happens, as in another thread; once."""

    def __init__(self, model: SpanModel) -> None:
        super().__init__(model)
        self.meanwhile: Callable[[], object] | None = None

    def see(self, sentences: Sequence[Words]) -> list[Seen]:
        happens, self.meanwhile = self.meanwhile, None
        if happens is not None:
            happens()
        return super().see(sentences)
