"""Servers that work together, and die: is what they acknowledged there, is anything left behind."""

NAMES: tuple[str, ...] = ("planted_losses", "random_faults", "topology_times", "outage")
