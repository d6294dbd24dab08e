"""What is odd about a bot's lookup tables, regular expressions and settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from handful.data.near_names import suggestion
from handful.parser.bot import Bot
from handful.parser.finding import Finding
from handful.parser.matching import named_slots, runs_away


def checks_of_tables(bot: Bot) -> Iterator[Finding]:
    document = bot.document
    labels = sorted({kind.label for kind in bot.slot_kinds} | set(document.slot_entities.values()))
    for kind, what, section in (
        ("lookup", "the lookup table", document.lookups),
        ("regex", "the regular expression", document.regexes),
    ):
        for name in section:
            if not named_slots(bot, name):
                told = f"{what} '{name}' has the name of no slot, and helps none"
                hint = suggestion(name, labels).removeprefix("; ").replace("there are ", "the slots are ", 1)
                yield Finding(document.named_places.get((kind, name)), told, hint)
    for name, patterns in document.regexes.items():
        for pattern in patterns:
            if runs_away(pattern):
                told = f"the regular expression '{name}' takes very long for some texts: {pattern!r}"
                hint = "repeat nothing that is itself a repetition, as (a+)+ does"
                yield Finding(document.named_places.get(("regex", name)), told, hint)
    yield from _missing_folders(bot)


def _missing_folders(bot: Bot) -> Iterator[Finding]:
    for key, folder in (("checkpoint", bot.settings.checkpoint), ("encoder", bot.settings.encoder)):
        if isinstance(folder, Path) and not folder.is_dir():
            told = f"there is no folder {folder}, which the setting '{key}' names"
            hint = "paths are relative to the bot's file"
            yield Finding(bot.document.named_places.get(("settings", key)), told, hint)
