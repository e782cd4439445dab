"""Stalls of a trial, from the commits of each tick. Pure.

A stall is a stretch in which far less was committed than usual. Whether a tick belongs to one is
weighed by likelihood: of a rate of `LOW` times the usual one against the usual one, for counts that
scatter like Poisson's, or as much more as they do in this trial. The stretches where that evidence
adds up highest are found as in CUSUM charts (E. Page, *Continuous inspection schemes*, Biometrika
41, 1954). Under the usual rate evidence of `s` comes up by chance at most once in exp(s) beginnings
(a likelihood ratio is a martingale), so what counts is ln(ticks / `CHANCE`): at few commits a
second only long stalls are seen (`shortest_s`), and none is invented.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dbdyno.store.metrics.timeseries import TICK_S, Floats, Trace

LENGTH_MIN_S = 0.45  # what was half a second may seem that much shorter
DEPTH_MIN = 0.6  # shallower ones come by themselves where throughput wanders
LOW = 0.25  # of the usual rate, in a stall; below 0.54 of it a tick is evidence of one
CHANCE = 0.01  # stalls invented in a trial
BEFORE_S = -1.0  # of the warm-up is examined
AROUND_S = 30.0  # the usual rate is the median of so much time on either side
SECOND = round(1 / TICK_S)
COMMITS_MIN = 20.0  # of a stretch whose median is taken
RECOVERED = 3.0  # evidence that a stall is over: 20 to 1
QUIET_MIN = 30  # stretches that show the ups and downs of a trial
SHARE_MAX = 0.5  # of the time: what happens longer is the usual
STOPPED = 0.1  # of the usual commits: a full stop
STOP_TICKS = 3
FALL = 3.0  # times as much at least, before a stop in a trial that begins low
SHARE_MIN = 0.01  # less is indistinguishable from nothing
STEP_S = 3.0  # lower for longer, until the end, and not stopped: a step

_SPOKEN = -math.log(LOW)  # evidence that one commit takes away


class Dip(NamedTuple):
    """One stall: where it begins on the trial's clock, how long it is, and which share of the
    usual commits was missing."""

    start_s: float
    length_s: float
    depth: float


def usual(commits: Floats, due: Floats | None = None) -> Floats:
    """Commits of a usual tick around each tick, shape (n,): a running median. 0 where nothing is.

    `due`: in an open loop, the arrivals of each tick. Where these are fewer, fewer are expected: a
    lull of arrivals is no stall.
    """
    n = len(commits)
    if n == 0:
        return np.zeros(0)
    mean = float(commits.mean())
    if mean <= 0.0:
        return np.zeros(n)
    width = min(n, max(SECOND, math.ceil(COMMITS_MIN / mean)))
    merged = np.convolve(commits, np.ones(width) / width, mode="valid")
    merged = np.pad(merged, ((width - 1) // 2, width // 2), mode="edge")
    # Of commits that come in lumps the median tick says little, and seconds say more; where short
    # stalls are frequent each second has a bit of one, and ticks say more.
    found = np.maximum(_running_median(merged), _running_median(commits))
    return found if due is None else np.minimum(found, due)


def expected(trace: Trace) -> Floats:
    """Commits of a usual tick around each tick, of all groups of a trial; shape (n,)."""
    each = [usual(counts, trace.due.get(name)) for name, counts in trace.commits.items()]
    return np.asarray(np.sum(each, axis=0)) if each else np.zeros(len(trace.ends_s))


def of_trace(trace: Trace) -> tuple[Dip, ...]:
    """The stalls of a trial's measured phase, all groups together.

    The last second of its warm-up shows whether the trial begins low or stalls from the first
    moment on; stalls that began there begin at 0.
    """
    known = (trace.ends_s > BEFORE_S + TICK_S / 2) & (trace.ends_s <= trace.measured_s + TICK_S / 2)
    found = find(trace.ends_s[known], trace.total[known], expected(trace)[known])
    dips = []
    for dip in found:
        start_s = max(0.0, dip.start_s)
        end_s = min(dip.start_s + dip.length_s, trace.measured_s)
        if end_s - start_s >= LENGTH_MIN_S:
            dips.append(Dip(start_s, end_s - start_s, dip.depth))
    return tuple(dips)


def find(ends_s: Floats, commits: Floats, expected: Floats) -> tuple[Dip, ...]:
    """The stalls within ticks that end at `ends_s` (rising), shape (n,) each, in order.

    A trial that begins low has not stalled but warms up, unless it stops in between; one that is
    low for more than half of the time is so as a rule: neither has stalls.
    """
    n = len(commits)
    if n == 0 or not np.any(expected > 0.0):
        return ()
    scatter = np.maximum(1.0, _relative_spread(commits, expected) ** 2 * expected)
    evidence = ((1.0 - LOW) * expected - _SPOKEN * commits) / scatter
    enough = math.log(n / CHANCE)
    share = commits / np.maximum(expected, 1e-300)
    stretches = list(_stretches(ends_s, evidence, enough))
    quiet = np.ones(n, dtype=bool)
    for first, end in stretches:
        quiet[max(0, first - 1) : end + 1] = False
    found = []
    for stretch in stretches:
        stops = _stops(expected, share, *stretch)
        if stretch[0] == 0 and evidence[0] > 0.0:
            # It warms up. What falls to nothing from far above it has stopped nevertheless.
            dips = [stop for stop in stops if stop[0] and share[: stop[0]].mean() > FALL * STOPPED]
        else:
            dips = stops or [stretch]
        for first, end in dips:
            if float(evidence[first:end].sum()) < enough:
                continue
            dip = _dip(ends_s, share, first, end)
            stays = float(evidence[end:].sum()) > -RECOVERED  # too little follows to show otherwise
            step = stays and dip.depth < 1.0 - STOPPED and dip.length_s > STEP_S
            if dip.length_s < LENGTH_MIN_S or dip.depth < DEPTH_MIN or step:
                continue
            if _stands_out(share, quiet, first, end):
                found.append(dip)
    if sum(dip.length_s for dip in found) > SHARE_MAX * n * TICK_S:
        return ()
    return tuple(found)


def shortest_s(rate_per_s: float, measured_s: float) -> float | None:
    """The shortest full stop that is not chance at a usual rate, where commits scatter like
    Poisson's; None if no stop in the measured time can."""
    if not rate_per_s > 0.0 or not measured_s > 0.0:
        return None
    enough = math.log(max(1.0, measured_s / TICK_S) / CHANCE)
    length_s = max(enough / ((1.0 - LOW) * rate_per_s) + TICK_S, 0.5)
    return length_s if length_s <= SHARE_MAX * measured_s else None


