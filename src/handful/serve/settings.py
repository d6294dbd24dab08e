"""What a server allows, and how it works; all of it is an option of `handful serve`."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServeSettings:
    default_bot: str | None = None  # of Rasa's own paths; None: the only one there is
    read_only: bool = False  # a bot's file is served, and no store is given
    most_in_flight: int = 128  # requests at a time; more are turned away at once, so that memory stays flat
    most_body: int = 2_000_000  # bytes
    most_import: int = 20_000_000  # bytes of an imported file, and of all that is in an imported zip
    most_held: int = 100_000_000  # bytes of all bodies at a time
    most_text: int = 2_000  # characters of a sentence
    most_texts: int = 500  # in one request
    most_examples: int = 20_000  # of a bot
    loaded_bots: int = 50  # kept in memory; others are loaded again when they are asked for
    window: float = 0.002  # seconds that a sentence waits for others where several clients ask at a time
    most_batch: int = 32  # sentences of a forward pass: larger ones are no quicker
    workers: int = min(os.cpu_count() or 1, 4)  # batches at a time, each in a thread of its own
    body_seconds: float = 10.0  # that a client may take to send its body
    origins: tuple[str, ...] = ()  # of other sites whose pages may call this server
    hosts: tuple[str, ...] = ()  # names that this server answers to; none: any
    log_text: bool = False
