"""Where output goes: results to stdout, everything said about them to stderr."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console

from handful.errors import SHOWN_PROBLEMS, Problem

# User text may look like markup, and paths must be copied whole: no markup, no highlighting, no wrapping.
out = Console(markup=False, highlight=False, soft_wrap=True)
err = Console(stderr=True, markup=False, highlight=False, soft_wrap=True)


def warn(problems: Iterable[Problem | str]) -> None:
    listed = list(problems)
    for problem in listed[:SHOWN_PROBLEMS]:
        err.print(f"warning: {problem}", style="yellow")
    if len(listed) > SHOWN_PROBLEMS:
        err.print(f"warning: … and {len(listed) - SHOWN_PROBLEMS} more", style="yellow")
