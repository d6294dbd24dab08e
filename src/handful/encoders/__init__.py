"""From words to vectors."""
