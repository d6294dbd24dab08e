"""Bots, their versions, and tokens. As the tables were then: schema.py may move on, this file does not."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "bots",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(80), nullable=False, unique=True),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("next_place", sa.Integer, nullable=False),
        sa.Column("made", sa.String(40), nullable=False),
        sa.Column("changed", sa.String(40), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "versions",
        sa.Column("bot", sa.Integer, sa.ForeignKey("bots.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("made", sa.String(40), nullable=False),
        sa.Column("by", sa.String(80)),
        sa.Column("what", sa.Text, nullable=False),
    )
    _of_a_bot(
        "intents",
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
    )
    _of_a_bot(
        "examples",
        sa.Column("place", sa.Integer, nullable=False),
        sa.Column("intent", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("slots", sa.JSON, nullable=False),
        sa.Column("metadata", sa.JSON),
    )
    _of_a_bot("rests", sa.Column("content", sa.JSON, nullable=False))
    op.create_table(
        "tokens",
        sa.Column("name", sa.String(80), primary_key=True),
        sa.Column("scope", sa.String(10), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False, unique=True),
        sa.Column("made", sa.String(40), nullable=False),
    )


def _of_a_bot(name: str, *columns: sa.Column) -> None:
    op.create_table(
        name,
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("bot", sa.Integer, sa.ForeignKey("bots.id", ondelete="CASCADE"), nullable=False),
        sa.Column("since", sa.Integer, nullable=False),
        sa.Column("until", sa.Integer),
        *columns,
        sqlite_autoincrement=True,
    )
    op.create_index(f"{name}_of_bot", name, ["bot", "until", "since"])
