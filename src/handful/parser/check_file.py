"""A bot's file, examined: what is wrong with it and what is odd about it, both at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from handful.data.reading import attempt_document
from handful.errors import Place
from handful.parser.bot import Bot
from handful.parser.check import findings
from handful.parser.confused import Told
from handful.parser.finding import Finding, in_order


@dataclass(frozen=True, slots=True)
class Checked:
    bot: Bot | None  # of a broken file, what could be read; None: nothing could
    errors: tuple[Finding, ...]
    oddities: tuple[Finding, ...]


def check_file(
    path: Path, format_name: str | None = None, predict: Callable[[Bot], Sequence[Told | None] | None] | None = None
) -> Checked:
    """All findings, each with a place. `predict` tells each example from the others; a broken bot is not asked."""
    reading = attempt_document(path, format_name)
    errors = [Finding(problem.place, problem.message) for problem in reading.problems]
    if reading.document is None:
        return Checked(None, tuple(in_order(errors)), ())
    bot = Bot(path.stem, reading.document)
    predictions = predict(bot) if predict is not None and not errors else None
    oddities = [
        *(Finding(warning.place, warning.message) for warning in bot.document.warnings),
        *findings(bot, predictions, complete=not errors),
    ]
    placed = [odd if odd.place is not None else replace(odd, place=Place(path)) for odd in oddities]
    return Checked(bot, tuple(in_order(errors)), tuple(in_order(placed)))
