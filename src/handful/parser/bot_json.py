"""A bot as JSON, for an exported bot: read with the standard library alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from handful.data.bot_settings import BotSettings
from handful.data.document import Document
from handful.errors import CheckpointError
from handful.parser.bot import Bot
from handful.types import Slot, Utterance, Word

FORMAT = 1


def bot_as_json(bot: Bot) -> str:
    """All that parsing needs; metadata and places of a file are left behind."""
    document = bot.document
    content = {
        "format": FORMAT,
        "name": bot.name,
        "threshold": document.settings.threshold,
        "utterances": [
            {
                "text": u.text,
                "words": [[word.start, word.end] for word in u.words],
                "intent": u.intent,
                "slots": [[s.label, s.start, s.end, s.value, s.role, s.group] for s in u.slots],
            }
            for u in document.utterances
        ],
        "synonyms": document.synonyms,
        "lookups": document.lookups,
        "regexes": document.regexes,
        "slot_entities": [[*key, entity] for key, entity in document.slot_entities.items()],
        "descriptions": document.descriptions,
    }
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def bot_from_json(file: Path) -> Bot:
    try:
        content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        if content["format"] > FORMAT:
            raise CheckpointError(f"{file}: format {content['format']} is newer than {FORMAT}: upgrade handful")
        document = Document(
            tuple(_utterance(row) for row in content["utterances"]),
            synonyms={value: tuple(words) for value, words in content["synonyms"].items()},
            lookups={name: tuple(values) for name, values in content["lookups"].items()},
            regexes={name: tuple(patterns) for name, patterns in content["regexes"].items()},
            slot_entities={(intent, slot): entity for intent, slot, entity in content["slot_entities"]},
            descriptions=content["descriptions"],
            settings=BotSettings(threshold=content["threshold"]),
        )
        return Bot(content["name"], document)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{file}: cannot be read: {error}; the file is damaged or not ours") from error


def _utterance(row: dict[str, Any]) -> Utterance:
    text = row["text"]
    words = tuple(Word(text[start:end], start, end) for start, end in row["words"])
    slots = tuple(Slot(label, start, end, value, role, group) for label, start, end, value, role, group in row["slots"])
    return Utterance(text, words, row["intent"], slots)
