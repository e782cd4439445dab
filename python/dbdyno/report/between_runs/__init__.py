"""Runs side by side and over time."""
