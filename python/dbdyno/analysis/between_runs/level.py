"""Compares a run with the level of the runs before it, and with a fixed reference.

x_1..x_n are the logarithms of a metric in the earlier runs, oldest first, without runs that are
outliers and cut into stretches where the level changed (`past`); y is that of the new run.

**Last runs.** The level is the mean of the last m <= `LAST` runs of the newest stretch. How far a
run is usually off that level is what the earlier runs show: their recursive residuals

    w_i = (x_i - mean of the m_i <= LAST runs before it) / sqrt(1 + 1 / m_i),

and y - level is compared with sqrt(mean w^2) sqrt(1 + 1 / m) with as many degrees of freedom as
there are residuals. Source: Brown, Durbin and Evans (1975), "Techniques for testing the constancy
of regression relationships over time", JRSS B 37. For independent runs this is Student's t; slow
drift is in the residuals as well. `lag` 2: the run before y is not used, for a second run that
confirms the first one.

**Reference.** A creep is in the level of the last runs, and is not seen there. The same y is
compared with the mean of the first `REFERENCE` runs of the best stretch, or with a run that the
user names. The spread is that of the runs about straight lines through their stretches, and
neighbours resemble each other with the correlation r of `autocorrelation.correlation`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dbdyno.analysis.claims.contrast import Interval, bounded_exp
from dbdyno.analysis.claims.power import POWER
from dbdyno.analysis.estimates.estimate import MAD
from dbdyno.analysis.within_trial import changepoints
from dbdyno.analysis.within_trial.autocorrelation import correlation, mean_variance
from dbdyno.experiment.claims import known_metrics

LAST = 3  # runs whose mean is the level
REFERENCE = 5  # runs of a reference
SETTLED = 2 * REFERENCE  # runs before a reference counts: as many after it as in it
# A run is an outlier beyond so many robust standard deviations (`MAD` times the median distance of
# runs from the median of their neighbours).
APART = 5.0
NEIGHBOURS = 3  # on either side of a run
# Below so many runs the median distance is itself mostly chance: there a run is an outlier only if
# Student's t of it against all the others is significant too, at 2 % over the runs.
FEW = 12
FEW_P = 0.02
LINE_MIN = 4  # runs of a stretch through which a line is laid; fewer have a mean

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Shift:
    """How far a run is off a level, a `contrast.Contrast`: `difference` of logarithms with its
    standard error and degrees of freedom; `n`: runs that these come from."""

    difference: float
    error: float
    freedom: float
    n: int
    threshold: float = 1.0

    @property
    def centre(self) -> float:
        """The ratio."""
        return math.exp(self.difference)

    @property
    def p(self) -> float:
        """Two-sided p of "the run has that level"."""
        if self.error == 0.0:
            return 1.0 if self.difference == 0.0 else 0.0
        return float(2 * special.stdtr(self.freedom, -abs(self.difference) / self.error))

    def interval(self, confidence: float) -> Interval:
        """Of the ratio; an end that a float cannot hold is open."""
        half = self._quantile(0.5 + confidence / 2) * self.error
        return bounded_exp(self.difference - half), bounded_exp(self.difference + half)

    def seen(self, confidence: float) -> float:
        """The smallest shift of the logarithm that an interval of this confidence shows with a
        chance of `power.POWER`."""
        return (self._quantile(0.5 + confidence / 2) + self._quantile(POWER)) * self.error

    def _quantile(self, p: float) -> float:
        return float(special.stdtrit(self.freedom, p))


@dataclass(frozen=True)
class Past:
    """A row's earlier runs: logarithms in stretches of one level, oldest first, each of at least
    one run; runs that are outliers are not in them."""

    stretches: tuple[Floats, ...]

    @property
    def spread(self) -> float:
        """Standard deviation between runs about the level of those before them."""
        found = self._residuals(1)
        return math.sqrt(float(found @ found) / len(found)) if len(found) else 0.0

    def last(self, now: float, lag: int = 1) -> Shift | None:
        """`now` against the last runs. None: too few runs to know their spread."""
        found, level = self._residuals(lag), self.stretches[-1][-LAST:]
        if not len(found):
            return None
        spread = math.sqrt(float(found @ found) / len(found))
        error = spread * math.sqrt(1 + 1 / len(level))
        runs = sum(map(len, self.stretches))
        return Shift(now - float(level.mean()), error, float(len(found)), runs)

    def against(self, reference: Sequence[float], now: float) -> Shift | None:
        """`now` against the mean of the logarithms of a reference. None: too few runs yet."""
        runs = sum(map(len, self.stretches))
        if runs < SETTLED or not reference:
            return None
        rest = np.concatenate([_straightened(one) for one in self.stretches])
        r = correlation(rest)
        taken = [_taken(len(one), r) for one in self.stretches]
        freed = runs - sum(taken)
        freedom = freed * (1 - r * r) / (1 + r * r)
        if freedom < 1:
            return None
        variance = float(rest @ rest) / freed
        error = math.sqrt(variance * (1 + mean_variance(len(reference), r)))
        return Shift(now - math.fsum(reference) / len(reference), error, freedom, runs)

    def reference(self, direction: str) -> tuple[float, ...]:
        """The first runs of the best stretch (of the first one, where neither way is better). Empty
        while the last runs are too near to it."""
        sign = {known_metrics.HIGHER: 1.0, known_metrics.LOWER: -1.0}.get(direction)
        best = 0
        if sign is not None:
            best = max(
                range(len(self.stretches)), key=lambda at: sign * float(self.stretches[at].mean())
            )
        stretch = self.stretches[best]
        if best == len(self.stretches) - 1 and len(stretch) < SETTLED:
            return ()
        return tuple(float(one) for one in stretch[:REFERENCE])

    def _residuals(self, lag: int) -> Floats:
        return np.concatenate([_recursive(one, lag) for one in self.stretches])


def past(logs: Sequence[float], p: float, least: float) -> Past:
    """The past of a row from the logarithms of its runs, oldest first, at least one. Levels change
    where a change point is significant at `p` and larger than `least`."""
    series = np.asarray([log for log, far in zip(logs, apart(logs), strict=True) if not far])
    found = changepoints.changes(series, changepoints.RUNS, p, least=least)
    bounds = [0, *(one.index for one in found), len(series)]
    return Past(tuple(series[left:right] for left, right in itertools.pairwise(bounds)))


def apart(logs: Sequence[float]) -> list[bool]:
    """Which values are outliers among their neighbours on both sides. Source: Hampel's identifier,
    as in Pearson (2002), "Outliers in process modeling and identification", IEEE Transactions on
    Control Systems Technology 10; the usual distance is that of the whole series, since seven
    values do not show it."""
    series = np.asarray(logs, dtype=np.float64)
    if not len(series):
        return []
    away = np.abs(series - _near(series))
    usual = MAD * float(np.median(away))
    far = (usual > 0) & (away > APART * usual)
    if len(series) < FEW:
        far &= _alone(series)
    return [bool(one) for one in far]


def _alone(series: Floats) -> NDArray[np.bool_]:
    """Which values are no draw from the distribution of the others, by the deleted t statistic of
    each (Grubbs's test, an equivalent form), shape (n,)."""
    n = len(series)
    if n < LINE_MIN:
        return np.zeros(n, dtype=np.bool_)
    total, squares = series.sum(), float(((series - series.mean()) ** 2).sum())
    others = (total - series) / (n - 1)
    rest = np.maximum(squares - (series - others) ** 2 * (n - 1) / n, 0.0) / (n - 2)
    error = np.sqrt(rest * n / (n - 1))
    return np.abs(series - others) > special.stdtrit(n - 2, 1 - FEW_P / (2 * n)) * error


def _near(series: Floats) -> Floats:
    """The median of each value and its neighbours; fewer of them at the ends. Shape (n,)."""
    width, n = 2 * NEIGHBOURS + 1, len(series)
    near = np.empty(n)
    for at in range(n):
        if NEIGHBOURS <= at < n - NEIGHBOURS:
            continue
        near[at] = np.median(series[max(0, at - NEIGHBOURS) : at + NEIGHBOURS + 1])
    if n >= width:
        windows = np.lib.stride_tricks.sliding_window_view(series, width)
        near[NEIGHBOURS : n - NEIGHBOURS] = np.median(windows, axis=1)
    return near


def _recursive(stretch: Floats, lag: int) -> Floats:
    """Recursive residuals of the runs of a stretch that have one `lag` runs before them."""
    if np.ptp(stretch) == 0.0:  # a sum of alike values would round
        return np.zeros(max(0, len(stretch) - lag))
    sums = np.concatenate(([0.0], np.cumsum(stretch)))
    at = np.arange(lag, len(stretch))
    end = at - lag + 1
    start = np.maximum(0, end - LAST)
    count = end - start
    return np.asarray((stretch[at] - (sums[end] - sums[start]) / count) / np.sqrt(1 + 1 / count))


def _straightened(stretch: Floats) -> Floats:
    """What is left of a stretch about its line, or about its mean."""
    rest = stretch - stretch.mean()
    if len(stretch) >= LINE_MIN:
        x = np.arange(len(stretch)) - (len(stretch) - 1) / 2
        rest = rest - x * float(x @ rest) / float(x @ x)
    return np.asarray(rest)


def _taken(n: int, r: float) -> float:
    """Of the n squares of a stretch, so many are lost with its line or mean."""
    parameters = 2 if n >= LINE_MIN else 1
    return min(n, parameters * n * mean_variance(n, r))
