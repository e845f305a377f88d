"""Matches between opponents, and what can honestly be said of their results."""
