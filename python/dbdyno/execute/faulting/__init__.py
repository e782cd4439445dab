"""Faults of trials: when they strike which node, and how they are undone."""
