"""One metric of one cell over blocks: what its mean may be. Claims on one number, the tables of
cells and the limits of sweeps all use it (`of_cell`)."""

from dbdyno.analysis.single_values.of_cell import contrast, estimate
from dbdyno.analysis.single_values.skewed import SkewedMean

__all__ = ["SkewedMean", "contrast", "estimate"]
