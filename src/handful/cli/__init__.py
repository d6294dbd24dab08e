"""The command line: the one place that prints."""

from handful.cli.entry import main

__all__ = ["main"]
