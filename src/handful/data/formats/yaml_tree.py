"""YAML as a tree of Nodes: safe, with the line of every value, and no key twice."""

from __future__ import annotations

from pathlib import Path

import yaml
from yaml.composer import ComposerError

from handful.data.formats.files import read_text
from handful.data.formats.tree import Node, Pointer, Source
from handful.errors import DataError, Place

_SCALARS = ("str", "int", "float", "bool", "null", "timestamp")
_TAGS = {
    yaml.ScalarNode: {f"tag:yaml.org,2002:{name}" for name in _SCALARS},
    yaml.SequenceNode: {"tag:yaml.org,2002:seq"},
    yaml.MappingNode: {"tag:yaml.org,2002:map"},
}


class _Loader(yaml.SafeLoader):
    """A safe loader that refuses aliases: a small file could otherwise unfold into a huge one."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            raise ComposerError(None, None, "found an alias (*name), expected the text itself", event.start_mark)
        return super().compose_node(parent, index)


def read_yaml(path: Path) -> list[Node]:
    """The documents of a YAML file (most have one)."""
    text = read_text(path)
    loader = None
    try:
        loader = _Loader(text)
        found = []
        while loader.check_node():
            lines: dict[Pointer, int] = {}
            source = Source(path, lines.get, show_pointer=False)
            found.append(_yaml_node(loader, loader.get_node(), source, (), lines))
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise DataError.at(
            Place(path, line),
            f"not YAML: found the character U+{ord(text[error.position]):04X}, which YAML forbids",
        ) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        about = ": ".join(part for part in (error.context, error.problem) if part)
        line = mark.line + 1 if mark else None
        raise DataError.at(Place(path, line), f"not YAML: {about}") from None
    except RecursionError:
        raise DataError.at(Place(path), "nested too deeply to be read") from None
    finally:
        if loader is not None:
            loader.dispose()
    if not found:
        raise DataError.at(Place(path), "the file holds only comments")
    return found


def _yaml_node(
    loader: _Loader, node: yaml.Node | None, source: Source, pointer: Pointer, lines: dict[Pointer, int]
) -> Node:
    if node is None:
        return Node(None, source, pointer)
    lines[pointer] = node.start_mark.line + 1
    if node.tag not in _TAGS[type(node)]:
        raise DataError.at(source.place(pointer), f"found the YAML tag {node.tag!r}, expected plain text")
    if isinstance(node, yaml.MappingNode):
        children: dict[str, Node] = {}
        for key_node, value_node in node.value:
            key_line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise DataError.at(Place(source.path, key_line), "found a list or mapping as a key, expected a word")
            key = key_node.value
            if key in children:
                raise DataError.at(Place(source.path, key_line), f"the key '{key}' stands twice in one mapping")
            children[key] = _yaml_node(loader, value_node, source, (*pointer, key), lines)
            lines[*pointer, key] = key_line if not _block_style(value_node) else lines[*pointer, key]
        return Node(children, source, pointer)
    if isinstance(node, yaml.SequenceNode):
        items = [_yaml_node(loader, child, source, (*pointer, i), lines) for i, child in enumerate(node.value)]
        return Node(items, source, pointer)
    written = str(node.value)
    if node.tag.endswith(":timestamp"):
        return Node(written, source, pointer, written)
    try:
        value = loader.construct_object(node)
    except (ValueError, LookupError, TypeError, yaml.YAMLError):
        raise DataError.at(source.place(pointer), f"{written!r} does not fit its YAML tag {node.tag!r}") from None
    return Node(value, source, pointer, written, block=_block_style(node))


def _block_style(node: yaml.Node) -> str:
    return node.style if isinstance(node, yaml.ScalarNode) and node.style in {"|", ">"} else ""
