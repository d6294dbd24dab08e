"""The file that a bot was read from: what must not be lost when it is written again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from handful.errors import ConfigError, HandfulError
from handful.parser.bot import Bot


@dataclass(frozen=True, slots=True)
class Source:
    path: Path
    changed: int | None  # when the file was written last; None for a folder, or where it cannot be told

    @classmethod
    def of(cls, path: Path) -> Self:
        return cls(path, _written(path))

    def refuse_loss(self, target: Path, bot: Bot) -> None:
        """Before the bot is written to `target`."""
        if target.resolve() != self.path.resolve():
            return
        if _written(target) != self.changed:
            raise HandfulError(f"{target}: has changed since it was read, and was left as it is: load it again")
        unused = [problem.message for problem in bot.document.warnings if "is not used" in problem.message]
        if unused:
            raise ConfigError(
                f"{target}: has more in it than a bot ({'; '.join(unused)}), which would be lost: choose another name"
            )


def _written(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns if path.is_file() else None
    except OSError:
        return None
