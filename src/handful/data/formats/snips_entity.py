"""What an entity of Snips can be set to, in its JSON and in its YAML."""

from __future__ import annotations

from handful.data.formats.flags import flag
from handful.data.formats.tree import Node
from handful.errors import Problem

SETTINGS = {"use_synonyms", "automatically_extensible", "matching_strictness"}


def uses_synonyms(entity: Node, warnings: list[Problem]) -> bool:
    """Whether the synonyms count; settings that we cannot follow are checked and listed."""
    if not flag(entity, "automatically_extensible", default=True):
        warnings.append(
            Problem(
                entity.need("automatically_extensible").place,
                "'automatically_extensible' is not used: values outside the list can be found too",
            )
        )
    strictness = entity.get("matching_strictness")
    if strictness is not None:
        if isinstance(strictness.value, bool) or not isinstance(strictness.value, int | float):
            strictness.expected("a number from 0 to 1")
        if strictness.value != 1:
            warnings.append(Problem(strictness.place, "'matching_strictness' is not used"))
    return flag(entity, "use_synonyms", default=True)


def unused_synonyms(node: Node, value: str) -> Problem:
    return Problem(node.place, f"the synonyms of '{value}' are not read: 'use_synonyms' is false")
