"""Readers, writers and the corpora of the paper."""
