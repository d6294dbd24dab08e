"""Sentences with their slots in colour, and confidences as bars."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from rich.text import Text

from handful.parser.parser import Parse
from handful.types import Utterance

_COLOURS = (
    "cyan",
    "magenta",
    "green",
    "yellow",
    "bright_blue",
    "bright_red",
    "bright_cyan",
    "bright_magenta",
)
_BAR = 20


def colour_of(label: str) -> str:
    """The same colour for the same slot, in every run."""
    return _COLOURS[zlib.crc32(label.encode()) % len(_COLOURS)]


def marked(text: str, spans: Iterable[tuple[int, int, str]]) -> Text:
    """`fly to [Boston](city)`, coloured: readable with colours and without."""
    shown, reached = Text(), 0
    for start, end, label in spans:
        shown.append(text[reached:start])
        shown.append("[", style="dim").append(text[start:end], style=f"bold {colour_of(label)}")
        shown.append("](", style="dim").append(label, style=colour_of(label)).append(")", style="dim")
        reached = end
    return shown.append(text[reached:])


def marked_utterance(utterance: Utterance) -> Text:
    words = utterance.words
    return marked(utterance.text, [(words[s.start].start, words[s.end - 1].end, s.key) for s in utterance.slots])


def shown_parse(parse: Parse) -> Text:
    shown = marked(parse.text, [(slot.start, slot.end, _name(slot.label, slot.role)) for slot in parse.slots])
    shown.append("\n  ")
    if parse.intent is None:
        return shown.append("no words, no intent", style="dim")
    shown.append(parse.intent, style="bold").append(" ").append_text(_bar(parse.confidence))
    if len(parse.ranking) > 1:
        second = parse.ranking[1]
        shown.append(f"   then {second.name} {second.confidence:.0%}", style="dim")
    for slot in parse.slots:
        name = _name(slot.label, slot.role)
        shown.append("\n    ").append(f"{name}", style=colour_of(name)).append(f" = {slot.value}")
        shown.append(f"  {slot.confidence:.0%}", style="dim")
    return shown


def _name(label: str, role: str | None) -> str:
    return label if role is None else f"{label}:{role}"


def _bar(share: float) -> Text:
    filled = round(share * _BAR)
    colour = "green" if share >= 0.7 else "yellow" if share >= 0.4 else "red"
    return Text("━" * filled, style=colour).append("━" * (_BAR - filled), style="dim").append(f" {share:.0%}")
