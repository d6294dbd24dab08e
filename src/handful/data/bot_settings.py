"""How a bot wants to be parsed: the settings that its file may hold."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

Threshold = float | Literal["auto", "off"]
Runtime = Literal["int8", "torch"]
RUNTIMES: tuple[Runtime, ...] = get_args(Runtime)


@dataclass(frozen=True, slots=True)
class BotSettings:
    """None: the file does not say, and the parser's own default holds."""

    threshold: Threshold = "auto"  # how likely a sentence must be in scope; "off": each gets an intent
    encoder: str | Path | None = None  # a name, or a folder
    checkpoint: Path | None = None  # the folder of a checkpoint or of a run
    runtime: Runtime | None = None

    def __post_init__(self) -> None:
        words = ("auto", "off")
        if self.threshold not in words and (isinstance(self.threshold, str) or not 0.0 <= self.threshold <= 1.0):
            raise ValueError(f"found the threshold {self.threshold!r}, expected auto, off, or a number from 0 to 1")
        if self.runtime is not None and self.runtime not in RUNTIMES:
            raise ValueError(f"found the runtime {self.runtime!r}, expected {' or '.join(RUNTIMES)}")
