"""Examples and what is read of them, in few words."""

from __future__ import annotations

from handful.data.formats.markup import parse_example, write_example
from handful.serve.store import Store
from handful.serve.store.values import Change, Changed, Content, NewExample

BOT = "travel"
FLY = "fly to [Oslo](city)"
WHAT = "a test"


def new(marked: str, intent: str = "fly") -> NewExample:
    return NewExample(parse_example(marked, intent))


def added(*marked: str, intent: str = "fly") -> Change:
    return Change(add=tuple(new(text, intent) for text in marked))


def create(store: Store, *marked: str, name: str = BOT) -> Changed:
    return store.create(name, added(*marked), what="made", by=None)


def change(store: Store, change: Change, *, name: str = BOT, expect: int | None = None) -> Changed:
    return store.change(name, change, what=WHAT, by="ann", expect=expect)


def marked(content: Content) -> list[str]:
    return [write_example(example.utterance) for example in content.examples]


def shown(store: Store, version: int | None = None, name: str = BOT) -> list[tuple[str, str]]:
    """Intent and text of each example, in order."""
    examples = store.read(name, version).examples
    return [(example.utterance.intent, write_example(example.utterance)) for example in examples]


def ids(store: Store, name: str = BOT) -> dict[str, int]:
    return {write_example(example.utterance): example.id for example in store.read(name).examples}