def _running_median(values: Floats) -> Floats:
    """Median of `AROUND_S` on either side, once a second, as many at the edges as there are."""
    n, reach = len(values), round(AROUND_S / TICK_S)
    if n <= reach:
        return np.full(n, float(np.median(values)))
    # At an edge the window is moved, not mirrored: a stall there would be seen twice.
    size = min(n, 2 * reach + 1)
    windows = np.lib.stride_tricks.sliding_window_view(values, size)[::SECOND]
    medians = np.median(windows, axis=1)
    nearest = np.clip((np.arange(n) - reach + SECOND // 2) // SECOND, 0, len(medians) - 1)
    return np.asarray(medians[nearest], dtype=np.float64)


def _relative_spread(commits: Floats, expected: Floats) -> float:
    """Standard deviation of a tick's commits over those expected, by the median of how far ticks
    lie below: of those only that are no stall."""
    known = expected > 0.0
    below = 1.0 - commits[known] / expected[known]
    below = below[(below >= 0.0) & (below < 0.5)]
    return float(np.median(below)) / 0.6745 if len(below) else 0.0


def _stretches(ends_s: Floats, evidence: Floats, enough: float) -> Iterator[tuple[int, int]]:
    """[first, end) of the stretches whose evidence adds up to `enough` at least, each from where it
    begins to rise to where it is highest. None spans ticks that are missing."""
    n = len(evidence)
    broken = {*(np.flatnonzero(np.diff(ends_s) > 1.5 * TICK_S) + 1).tolist(), n}
    total, high, first, end = 0.0, 0.0, 0, 0
    for i in range(n + 1):
        # One tick of recovery may be an accident within a stall: it takes two.
        recovered = high - total >= RECOVERED and i - end > 1
        if i in broken or recovered or total <= 0.0:
            if high >= enough:
                yield first, end
            total, high, first = 0.0, 0.0, i
        if i < n:
            total += float(evidence[i])
            if total > high:
                high, end = total, i + 1


def _stops(expected: Floats, share: Floats, first: int, end: int) -> list[tuple[int, int]]:
    """The full stops within a stretch: what is slow before and after one is not part of it."""
    stopped = (share[first:end] < STOPPED) & (expected[first:end] * STOPPED >= 1.0)
    runs: list[tuple[int, int]] = []
    for i in np.flatnonzero(stopped).tolist():
        if runs and first + i - runs[-1][1] <= 1:  # a tick between may have had a few commits
            runs[-1] = runs[-1][0], first + i + 1
        else:
            runs.append((first + i, first + i + 1))
    return [run for run in runs if run[1] - run[0] >= STOP_TICKS]


def _stands_out(share: Floats, quiet: NDArray[np.bool_], first: int, end: int) -> bool:
    """Whether so many ticks together are never as low by the trial's own slow ups and downs, which
    scatter more than counts that are independent of each other. They show in the `quiet` ticks.

    A full stop is compared with them as a factor: a busy neighbour halves a rate again and again,
    and does not make it nothing.
    """
    inner = share[first + 1 : end - 1] if end - first > 2 else share[first:end]
    left = max(float(inner.mean()), SHARE_MIN)
    width = min(end - first, len(share))
    while width > 1 and not _windows(quiet, width).sum() > QUIET_MIN:
        width //= 2
    means = np.convolve(share, np.ones(width) / width, mode="valid")[_windows(quiet, width)]
    means = means[means < 1.0]
    if left < STOPPED:
        down, downs = -math.log(left), -np.log(np.maximum(means, SHARE_MIN))
    else:
        down, downs = 1.0 - left, 1.0 - means
    spread = float(np.median(downs)) / 0.6745 if len(downs) else 0.0
    return down >= -NormalDist().inv_cdf(CHANCE / (len(share) + 1)) * spread


def _windows(quiet: NDArray[np.bool_], width: int) -> NDArray[np.bool_]:
    """Whether all of `width` ticks are quiet, by the first of them; at most all there are."""
    return np.convolve(quiet, np.ones(width), mode="valid") > width - 0.5


def _dip(ends_s: Floats, share: Floats, first: int, end: int) -> Dip:
    """The stall of ticks [first, end), with the parts of the ticks at its edges that belong to it;
    `share`: commits of those expected."""
    inner = share[first + 1 : end - 1] if end - first > 2 else share[first:end]
    floor = min(float(inner.mean()), 1.0)
    begin_s, end_s = float(ends_s[first]) - TICK_S, float(ends_s[end - 1])

    def stalled(i: int) -> float:
        """How much of a tick was part of it, if it went on as usual in the rest."""
        if not 0 <= i < len(share):
            return 0.0
        return float(np.clip((1.0 - share[i]) / max(1.0 - floor, 1e-9), 0.0, 1.0))

    begin_s += TICK_S * (1.0 - stalled(first)) - TICK_S * _clear(stalled(first - 1))
    if end - first > 1:
        end_s -= TICK_S * (1.0 - stalled(end - 1))
    end_s += TICK_S * _clear(stalled(end))
    length_s = end_s - begin_s
    return Dip(begin_s, length_s, float(np.clip(1.0 - floor, 0.0, 1.0)))


def _clear(share: float) -> float:
    """What a tick next to a stall is missing beyond noise."""
    return share if share > 0.25 else 0.0
