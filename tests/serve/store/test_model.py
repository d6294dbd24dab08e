"""Any changes in any order, against the plainest model of a bot: a list with what each version was."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handful.serve.store import Store
from handful.serve.store.errors import IntentExists, NoSuchIntent, StoreError
from handful.serve.store.values import Change, Rest
from serve.store.made import change, new

INTENTS = ("fly", "greet", "leave")
_numbers = count()


@dataclass(frozen=True)
class State:
    """Of examples: place, intent and text."""

    intents: tuple[str, ...] = ()
    examples: tuple[tuple[int, str, str], ...] = ()
    threshold: float = 0.0

    @property
    def seen(self) -> tuple[object, ...]:
        return self.intents, tuple((intent, text) for _, intent, text in sorted(self.examples)), self.threshold


@dataclass
class Step:
    add: list[tuple[str, str]] = field(default_factory=list)
    replace: dict[int, tuple[str, str]] = field(default_factory=dict)  # by position among those that are there
    remove: set[int] = field(default_factory=set)
    add_intents: list[str] = field(default_factory=list)
    remove_intents: list[str] = field(default_factory=list)
    threshold: float | None = None
    clear: bool = False
    restore: int | None = None


_texts = st.tuples(st.sampled_from(INTENTS), st.sampled_from(["one", "two", "three", "four"]))
_intents = st.lists(st.sampled_from(INTENTS), max_size=2, unique=True)
_steps = st.builds(
    Step,
    add=st.lists(_texts, max_size=3),
    replace=st.dictionaries(st.integers(0, 5), _texts, max_size=2),
    remove=st.sets(st.integers(0, 5), max_size=2),
    add_intents=_intents,
    remove_intents=_intents,
    threshold=st.none() | st.sampled_from([0.0, 0.25, 0.5]),
    clear=st.integers(0, 9).map(lambda n: n == 0),
    restore=st.none() | st.none() | st.integers(1, 12),
)


def applied(state: State, step: Step, place: int) -> State:
    """As the words of `Change` have it. `place`: above all that were given."""
    intents, examples = list(state.intents), sorted(state.examples)
    if step.clear:
        intents, examples = [], []
    gone = {examples[at] for at in {*step.remove, *step.replace} if at < len(examples)}
    coming = [(examples[at][0], *said) for at, said in step.replace.items() if at < len(examples)]
    coming += [(place + n, *said) for n, said in enumerate(step.add)]
    kept = [example for example in examples if example not in gone]
    for intent in step.remove_intents:
        if intent not in intents:
            raise NoSuchIntent(intent)
        intents.remove(intent)
        kept = [example for example in kept if example[1] != intent]
    for intent in step.add_intents:
        if intent in intents:
            raise IntentExists(intent)
    intents += list(dict.fromkeys([*step.add_intents, *(intent for _, intent, _ in coming if intent not in intents)]))
    threshold = step.threshold if step.threshold is not None else 0.0 if step.clear else state.threshold
    return State(tuple(intents), tuple(kept + coming), threshold)


def as_change(store: Store, name: str, step: Step) -> Change:
    there = [] if step.clear else [example.id for example in store.read(name).examples]
    rest = Rest(threshold=0.0 if step.threshold is None else step.threshold)
    return Change(
        add=tuple(new(text, intent) for intent, text in step.add),
        replace={there[at]: new(text, intent) for at, (intent, text) in step.replace.items() if at < len(there)},
        remove=tuple(there[at] for at in step.remove if at < len(there)),
        add_intents=tuple(step.add_intents),
        remove_intents=tuple(step.remove_intents),
        rest=rest if step.threshold is not None or step.clear else None,
        clear=step.clear,
    )


def seen(store: Store, name: str, version: int | None = None) -> tuple[object, ...]:
    content = store.read(name, version)
    examples = tuple((example.utterance.intent, example.utterance.text) for example in content.examples)
    return content.intents, examples, content.rest.threshold


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(_steps, max_size=10))
def test_every_version_is_what_its_changes_made_it(store: Store, steps: list[Step]):
    name = f"bot-{next(_numbers)}"
    store.create(name, Change(rest=Rest(threshold=0.0)), what="made", by=None)
    states = [State()]
    for number, step in enumerate(steps):
        if step.restore is not None and step.restore <= len(states):
            store.restore(name, step.restore, by=None)
            states.append(states[step.restore - 1])
            continue
        try:
            expected = applied(states[-1], step, place=1000 * (number + 1))
        except StoreError as error:
            with pytest.raises(type(error)):
                change(store, as_change(store, name, step), name=name)
        else:
            assert change(store, as_change(store, name, step), name=name).stamp.version == len(states) + 1
            states.append(expected)
    assert store.stamp(name).version == len(states)
    assert [row.number for row in store.versions(name)] == list(range(len(states), 0, -1))
    for version, state in enumerate(states, 1):
        assert seen(store, name, version) == state.seen
    assert seen(store, name) == states[-1].seen
