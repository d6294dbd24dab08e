"""Names that are nearly right."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_SHOWN = 20  # a bot may have a thousand labels


def suggestion(name: str, known: Iterable[str]) -> str:
    """'; did you mean …?' or the list of what there is."""
    names = list(known)
    by_folded = {candidate.casefold(): candidate for candidate in names}
    close = difflib.get_close_matches(name.casefold(), by_folded, n=1)
    if close:
        return f"; did you mean '{by_folded[close[0]]}'?"
    extra = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"; there are {', '.join(names[:_SHOWN])}{extra}" if names else "; there are none"
