from __future__ import annotations

import os
from pathlib import Path

import pytest

from handful.encoders.memory import RememberingEncoder


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The real data sets. Where they are not, the tests that need them are skipped, and say so."""
    given = os.environ.get("HANDFUL_DATA")
    if not given:
        pytest.skip("HANDFUL_DATA is not set: the real data sets are not here")
    if not Path(given).is_dir():
        pytest.fail(f"HANDFUL_DATA is {given}, which is not a folder")
    return Path(given)


@pytest.fixture(scope="session")
def minilm() -> RememberingEncoder:
    from handful.encoders.minilm import minilm_folder
    from handful.encoders.transformer import TransformerEncoder

    return RememberingEncoder(TransformerEncoder(minilm_folder()))


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test reads or leaves anything in the user's cache."""
    monkeypatch.setenv("HANDFUL_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
