"""How noisy comparisons are, and where the noise comes from: restarts, trials, seconds.

A trial's log metric is taken as cell + block + restart + trial + seconds: what a block has in
common cancels in every ratio within it; the start of a server is shared by all trials between it
and the next one, and cancels among those; the rest does not. With v the mean variance of the log
ratio over pairs of cells,

    v(pairs between two starts)  = 2 restart^2 + 2 trial^2 + 2 seconds^2
    v(pairs within one start)    =               2 trial^2 + 2 seconds^2

The mean of all pairs' variances is twice the mean square of the two-way residuals (cells, blocks),
which has (cells - 1)(blocks - 1) degrees of freedom: pooling knows more than one pair does. Source:
Searle, Casella and McCulloch, Variance Components, chapter 4 (analysis of variance estimators).
`seconds^2` comes from the one-second throughput within trials, as the squared standard error of its
mean under autocorrelation (`autocorrelation`); it falls in proportion to the duration.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from dbdyno.analysis.claims.contrast import Best, Contrast, LogRatio, Mean
from dbdyno.analysis.claims.equivalence import Equivalence
from dbdyno.analysis.estimates import estimate as estimates
from dbdyno.analysis.estimates import ratios
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.message import Message
from dbdyno.analysis.planning.types import RANGE, Component, Noise, Seconds
from dbdyno.analysis.single_values.skewed import SkewedMean
from dbdyno.analysis.within_trial import autocorrelation
from dbdyno.plan.outlook import estimate
from dbdyno.store.metrics.timeseries import TICK_S, Trace

_SECONDS_MIN = autocorrelation.VALUES_MIN
_UNLIKE_P = 0.05  # below, a pair's noise is its own and not the pool's
_TICKS = round(1.0 / TICK_S)


@dataclass(frozen=True)
class Pool:
    """The noise of a metric between cells that share a start, and between those that do not; None
    if there are no such pairs."""

    same: Noise | None
    other: Noise | None

    def of(self, same_start: bool) -> Noise | None:
        """The noise of such a pair."""
        return self.same if same_start else self.other


def spread(contrast: Contrast) -> tuple[float, float] | None:
    """Variance of one block's value on the scale of the test, and its degrees of freedom; relative
    to the threshold for a single number. None if blocks give no information on it."""
    inner = contrast.inner if isinstance(contrast, Equivalence) else contrast
    if isinstance(inner, LogRatio):
        found = inner.fit
    elif isinstance(inner, Best):
        found = estimates.fit(inner.logs)
    elif isinstance(inner, Mean) and inner.threshold:
        found = estimates.fit([value / abs(inner.threshold) for value in inner.values])
    elif isinstance(inner, SkewedMean) and min(inner.values) > 0:
        found = estimates.fit([math.log(value) for value in inner.values])
    else:
        return None
    return found.error**2 * inner.n, found.freedom


def pool(measured: Measured, metric: str, cells: Iterable[int]) -> Pool:
    """The noise of all pairs of `cells` together."""
    found: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    starts: dict[str, set[int]] = {}
    wanted = sorted(set(cells))
    for one, other in itertools.combinations(wanted, 2):
        compared = ratios.pairs(measured, (one, metric), (other, metric))
        if compared.problem or compared.bound or len(compared.blocks) < 2:
            continue
        seen = spread(compared.contrast(1.0))
        if seen is None or seen[1] < 1:
            continue
        found[same_start(measured, one, other)].append(seen)
        for cell in (one, other):
            starts.setdefault(start_of(measured, cell), set()).add(cell)
    length_s = _length_s(measured, wanted)
    within_starts = sum(len(each) - 1 for each in starts.values())
    return Pool(
        _pooled(found[True], within_starts, length_s),
        _pooled(found[False], len(starts) - 1, length_s),
    )


def _pooled(found: list[tuple[float, float]], rows: int, length_s: float) -> Noise | None:
    if not found:
        return None
    variances, freedoms = zip(*found, strict=True)
    return Noise(math.fsum(variances) / len(found), max(1, rows) * min(freedoms), length_s)


def start_of(measured: Measured, cell: int) -> str:
    """What names the start of the servers that a cell's trials share within a block."""
    found = measured.cell(cell)
    return f"{found.hard} #{cell}" if estimate.restarted(found) else found.hard


def same_start(measured: Measured, one: int, other: int) -> bool:
    """Whether the trials of two cells follow one start of the servers within a block."""
    return start_of(measured, one) == start_of(measured, other)


