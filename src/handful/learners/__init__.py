"""Learners: they adapt to a support set, and what comes out predicts. One method, one file."""
