"""Metrics of a server and its processes."""