def unlike(own: tuple[float, float], pooled: Noise) -> bool:
    """Whether a pair is clearly noisier or quieter than the pool that it is part of (F test)."""
    if pooled.variance == 0.0:
        return own[0] > 0.0
    ratio = own[0] / pooled.variance
    above = float(special.fdtrc(own[1], pooled.freedom, ratio))
    return 2 * min(above, 1 - above) < _UNLIKE_P


def scale(freedom: float, share: float) -> float:
    """The true variance over the estimated one is at most this with probability `share`."""
    return freedom / float(special.chdtri(freedom, share))


def bounds(variance: float, freedom: float) -> tuple[float, float]:
    """Range of a variance at confidence `RANGE`."""
    tail = (1 - RANGE) / 2
    return variance * scale(freedom, tail), variance * scale(freedom, 1 - tail)


# -- within trials -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Within:
    variance_s: float  # of the trial's relative mean, times its length
    deviation: float
    values: int
    worth: float


def seconds(
    measured: Measured, metric: str, cells: Iterable[int], trace: Callable[[str], Trace | None]
) -> tuple[float | None, Seconds | None]:
    """Of one trial: the variance of its relative mean times its length, and what it is made of;
    mean over trials. None for metrics that ticks do not have, and for trials that are too short or
    move as a whole."""
    group, _, base = f".{metric}".rpartition(".")
    if base not in ("transactions_per_s", "operations_per_s"):
        return None, None
    found = []
    for cell in sorted(set(cells)):
        for one in measured.cells[cell].values():
            read = trace(one.trial)
            within = None if read is None else _within(read, group.removeprefix("."))
            if within is not None:
                found.append(within)
    if not found:
        return None, None
    count = len(found)
    mean_variance = math.fsum(one.variance_s for one in found) / count
    return mean_variance, Seconds(
        math.sqrt(math.fsum(one.deviation**2 for one in found) / count),
        sum(one.values for one in found) / count,
        math.fsum(one.worth for one in found) / count,
    )


def _within(trace: Trace, group: str) -> _Within | None:
    measured = trace.measured()
    ticks = measured.commits.get(group, measured.total) if group else measured.total
    whole = len(ticks) // _TICKS
    if whole < _SECONDS_MIN:
        return None
    rates = ticks[: whole * _TICKS].reshape(whole, _TICKS).sum(axis=1)
    mean = float(rates.mean())
    error = autocorrelation.standard_error(rates)
    if error is None or mean <= 0.0:
        return None
    deviation = float(np.std(rates, ddof=1)) / mean
    worth = autocorrelation.effective(rates)
    return _Within((error / mean) ** 2 * whole, deviation, whole, worth)


# -- components ----------------------------------------------------------------------------------


def components(pooled: Pool, within: float | None, length_s: float) -> tuple[Component, ...]:
    """Components of the noise of one trial of `length_s`, as far as the run separates them.
    `within`: variance of the mean of one trial, times its length."""
    found: list[Component] = []
    same, other = pooled.same, pooled.other
    if same is None and other is not None:
        found.append(_trial("restart and trial", other, within, Message("about_both")))
    if same is not None:
        if other is not None:
            found.append(_restart(same, other))
        found.append(_trial("trial", same, within, Message("about_trial")))
    if within is not None:
        own = math.sqrt(within / length_s)
        about = Message("about_second", length_s=length_s)
        found.append(Component("second", own, own, own, about))
    return tuple(found)


def _trial(name: str, noise: Noise, within: float | None, about: str) -> Component:
    """The part of a trial's variance that its own seconds do not explain."""
    inside = 0.0 if within is None else within / noise.length_s
    low, high = bounds(noise.variance, noise.freedom)
    parts = (max(0.0, value / 2 - inside) for value in (noise.variance, low, high))
    return Component(name, *_deviations(*parts), about)


def _restart(same: Noise, other: Noise) -> Component:
    """Half of what pairs between starts have more than pairs within one."""
    one, two = bounds(same.variance, same.freedom), bounds(other.variance, other.freedom)
    parts = (
        max(0.0, value / 2)
        for value in (other.variance - same.variance, two[0] - one[1], two[1] - one[0])
    )
    return Component("restart", *_deviations(*parts), Message("about_restart"))


def _deviations(centre: float, low: float, high: float) -> tuple[float, float, float]:
    return math.sqrt(centre), math.sqrt(low), math.sqrt(high)


def _length_s(measured: Measured, cells: Sequence[int]) -> float:
    lengths = [one.length_s for cell in cells for one in measured.cells[cell].values()]
    return float(np.median(lengths)) if lengths and min(lengths) > 0 else 1.0
