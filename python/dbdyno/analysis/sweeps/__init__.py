"""How a throughput goes over the levels of a numeric factor."""

from dbdyno.analysis.sweeps.sweep import best_levels, sweeps

__all__ = ["best_levels", "sweeps"]
