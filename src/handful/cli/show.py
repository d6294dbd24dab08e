"""Sentences with their slots in colour, and confidences as bars."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from rich.text import Text

from handful.parser.explain import Explanation, Neighbour
from handful.parser.parse import Parse
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
    if parse.rejected:
        shown.append(parse.intent, style="bold red")
        shown.append(f"   in scope {_percent(parse.in_scope)}; else {parse.ranking.names[0]}", style="dim")
    else:
        shown.append(parse.intent, style="bold").append(" ").append_text(_bar(parse.confidence))
        if len(parse.ranking) > 1:
            second = parse.ranking[1]
            shown.append(f"   then {second.name} {_percent(second.confidence)}", style="dim")
    for slot in parse.slots:
        name = _name(slot.label, slot.role)
        shown.append("\n    ").append(f"{name}", style=colour_of(name)).append(f" = {slot.value}")
        shown.append(f"  {_percent(slot.confidence)}", style="dim")
    return shown


def shown_explanation(why: Explanation) -> Text:
    shown = shown_parse(why.parse)
    _append_nearest(shown, "like", why.nearest)
    for slot, neighbours in why.slots:
        listed = ", ".join(f"“{n.words}” ({n.slot.key}, {n.similarity:.2f})" for n in neighbours)
        shown.append(f"\n  {_name(slot.label, slot.role)} = {slot.value}: ", style="dim").append(f"like {listed}")
    if why.runner_up is not None:
        shown.append(f"\n  not {why.runner_up}", style="dim")
        if why.log_odds is not None:
            shown.append(f" (log-odds {why.log_odds:+.1f})", style="dim")
        if why.words:
            loudest = ", ".join(f"{weight.word} {weight.weight:+.1f}" for weight in why.words[:4])
            shown.append(f"; words: {loudest}", style="dim")
        _append_nearest(shown, "its nearest", why.runner_up_nearest[:1])
    return shown


def _append_nearest(shown: Text, what: str, neighbours: Iterable[Neighbour]) -> None:
    for neighbour in neighbours:
        shown.append(f"\n  {what} ", style="dim").append_text(marked_utterance(neighbour.utterance))
        shown.append(f"  {neighbour.utterance.intent}, {neighbour.similarity:.2f}", style="dim")


def _name(label: str, role: str | None) -> str:
    return label if role is None else f"{label}:{role}"


def _percent(share: float) -> str:
    """Nobody is a hundred percent sure."""
    return ">99%" if share > 0.99 else "<1%" if share < 0.01 else f"{share:.0%}"


def _bar(share: float) -> Text:
    filled = round(share * _BAR)
    colour = "green" if share >= 0.7 else "yellow" if share >= 0.4 else "red"
    return Text("━" * filled, style=colour).append("━" * (_BAR - filled), style="dim").append(f" {_percent(share)}")
