"""Figures of a folder of result records, and the page that shows them. Nothing is trained or measured here."""
