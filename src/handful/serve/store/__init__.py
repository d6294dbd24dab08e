"""Bots in a database: SQLite for one server, PostgreSQL for several. What a bot was at any version stays readable."""

from handful.serve.store.backup import backup, restore_backup
from handful.serve.store.store import Store

__all__ = ["Store", "backup", "restore_backup"]
