"""Faults of the disk that a server lies on."""
