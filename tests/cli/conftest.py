from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from handful.cli import main


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """A command as a user types it, in this process: the encoder's imports are paid for once."""

    def ran(*words: str) -> Ran:
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        printed = capfd.readouterr()
        return Ran(int(ended.value.code or 0), printed.out, printed.err)

    return ran


@pytest.fixture
def shell() -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """A command in a process of its own."""

    def called(*words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "handful", *words]
        return subprocess.run(command, input=stdin, capture_output=True, timeout=120, check=False)

    return called


@pytest.fixture
def bot(tmp_path: Path) -> Path:
    file = tmp_path / "bot.yml"
    file.write_text(
        "nlu:\n"
        "- intent: fly\n  examples: |\n    - fly to [Rome](city)\n    - a flight to [Oslo](city) please\n"
        "- intent: greet\n  examples: |\n    - hello\n    - good morning\n",
        encoding="utf-8",
    )
    return file
