"""Metrics of a machine, from /proc."""
