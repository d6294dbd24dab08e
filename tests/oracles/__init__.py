"""Slow, obvious versions of what the package does fast. They import nothing from it."""
