from __future__ import annotations

from pathlib import Path

import pytest

from handful import places


@pytest.mark.parametrize(
    ("given", "variables", "expected"),
    [
        (Path("/given"), {"HANDFUL_DATA": "/d"}, "/given"),
        (None, {"HANDFUL_DATA": "/d", "HANDFUL_CACHE": "/c", "XDG_CACHE_HOME": "/x"}, "/d"),
        (None, {"HANDFUL_CACHE": "/c", "XDG_CACHE_HOME": "/x"}, "/c/data"),
        (None, {"HANDFUL_DATA": "", "XDG_CACHE_HOME": "/x"}, "/x/handful/data"),
        (None, {"XDG_CACHE_HOME": "relative"}, "/home/someone/.cache/handful/data"),
        (None, {}, "/home/someone/.cache/handful/data"),
        (None, {"HANDFUL_DATA": "~/d"}, "/home/someone/d"),
    ],
)
def test_the_data_directory(
    given: Path | None, variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
):
    for name in ("HANDFUL_DATA", "HANDFUL_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/someone")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert places.data_dir(given) == Path(expected)
