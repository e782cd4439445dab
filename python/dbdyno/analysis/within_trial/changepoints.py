"""Where a series changes for good.

Where: E-divisive of D. Matteson and N. James, *A Nonparametric Approach for Multiple Change Point
Analysis of Multivariate Data*, JASA 109, 2014: the split of a stretch whose sides have the largest
energy distance, with the right side ended early if that shows it better, again within its parts.
Whether: Student's t instead of permutations, with a loose first pass and a strict one over what is
left, as in M. Fleming et al., *Hunter: Using Change Point Detection to Hunt for Performance
Regressions*, ICPE 2023 (now Apache Otava): it is deterministic, and finds a change after three
points, which no permutation of six can.

Two things differ from there. The split is the best of many, so its p is multiplied by the number of
places where it could have been (Bonferroni). And neighbours resemble each other and count less
(`autocorrelation`): `SECONDS` of one trial, and `RUNS` on one machine from day to day.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdyno.analysis.within_trial.autocorrelation import (
    correlation,
    effective,
    mean_variance,
    scaled,
)

P = 0.05
MIN_SIZE = 3
# A search costs the square of its points in time and memory (8 MB a table). Longer series are
# searched by means of neighbours; then each point is placed exactly.
POINTS_MAX = 1024
LOOSE = 10.0  # times p in the first pass
DEPENDENCE_MIN = 20  # seconds: fewer do not show whether neighbours resemble each other

Floats = NDArray[np.float64]
# (left end, place, right end, places searched) -> p that the stretches on both sides are alike.
Weight = Callable[[int, int, int, int], float]


@dataclass(frozen=True)
class Neighbours:
    """How much neighbouring values resemble each other, change or not. `error`: from the residuals
    of two stretches and the length of the first, the variance of the difference between their
    means, and its degrees of freedom. `loose`: times p in the first pass."""

    error: Callable[[Floats, int], tuple[float, float]]
    loose: float


def _worth(rest: Floats, left: int, worth: float) -> tuple[float, float]:
    """Of values that are worth `worth` independent ones."""
    n = len(rest)
    free = worth - 2.0
    if free <= 0.0:
        return math.inf, 0.0
    variance = float(np.dot(rest, rest)) / n * worth / free
    return variance * n / worth * (1.0 / left + 1.0 / (n - left)), free


def _independent(rest: Floats, left: int) -> tuple[float, float]:
    return _worth(rest, left, float(len(rest)))


def _seconds(rest: Floats, left: int) -> tuple[float, float]:
    n = len(rest)
    return _worth(rest, left, effective(rest) if n >= DEPENDENCE_MIN else float(n))


def _runs(rest: Floats, left: int) -> tuple[float, float]:
    """Of values whose correlation r falls as powers of r from neighbour to neighbour. Degrees of
    freedom of their sum of squares: M. Bayley and J. Hammersley, *Supplement to JRSS* 8, 1946."""
    r = correlation(rest)
    sizes = (left, len(rest) - left)
    means = [mean_variance(size, r) for size in sizes]
    freed = sum(size * (1.0 - mean) for size, mean in zip(sizes, means, strict=True))
    return float(np.dot(rest, rest)) / freed * sum(means), freed * (1.0 - r * r) / (1.0 + r * r)


INDEPENDENT = Neighbours(_independent, LOOSE)
# With another change inside, a stretch of seconds seems strongly autocorrelated: there the first
# pass takes all places, and only the strict one judges.
SECONDS = Neighbours(_seconds, math.inf)
RUNS = Neighbours(_runs, LOOSE)


@dataclass(frozen=True)
class Change:
    """A change: the values from `index` on, until the next change, differ from those before it."""

    index: int
    before: float  # mean from the change before it, or the beginning
    after: float  # mean until the next change, or the end
    p: float  # that the two stretches are alike, corrected for the search for the place


def changes(
    values: Sequence[float] | Floats,
    neighbours: Neighbours,
    p: float = P,
    min_size: int = MIN_SIZE,
    *,
    least: float = 0.0,
) -> tuple[Change, ...]:
    """Change points of finite `values`, in order, each significant at `p` and larger than `least`.

    No two are closer than `min_size` (at least 2) to each other or to an end; of a series of fewer
    than twice that, and for a constant one, there is none. Time and memory are bounded by
    `POINTS_MAX` squared a stretch.
    """
    min_size = max(2, min_size)
    series, scale = scaled(np.asarray(values, dtype=np.float64))
    n = len(series)
    if n < 2 * min_size or np.ptp(series) == 0.0:
        return ()

    @functools.cache
    def weight(left: int, at: int, right: int, looks: int) -> float:
        return _p(series[left:at], series[at:right], looks, neighbours, least / scale)

    first = min(1.0, neighbours.loose * p)
    bounds = _merge(n, sorted(_split(series, weight, first, min_size)), weight, p)
    found = []
    for left, at, right in zip(bounds, bounds[1:], bounds[2:], strict=False):
        before, after = float(series[left:at].mean()), float(series[at:right].mean())
        found.append(Change(at, before * scale, after * scale, weight(left, at, right, n - 1)))
    return tuple(found)


def _split(series: Floats, weight: Weight, p: float, min_size: int) -> list[int]:
    """Places that may be changes, each loosely significant in its stretch."""
    todo, found = [(0, len(series))], []
    while todo:
        start, end = todo.pop()
        best = _best(series[start:end], min_size)
        if best is None:
            continue
        at, until = start + best[0], start + best[1]
        if weight(start, at, until, end - start - 1) > p:
            continue
        found.append(at)
        todo += [(start, at), (at, end)]
    return found


def _merge(n: int, places: list[int], weight: Weight, p: float) -> list[int]:
    """The places that are significant at `p` between those that are left, with both ends of the
    series: the weakest is dropped until none is left that is not. One that was dropped next to
    another that has gone, too, gets a second chance."""

    def weigh(bounds: list[int], i: int) -> float:
        return weight(bounds[i - 1], bounds[i], bounds[i + 1], n - 1)

    bounds, dropped = [0, *places, n], []
    while len(bounds) > 2:
        ps = [weigh(bounds, i) for i in range(1, len(bounds) - 1)]
        weakest = max(range(len(ps)), key=ps.__getitem__)
        if ps[weakest] <= p:
            break
        dropped.append(bounds.pop(weakest + 1))
    for _ in range(len(dropped)):
        tried = [sorted([*bounds, place]) for place in dropped if place not in bounds]
        ps = [weigh(one, one.index(*({*one} - {*bounds}))) for one in tried]
        if not ps or min(ps) > p:
            break
        bounds = tried[ps.index(min(ps))]
    return bounds


def _best(series: Floats, min_size: int) -> tuple[int, int] | None:
    """The split and the end of its right side with the largest energy distance between the sides;
    None if there is no room or no change is possible."""
    n = len(series)
    if n < 2 * min_size or np.ptp(series) == 0.0:
        return None
    width = math.ceil(n / POINTS_MAX)
    if width == 1:
        return _search(series, min_size)
    whole = n // width
    coarse = series[: whole * width].reshape(whole, width).mean(axis=1)
    found = _search(coarse, max(2, math.ceil(min_size / width)))
    if found is None:
        return None
    at, until = found[0] * width, found[1] * width if found[1] < whole else n
    return _place(series, at, until, width, min_size), until


def _search(series: Floats, min_size: int) -> tuple[int, int] | None:
    """As `_best`, over all splits and ends; O(n squared), n at most `POINTS_MAX`."""
    n = len(series)
    distances = np.abs(series[:, None] - series[None, :])
    # until[i, k]: sum of the distances of i to all j with i < j < k; so summed over i < t or
    # i >= t it is what lies left of, across, and right of a split at t of the first k.
    until = np.zeros((n, n + 1))
    until[:, 1:] = np.cumsum(np.triu(distances, 1), axis=1)
    upto = np.zeros((n + 1, n + 1))
    upto[1:] = np.cumsum(until, axis=0)  # upto[t, k]: pairs i < t, i < j < k
    t = np.arange(n + 1)[:, None]
    k = np.arange(n + 1)[None, :]
    left = upto[np.arange(n + 1), np.arange(n + 1)][:, None]  # pairs within the first t
    across = upto - left
    right = upto[np.arange(n + 1), np.arange(n + 1)][None, :] - upto  # pairs from t to k
    a, b = t, k - t
    room = (a >= min_size) & (b >= min_size)
    a, b = np.where(room, a, 2), np.where(room, b, 2)
    energy = (
        2.0 * across / (a * b) - 2.0 * left / (a * (a - 1.0)) - 2.0 * right / (b * (b - 1.0))
    ) * (a * b / (a + b))
    energy = np.where(room, energy, -np.inf)
    best = int(np.argmax(energy))
    at, end = divmod(best, n + 1)
    return (at, end) if energy[at, end] > 0.0 else None


def _place(series: Floats, near: int, end: int, width: int, min_size: int) -> int:
    """Where near `near` the split of the first `end` values leaves the smallest sum of squares."""
    places = range(max(min_size, near - width), min(end - min_size, near + width) + 1)

    def squares(at: int) -> float:
        return float(np.var(series[:at]) * at + np.var(series[at:end]) * (end - at))

    return min(places, key=squares, default=near)


def _p(left: Floats, right: Floats, looks: int, neighbours: Neighbours, least: float) -> float:
    """Two-sided p of Student's t that two neighbouring stretches have one mean, times `looks`, the
    places searched; 1 at most, and for means that differ by `least` or less."""
    from scipy.special import stdtr

    off = float(left.mean() - right.mean())
    if abs(off) <= least:
        return 1.0
    rest = np.concatenate([left - left.mean(), right - right.mean()])
    variance, free = neighbours.error(rest, len(left))
    error = math.sqrt(variance)
    if error <= 1e-12 * abs(off):
        return 0.0 if off else 1.0
    if free <= 0.0:
        return 1.0
    p = 2.0 * float(stdtr(free, -abs(off) / error))
    return min(1.0, p * looks)
