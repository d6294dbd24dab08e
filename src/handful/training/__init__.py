"""Scoring and evaluation."""
