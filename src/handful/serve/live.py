"""Bots as they are now, ready to parse. Before every batch the store is asked, cheaply, whether a bot has moved on.

So a change that was acknowledged, by whichever server on the same store, is used by the next parse. What a bot's
examples look like to the model is computed once for each server and example, and kept as long as the bot has them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from handful.parser.bot import Bot
from handful.parser.models import Model
from handful.parser.parse import Parse
from handful.parser.parser import Parser
from handful.parser.ready import Ready, ReadyCache
from handful.places import cache_dir
from handful.serve.batching import Parsed
from handful.serve.store import Store
from handful.serve.store.values import Content, Stamp, StoredExample
from handful.types import Ranking
from handful.words import split_words


@dataclass(frozen=True, slots=True, eq=False)
class LiveBot:
    """A bot at one version. `parser` is None for a bot without examples: there is nothing to compare with."""

    content: Content
    parser: Parser | None

    @property
    def stamp(self) -> Stamp:
        return self.content.stamp

    def parse(self, texts: Sequence[str]) -> Parsed:
        if self.parser is None:
            return Parsed(self.stamp.version, [nothing(text) for text in texts])
        return Parsed(self.stamp.version, self.parser.parse_many(texts))


@dataclass(frozen=True, slots=True, eq=False)
class OwnModel:
    """Of a bot whose file is served: the model that its settings name, and what was kept of it."""

    model: Model
    ready: Ready | None = None


class LiveBots:
    def __init__(
        self, store: Store, model: Callable[[], Model], own: Mapping[str, OwnModel] | None = None, *, most: int = 50
    ) -> None:
        """`model` loads the model of all bots but those that have their `own`; it is called once."""
        self._store, self._load, self._own, self._most = store, model, dict(own or {}), most
        # Twice as many as are in memory: other servers of this machine have their own bots.
        self._cache = ReadyCache(cache_dir() / "bots", most=2 * most)
        self._bots: OrderedDict[str, LiveBot] = OrderedDict()
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()
        self._model: Model | None = None
        self.failed = False  # to load it
        self.watch: Callable[[int], object] = lambda _: None  # is told how many bots are in memory

    @property
    def ready(self) -> bool:
        return self._model is not None

    def model(self) -> Model:
        with self._guard:
            if self._model is None:
                self._model = self._load()
            return self._model

    def parse(self, name: str, texts: Sequence[str]) -> Parsed:
        return self.now(name).parse(texts)

    def now(self, name: str) -> LiveBot:
        """The bot as it is in the store at this moment."""
        stamp = self._store.stamp(name)
        bot = self._bots.get(name)
        if bot is not None and bot.stamp == stamp:
            self._used(name, bot)
            return bot
        with self._lock(name):  # whoever comes second finds what the first has made
            bot = self._bots.get(name)
            if bot is not None and bot.stamp == self._store.stamp(name):
                return bot
            fresh = self._built(name, bot)
            self._used(name, fresh)
            return fresh

    def _lock(self, name: str) -> threading.Lock:
        with self._guard:
            if len(self._locks) > 10 * self._most:  # of bots that came and went
                self._locks = {own: lock for own, lock in self._locks.items() if lock.locked()}
            return self._locks.setdefault(name, threading.Lock())

    def _built(self, name: str, before: LiveBot | None) -> LiveBot:
        known: dict[int, StoredExample] = {}
        if before is not None:
            known = {example.id: example for example in before.content.examples}
        content = self._store.read(name, known=known)
        if not content.examples:
            return LiveBot(content, None)
        bot = Bot(name, content.document())
        if before is not None and before.parser is not None and before.stamp.bot == content.stamp.bot:
            return LiveBot(content, self._kept(before.parser.with_bot(bot)))
        own = self._own.get(name)
        model = self.model() if own is None else own.model
        ready = None if own is None or own.ready is None or not own.ready.is_of(bot) else own.ready
        parser = Parser.with_model(bot, model, ready or self._cache.read(bot, model.identity))
        return LiveBot(content, self._kept(parser))

    def _kept(self, parser: Parser) -> Parser:
        """An unchanged bot is fitted once, whatever starts anew."""
        if parser.can_reject:  # with confidences, which the first parse would set
            self._cache.write(parser.ready, parser.identity)
        return parser

    def _used(self, name: str, bot: LiveBot) -> None:
        with self._guard:
            self._bots[name] = bot
            self._bots.move_to_end(name)
            while len(self._bots) > self._most:
                self._bots.popitem(last=False)
        self.watch(len(self._bots))

    def forget(self, name: str) -> None:
        with self._guard:
            self._bots.pop(name, None)
        self.watch(len(self._bots))


def nothing(text: str) -> Parse:
    """What a bot without examples says."""
    return Parse(text, split_words(text), Ranking((), ()), (), in_scope=0.0)
