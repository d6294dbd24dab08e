"""handful: a handful of annotated utterances in, a working intent-and-slot parser out.

from handful import Parser
parser = Parser.load("bot.yml")
parser.parse("book a table for two")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from handful.parser.parser import FilledSlot, Parse, Parser

__version__ = "0.1.0"
__all__ = ["FilledSlot", "Parse", "Parser", "__version__"]


def __getattr__(name: str) -> object:
    """`import handful` is instant: the parser is imported when it is first asked for."""
    if name in {"FilledSlot", "Parse", "Parser"}:
        from handful.parser import parser

        return getattr(parser, name)
    raise AttributeError(f"module 'handful' has no attribute {name!r}")
