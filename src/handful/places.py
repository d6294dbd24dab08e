"""Where things lie: HANDFUL_DATA (data sets), HANDFUL_WEIGHTS (encoders), HANDFUL_CACHE (what can be made again)."""

from __future__ import annotations

import os
from pathlib import Path


def cache_dir() -> Path:
    """HANDFUL_CACHE, else a folder of the user's cache. An empty variable counts as unset, as XDG has it."""
    if chosen := os.environ.get("HANDFUL_CACHE"):
        return Path(chosen).expanduser()
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # A relative XDG_CACHE_HOME is to be ignored, by the same specification.
    return (shared if shared.is_absolute() else Path.home() / ".cache") / "handful"


def data_dir(given: Path | None = None) -> Path:
    """`given`, else HANDFUL_DATA, else a folder of the cache."""
    if given is not None:
        return given.expanduser()
    if chosen := os.environ.get("HANDFUL_DATA"):
        return Path(chosen).expanduser()
    return cache_dir() / "data"


def beside(file: Path, ending: str) -> Path:
    """A folder of ours beside a bot's file: the whole name and more, since `b.yml` and `b.json` are two bots."""
    named = file if file.name not in {"", ".."} else file.resolve()
    return named.with_name(f"{named.name}.{ending}")


def weights_dir() -> Path | None:
    """HANDFUL_WEIGHTS, a folder of encoders by name; there is no other."""
    chosen = os.environ.get("HANDFUL_WEIGHTS")
    return Path(chosen).expanduser() if chosen else None
