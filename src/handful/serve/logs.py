"""Logs for machines: a JSON object a line on stderr. What people said is not in them unless that is asked for."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TextIO


class Log:
    def __init__(self, stream: TextIO | None = None, *, with_text: bool = False) -> None:
        self._stream, self.with_text = stream, with_text

    def event(self, event: str, **fields: Any) -> None:
        row = {"time": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event}
        line = json.dumps(row | {name: value for name, value in fields.items() if value is not None}, default=str)
        stream = self._stream or sys.stderr
        try:
            stream.write(line + "\n")
            stream.flush()
        except (OSError, ValueError):  # a closed or full log must not stop the service
            pass

    def fault(self, error: BaseException, **fields: Any) -> None:
        """Something that should not have happened: where, but not with which words, for they may be somebody's."""
        places = [
            f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(error.__traceback__)
        ]
        told: Mapping[str, Any] = {"message": str(error)} if self.with_text else {}
        self.event("fault", kind=type(error).__name__, places=places[-20:], **told, **fields)
