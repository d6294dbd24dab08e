from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from handful.data.document import Document
from handful.errors import DataError
from handful.types import Slot, Utterance
from handful.words import split_words

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def refusal() -> Callable[[Callable[[Path], Document], Path], str]:
    """What the reader says of a file that it refuses."""

    def refused(read: Callable[[Path], Document], path: Path) -> str:
        with pytest.raises(DataError) as caught:
            read(path)
        return str(caught.value)

    return refused


@pytest.fixture
def sentence() -> Callable[..., Utterance]:
    def made(text: str, intent: str, *slots: Slot) -> Utterance:
        return Utterance(text, split_words(text), intent, slots)

    return made


@pytest.fixture
def as_windows_saves() -> Callable[[str], bytes]:
    """The bytes of a text with a byte-order mark and CRLF line ends."""
    return lambda text: BYTE_ORDER_MARK + text.replace("\n", "\r\n").encode()
