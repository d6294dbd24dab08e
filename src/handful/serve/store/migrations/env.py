"""Run by Alembic, on the connection and in the transaction that the store has opened."""

from alembic import context

from handful.serve.store.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
