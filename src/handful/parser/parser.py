"""Text in, intent and slots out; a bot that grows while it is used.

parser = Parser.load("bot.yml")
parser.parse("a flight to Lisbon")
parser.add("fly me to [Oslo](city)", intent="book_flight")
parser.save("bot.yml")
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from handful.data.bot_settings import BotSettings, Runtime, Threshold
from handful.errors import ConfigError, HandfulError
from handful.learners.span_model import Encodings
from handful.model.prototypes import Floats
from handful.parser.bot import Bot, load_bot
from handful.parser.calibration import calibrated
from handful.parser.changes import with_added, without_removed
from handful.parser.explain import Explanation, Neighbour, SpanNeighbour, explain
from handful.parser.matching import Matcher, matched_slots
from handful.parser.models import Model, Progress, model_for
from handful.parser.parse import FALLBACK, FilledSlot, Parse
from handful.parser.ready import EXPORTED, Ready, read_exported, read_ready, ready_folder, write_ready
from handful.parser.source import Source
from handful.parser.understanding import ENOUGH_EXAMPLES, Understanding
from handful.types import Prediction, Ranking, Slot, Utterance, Word
from handful.words import split_words

if TYPE_CHECKING:
    from handful.learners.learner import Learner
    from handful.learners.span_model import SpanModel
    from handful.training.shipped import ReadyName

__all__ = ["FALLBACK", "FilledSlot", "Parse", "Parser"]


class Parser:
    def __init__(
        self,
        bot: Bot,
        learner: Learner | SpanModel,
        *,
        identity: str = "",
        ready: Ready | None = None,
    ) -> None:
        """`identity` names the model; `ready` is what was kept of the bot with that model."""
        self._threshold: Threshold = bot.settings.threshold
        self._learner, self._identity = learner, identity
        self._source: Source | None = None  # the file that it was read from
        self._exported = False
        self._use(bot, ready or Ready(Encodings()))

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        learner: ReadyName = "joint_spans",
        runtime: Runtime | None = None,
        format: str | None = None,
    ) -> Self:
        """A parser from a bot file in any format that handful reads, or from the folder of an exported bot.

        `runtime` is "int8" (ONNX Runtime, the default) or "torch".
        """
        # The bot first: a typo in the file is told before an encoder is loaded.
        path = Path(path)
        if (path / EXPORTED).is_file():
            return cls.exported(path)
        return cls.of(load_bot(path, format), path, learner=learner, runtime=runtime)

    @classmethod
    def of(
        cls,
        bot: Bot,
        path: Path | None = None,
        *,
        learner: ReadyName = "joint_spans",
        runtime: Runtime | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """A parser of a bot that was read from `path`. What takes long is told to `progress`."""
        model = model_for(bot.settings, learner=learner, runtime=runtime, progress=progress)
        ready = None if path is None else read_ready(ready_folder(path), model.identity)
        parser = cls.with_model(bot, model, ready)
        parser._source = None if path is None else Source.of(path)
        return parser

    @classmethod
    def exported(cls, folder: Path, *, threads: int | None = None) -> Self:
        """A parser from a folder that `handful export` made: needs onnxruntime, tokenizers and numpy, and no more."""
        bot, model, ready = read_exported(folder, threads)
        parser = cls.with_model(bot, model, ready)
        parser._exported = True
        return parser

    @classmethod
    def with_model(cls, bot: Bot, model: Model, ready: Ready | None = None) -> Self:
        return cls(bot, model.learner, identity=model.identity, ready=ready)

    # -- parsing ---------------------------------------------------------------------------------------------------

    def parse(self, text: str) -> Parse:
        return self.parse_many([text])[0]

    def parse_many(self, texts: Sequence[str]) -> list[Parse]:
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise ConfigError("expected texts to parse: a list of strings")
        bot, understanding, matcher = self._state  # read once: another thread may add an example meanwhile
        split = [split_words(text) for text in texts]
        spoken = [(text, words) for text, words in zip(texts, split, strict=True) if words]
        hints = [matched_slots(matcher, text, words) for text, words in spoken] if matcher else None
        found = understanding.predict([tuple(word.text for word in words) for _, words in spoken], hints)
        predictions = iter(found)
        return [
            self._parse(text, words, next(predictions), bot, understanding)
            if words
            else Parse(text, (), Ranking((), ()), (), in_scope=0.0)
            for text, words in zip(texts, split, strict=True)
        ]

    def _parse(
        self, text: str, words: tuple[Word, ...], prediction: Prediction, bot: Bot, understanding: Understanding
    ) -> Parse:
        in_scope, rejected = 1.0, False
        if (confidence := understanding.confidence) is not None:
            in_scope = confidence.rejection.in_scope_probability(prediction)
            rejected = confidence.rejection.rejects(prediction, self.threshold)
            prediction = calibrated(prediction, confidence.calibration)
        slots = []
        for slot, sure in zip(prediction.slots, prediction.slot_confidences, strict=True):
            start, end = words[slot.start].start, words[slot.end - 1].end
            value = bot.canonical_value(slot.key, text[start:end])
            slots.append(FilledSlot(slot.label, value, start, end, sure, slot.role))
        return Parse(text, words, prediction.ranking, tuple(slots), in_scope, rejected)

    # -- why -------------------------------------------------------------------------------------------------------

    def explain(self, text: str, count: int = 3) -> Explanation:
        """The nearest examples, the slots' nearest neighbours, and what tells the intent from the runner-up."""
        return explain(self, text, count)

    def nearest(
        self, texts: Sequence[str], count: int = 3, *, intent: str | None = None
    ) -> list[tuple[Neighbour, ...]]:
        """Of each text the examples that it is likest to, of one intent or of all."""
        understanding = self._state[1]
        examples = understanding.utterances
        open_rows = np.array(
            [row for row, u in enumerate(examples) if intent is None or u.intent == intent], dtype=np.intp
        )
        spoken = [tuple(word.text for word in split_words(text)) for text in texts]
        asked = [words for words in spoken if words]
        if not asked or not len(open_rows):
            return [() for _ in texts]
        cosines = understanding.sentence_vectors(asked) @ understanding.example_vectors[open_rows].T
        order = np.argsort(-cosines, axis=1, kind="stable")[:, :count]
        found = iter(
            tuple(Neighbour(examples[open_rows[place]], float(row[place])) for place in places)
            for row, places in zip(cosines, order, strict=True)
        )
        return [next(found) if words else () for words in spoken]

    def nearest_spans(self, parse: Parse, count: int = 3) -> list[tuple[SpanNeighbour, ...]]:
        """Of each slot of a parse the slots of examples that its words are likest to."""
        understanding = self._state[1]
        starts = {word.start: place for place, word in enumerate(parse.words)}
        ends = {word.end: place + 1 for place, word in enumerate(parse.words)}
        spans = [Slot(slot.label, starts[slot.start], ends[slot.end], role=slot.role) for slot in parse.slots]
        found = understanding.nearest_spans(tuple(word.text for word in parse.words), spans, count)
        return [
            tuple(SpanNeighbour(understanding.utterances[number], slot, sure) for number, slot, sure in own)
            for own in found
        ]

    def sentence_vectors(self, texts: Sequence[str]) -> Floats:
        """Of length one; the texts must have words. [n, d]."""
        return self._state[1].sentence_vectors([tuple(word.text for word in split_words(text)) for text in texts])

    def leave_one_out(self) -> list[Prediction | None]:
        """What is said of each example by a bot without it; None where the learner cannot be asked that, and for some
        of the examples of a bot with very many."""
        understanding = self._state[1]
        held = understanding.held_out(ENOUGH_EXAMPLES)
        if held is None:
            return [None] * len(understanding.utterances)
        known = dict(zip(held.numbers, held.predictions, strict=True))
        return [known.get(number) for number in range(len(understanding.utterances))]

    def calibrate(self) -> None:
        """Sets confidences now; otherwise the first parse after a change does it."""
        _ = self._state[1].confidence

    @property
    def can_reject(self) -> bool:
        """Can it tell what is out of scope? The learner `prototypes` cannot."""
        return self._state[1].confidence is not None

    @property
    def threshold(self) -> Threshold:
        return self._threshold

    @threshold.setter
    def threshold(self, value: Threshold) -> None:
        try:
            self._threshold = BotSettings(threshold=value).threshold
        except (TypeError, ValueError):
            raise ConfigError(f"found the threshold {value!r}, expected auto, off, or a number from 0 to 1") from None

    # -- changing --------------------------------------------------------------------------------------------------

    @property
    def bot(self) -> Bot:
        return self._state[0]

    @property
    def identity(self) -> str:
        """Names the model: the same identity, the same numbers."""
        return self._identity

    @property
    def learner(self) -> Learner | SpanModel:
        return self._learner

    def add(self, *examples: Utterance | str, intent: str | None = None) -> None:
        """Examples, as values or as marked text with the intent they are of: `"fly to [Oslo](city)"`. Only what is new
        is encoded; the heads are fitted anew."""
        bot, understanding, _ = self._state
        self._use(with_added(bot, examples, intent), Ready(understanding.encodings, understanding.heads))

    def remove(self, *, intent: str | None = None, slot: str | None = None, text: str | None = None) -> int:
        """All examples of an intent, all annotations of a slot, or the examples with just this text (of the intent,
        where one is given). Returns how many examples are gone or changed."""
        bot, understanding, _ = self._state
        changed, count = without_removed(bot, intent, slot, text)
        self._use(changed, Ready(understanding.encodings, understanding.heads))
        return count

    def with_examples(self, utterances: Iterable[Utterance]) -> Self:
        """Another parser with the same model and settings, and these examples; what is known is not encoded again."""
        bot, understanding, _ = self._state
        document = replace(bot.document, utterances=tuple(utterances), example_metadata={}, places=())
        other = type(self)(
            replace(bot, document=document),
            self._learner,
            identity=self._identity,
            ready=Ready(understanding.encodings, understanding.heads),
        )
        other.threshold = self.threshold
        return other

    def with_bot(self, bot: Bot) -> Self:
        """A parser of another bot with the same model. What is known of sentences that both have is not encoded again,
        and what only the old one has is let go."""
        understanding = self._state[1]
        known = understanding.encodings.only(utterance.sentence for utterance in bot.document.utterances)
        other = type(self)(bot, self._learner, identity=self._identity, ready=Ready(known, understanding.heads))
        other._state[1].forget_labels()
        return other

    def save(self, path: str | Path) -> list[str]:
        """Writes the bot as Rasa-style YAML, and beside it what the model sees of its examples, so that the next start
        encodes nothing. Returns what the format cannot hold. Comments and includes of a file it was read from are not
        kept. A file that has changed since it was read, or that has more in it than a bot, is not overwritten."""
        from handful.data.formats import rasa_yaml

        path = Path(path)
        if self._exported:
            raise ConfigError("an exported bot cannot be saved as a bot's file: change the bot it was made of")
        if path.suffix.lower() not in {".yml", ".yaml"}:
            raise ConfigError(
                f"{path}: found the ending '{path.suffix}', expected .yml or .yaml: a bot is saved as YAML"
            )
        if self._source is not None:
            self._source.refuse_loss(path, self.bot)
        bot, understanding, _ = self._state
        settings = replace(bot.settings, threshold=self.threshold)
        lost = rasa_yaml.write(replace(bot.document, settings=settings), path)
        if understanding.confidence is not None:
            try:
                write_ready(ready_folder(path), self.ready, self._identity)
            except HandfulError as error:  # the bot itself is saved
                warnings.warn(str(error), stacklevel=2)
        self._source = Source.of(path)
        return lost

    @property
    def ready(self) -> Ready:
        """What need not be computed again."""
        bot, understanding, _ = self._state
        return Ready.of(bot, understanding)

    def _use(self, bot: Bot, ready: Ready) -> None:
        """What is ready of this very bot is used as it is; of another one, its heads are where the fit begins."""
        same = ready.is_of(bot)
        understanding = Understanding(
            self._learner,
            bot.document.utterances,
            bot.descriptions,
            ready.encodings,
            ready.confidence if same else None,
            heads=ready.heads if same else None,
            start=None if same else ready.heads,
        )
        self._state = (bot, understanding, Matcher.of(bot))
