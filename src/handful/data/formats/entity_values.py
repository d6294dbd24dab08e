"""The known values of entities, with the words that mean the same."""

from __future__ import annotations

from collections.abc import Iterable


class EntityValues:
    """Gathers `lookups` by entity and `synonyms` by value. What is said twice is kept once."""

    def __init__(self) -> None:
        # Dicts as ordered sets: an entity may have tens of thousands of values.
        self._lookups: dict[str, dict[str, None]] = {}
        self._synonyms: dict[str, dict[str, None]] = {}

    def add(self, entity: str, value: str, synonyms: Iterable[str] = ()) -> None:
        if not entity.strip():
            raise ValueError("found an entity without a name")
        self._lookups.setdefault(entity, {})[value] = None
        others = [synonym for synonym in synonyms if synonym != value]
        if others:
            self._synonyms.setdefault(value, {}).update(dict.fromkeys(others))

    @property
    def lookups(self) -> dict[str, tuple[str, ...]]:
        return {entity: tuple(values) for entity, values in self._lookups.items()}

    @property
    def synonyms(self) -> dict[str, tuple[str, ...]]:
        return {value: tuple(words) for value, words in self._synonyms.items()}
