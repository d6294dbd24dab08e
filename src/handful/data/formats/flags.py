"""Settings that are true or false."""

from __future__ import annotations

from handful.data.formats.tree import Node


def flag(node: Node, key: str, default: bool) -> bool:
    """The truth value under a key; `default` where the key is absent."""
    found = node.get(key)
    if found is None:
        return default
    if not isinstance(found.value, bool):
        found.expected("true or false")
    return found.value
