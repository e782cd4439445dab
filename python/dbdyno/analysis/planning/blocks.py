"""Blocks for a wanted power, allowing for a pilot's uncertainty about the noise.

The power of n blocks is that of the t test which will judge them (`power.power`) at the level that
Holm's procedure gives the first of all comparisons, the strictest. The variance of a pilot with f
degrees of freedom is off by a factor chi2(f) / f, so that the number of blocks is a range: computed
with the 10 %, 50 % and 90 % quantiles of the true variance. `probable` takes the middle one: it is
as often too small as too large. Source: Browne (1995), "On the use of a pilot sample for sample
size determination", Statistics in Medicine 14.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence

from scipy import special

from dbdyno.analysis.claims.power import BLOCKS_MAX, power
from dbdyno.analysis.estimates.estimate import BLOCKS_MIN
from dbdyno.analysis.estimates.ratios import POSITION_BLOCKS
from dbdyno.analysis.planning.noise import scale
from dbdyno.analysis.planning.types import RANGE, Criterion, Needed, Noise


def chance(criterion: Criterion, variance: float, blocks: int) -> float:
    """The power of so many blocks; of an equality both ends of its margin must be shown."""
    deviation, fitted = math.sqrt(variance), _fitted(criterion, blocks)
    one = power(criterion.distance, deviation, blocks, criterion.alpha, fitted)
    return max(0.0, 2 * one - 1) if criterion.equal else one


def least(criterion: Criterion, variance: float, wanted: float) -> int | None:
    """The fewest blocks with that power; None if `BLOCKS_MAX` do not have it."""
    tried = range(BLOCKS_MIN, BLOCKS_MAX + 1)  # power rises with blocks
    at = bisect.bisect_left(tried, wanted, key=lambda n: chance(criterion, variance, n))
    return tried[at] if at < len(tried) else None


def probable(noise: Noise, length_s: float) -> float:
    """The middle of what the variance may be, with trials of that length."""
    return noise.at(length_s) * scale(noise.freedom, 0.5)


def needed(criterion: Criterion, noise: Noise, length_s: float, wanted: float) -> Needed:
    """Blocks with trials of `length_s`."""
    tail = (1 - RANGE) / 2
    variance = noise.at(length_s)
    low, middle, high = (
        least(criterion, variance * scale(noise.freedom, share), wanted)
        for share in (tail, 0.5, 1 - tail)
    )
    return Needed(low, middle, high)


def _fitted(criterion: Criterion, blocks: int) -> int:
    """What so many blocks fit to their values: a mean, and from some number on a slope."""
    return 2 if criterion.covariate and blocks >= POSITION_BLOCKS else 1


def together(found: Sequence[Needed]) -> Needed:
    """What all comparisons need: the most of each."""

    def most(values: Sequence[int | None]) -> int | None:
        return None if None in values else max(value for value in values if value is not None)

    return Needed(
        most([one.low for one in found]),
        most([one.probable for one in found]),
        most([one.high for one in found]),
    )


def half_width(criterion: Criterion, variance: float, blocks: int) -> float:
    """Expected half of the interval at confidence 1 - alpha, log scale."""
    freedom = blocks - _fitted(criterion, blocks)
    quantile = float(special.stdtrit(freedom, 1 - criterion.alpha / 2))
    return quantile * math.sqrt(variance / blocks)
