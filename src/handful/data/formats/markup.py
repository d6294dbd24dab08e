"""Rasa's in-line annotation: `fly to [Boston](city)` and `[Boston]{"entity": "city", "role": "to"}`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from handful.data.formats.annotation import CharacterSpan, annotate
from handful.types import Slot, Utterance

_LONG_FORM_KEYS = {"entity", "value", "role", "group"}
_SHORT_FORM = re.compile(r"\(([^()\[\]{}]*)\)")
_SHORT_LABEL = re.compile(r"[^()\[\]{}:\\]+")


@dataclass(frozen=True, slots=True)
class _Annotation:
    label: str
    value: str | None = None
    role: str | None = None
    group: str | None = None


def parse_example(marked: str, intent: str) -> Utterance:
    """An annotated line as an utterance; a ValueError says what does not fit, and shows where."""
    text, spans = "", []
    position, opened = 0, None  # opened: (place in marked, place in text)
    while position < len(marked):
        character = marked[position]
        if character == "\\" and marked[position + 1 : position + 2] in {"[", "]", "\\"}:
            text += marked[position + 1]
            position += 2
        elif character == "[":
            if opened is not None:
                raise ValueError(f"an annotation inside an annotation {_here(marked, position)}")
            opened = (position, len(text))
            position += 1
        elif character == "]":
            if opened is None:
                raise ValueError(f"a ']' without its '[' {_here(marked, position)}; as plain text write \\]")
            found, after = _label(marked, position + 1, opened[0])
            spans.append(
                CharacterSpan(found.label, opened[1], len(text), found.value, found.role, found.group),
            )
            if not text[opened[1] :].strip():
                raise ValueError(f"an annotation without words {_here(marked, opened[0])}")
            position, opened = after, None
        else:
            text += character
            position += 1
    if opened is not None:
        raise ValueError(f"a '[' without its ']' {_here(marked, opened[0])}; as plain text write \\[")
    return annotate(text, intent, spans)


def write_example(utterance: Utterance) -> str:
    """The line that `parse_example` reads back as an equal utterance."""
    marked, reached = "", 0
    for slot in utterance.slots:
        start, end = utterance.words[slot.start].start, utterance.words[slot.end - 1].end
        marked += _escaped(utterance.text[reached:start])
        marked += f"[{_escaped(utterance.text[start:end])}]{_written_label(slot)}"
        reached = end
    return marked + _escaped(utterance.text[reached:])


def _escaped(text: str) -> str:
    # A backslash needs its escape only where it would be read as one; "C:\temp" stays as it is.
    return re.sub(r"\\(?=[\[\]\\]|$)|[\[\]]", lambda found: "\\" + found.group(), text)


def _written_label(slot: Slot) -> str:
    bare = slot.value is None and slot.role is None and slot.group is None
    if bare and slot.label == slot.label.strip() and _SHORT_LABEL.fullmatch(slot.label):
        return f"({slot.label})"
    fields = {"entity": slot.label, "value": slot.value, "role": slot.role, "group": slot.group}
    return json.dumps({key: field for key, field in fields.items() if field is not None}, ensure_ascii=False)


def _label(marked: str, position: int, opened: int) -> tuple[_Annotation, int]:
    """What stands behind the closing bracket, and where the text goes on."""
    following = marked[position : position + 1]
    if following == "(":
        found = _SHORT_FORM.match(marked, position)
        if found is None:
            raise ValueError(f"a '(' without its ')' {_here(marked, position)}")
        label, colon, value = found.group(1).partition(":")
        if not label.strip() or (colon and not value.strip()):
            raise ValueError(f"found '({found.group(1)})', expected '(slot)' or '(slot:value)' {_here(marked, opened)}")
        return _Annotation(label.strip(), value.strip() or None), found.end()
    if following == "{":
        return _long_form(marked, position)
    if following == "[":
        raise ValueError(f"several entities on the same words {_here(marked, opened)}; a word can be in one slot only")
    raise ValueError(
        f"found '[…]' without a slot {_here(marked, opened)}, expected '[words](slot)'; as plain text write \\[ and \\]"
    )


def _long_form(marked: str, position: int) -> tuple[_Annotation, int]:
    try:
        found, after = json.JSONDecoder(object_pairs_hook=_unrepeated).raw_decode(marked, position)
    except json.JSONDecodeError as error:
        raise ValueError(f"the annotation is not JSON: {error.msg} {_here(marked, error.pos)}") from None
    except RecursionError:
        raise ValueError("the annotation is nested too deeply") from None
    unknown = set(found) - _LONG_FORM_KEYS
    if unknown:
        raise ValueError(f"found the key '{min(unknown)}' in an annotation, expected entity, value, role or group")
    for key, field in found.items():
        if not isinstance(field, str) or not field.strip():
            raise ValueError(f"found {field!r} as the {key} of an annotation, expected text in quotes")
    if "entity" not in found:
        raise ValueError(f"an annotation without its 'entity' {_here(marked, position)}")
    return _Annotation(found["entity"], found.get("value"), found.get("role"), found.get("group")), after


def _unrepeated(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key stands twice in one annotation")
    return dict(pairs)


def _here(marked: str, position: int) -> str:
    """Where in the line, told with the text around it."""
    start, end = max(0, position - 12), position + 18
    before, after = "…" if start else "", "…" if end < len(marked) else ""
    return f"at character {position + 1}: {before}{marked[start:end]}{after}"
