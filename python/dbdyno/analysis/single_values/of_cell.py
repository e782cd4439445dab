"""Which mean a metric has over blocks, and which interval.

Times, rates of work and costs have the geometric mean, everything else the arithmetic one
(`estimate.is_geometric`). What a system completes a second is limited by what it can do, and is
hardly skewed: Student's interval holds. Everything else that is never negative (times, costs,
shares, counts of what went wrong, samples) may be skewed, and is taken to be (`skewed`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from dbdyno.analysis.claims.contrast import GeometricMean, Mean
from dbdyno.analysis.estimates.estimate import BLOCKS_MIN, CONFIDENCE, is_geometric
from dbdyno.analysis.estimates.events import counts
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.single_values.skewed import EitherMean, SkewedMean
from dbdyno.analysis.types import Estimate
from dbdyno.experiment.claims import known_metrics, metrics

OneMean = Mean | GeometricMean | SkewedMean


def contrast(measured: Measured, cell: int, metric: str, threshold: float = 0.0) -> OneMean:
    """The mean of a metric that at least one block of a cell has, compared with `threshold`."""
    series = measured.series(cell, metric)
    lengths_s = [measured.cells[cell][block].length_s for block in series]
    return _contrast(metric, tuple(series.values()), lengths_s, threshold)


def estimate(measured: Measured, cell: int, metric: str) -> Estimate:
    """The mean of a metric that at least one block of a cell has, with its 95 % interval; without
    one below 3 blocks, where some values are bounds, and of counts of what must not happen: the
    mean of their bursts is next to unknown (`claims.counts`), and their trials are shown."""
    series = measured.series(cell, metric)
    bound = measured.bound(cell, metric)
    one = contrast(measured, cell, metric)
    low, high = None, None
    if not bound and one.n >= BLOCKS_MIN and not metrics.is_count(metric):
        low, high = one.interval(CONFIDENCE)
    return Estimate(one.centre, low, high, tuple(series.values()), tuple(series), bound)


def _contrast(
    metric: str, values: tuple[float, ...], lengths_s: Sequence[float], threshold: float
) -> OneMean:
    grain, work = metrics.grain(metric), metrics.info(metric).direction == known_metrics.HIGHER
    if is_geometric(metric, values):
        logs = tuple(math.log(value) for value in values)
        return (GeometricMean if work else EitherMean)(logs, threshold, math.log1p(grain))
    if min(values) < 0 or work or metrics.is_slope(metric):
        return Mean(values, threshold, grain * values[0])
    found = counts(metric, values, lengths_s)
    return SkewedMean(
        values,
        threshold,
        grain * values[0],
        intermittent=metrics.is_intermittent(metric),
        ceiling=metrics.ceiling(metric),
        events=math.fsum(found) if found else None,
    )
