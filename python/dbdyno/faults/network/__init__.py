"""Faults of the network that servers and clients reach each other by."""
