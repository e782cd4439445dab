"""Throughput over time, made up: what a trial that ends when steady would have counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dbdyno.store.metrics.timeseries import TICK_S

Floats = NDArray[np.float64]
PER_S = 1000.0
NOISE = 0.04  # standard deviation of a second's throughput, besides the chance of single commits
LIKE_BEFORE = 0.5  # autocorrelation of neighbouring seconds


@dataclass(frozen=True)
class Course:
    """A system whose throughput has a shape over time, and the throughput it has for good."""

    name: str
    shape: Callable[[Floats, float], Floats]  # of times in s, and where in its cycle it begins
    per_s: float
    period_s: float = 0.0  # of what comes back

    def ticks(self, length_s: float, rng: np.random.Generator) -> NDArray[np.int64]:
        """Commits in each tick."""
        at = np.arange(0.0, length_s, TICK_S)
        rate = self.shape(at, rng.uniform(0.0, self.period_s)) * PER_S
        seconds = int(np.ceil(length_s)) + 1
        noise = np.empty(seconds)
        noise[0] = rng.normal()
        steps = rng.normal(0.0, np.sqrt(1.0 - LIKE_BEFORE**2), seconds)
        for index in range(1, seconds):
            noise[index] = LIKE_BEFORE * noise[index - 1] + steps[index]
        wobble = 1.0 + NOISE * noise[at.astype(int)]
        return rng.poisson(np.maximum(rate * wobble, 0.0) * TICK_S)


DIP_S, DIP_TO = 4.0, 0.15  # a checkpoint: so long, at such a share of the usual throughput


def checkpoints(period_s: float) -> Course:
    """A checkpoint each `period_s`, the first at any moment of the first period."""

    def shape(at: Floats, phase_s: float) -> Floats:
        is_down = np.mod(at - phase_s, period_s) < DIP_S
        return np.where(is_down & (at >= phase_s), DIP_TO, 1.0)

    share = 1.0 - (1.0 - DIP_TO) * DIP_S / period_s
    return Course(f"a checkpoint each {period_s:g} s", shape, share * PER_S, period_s)


def warming(from_share: float, time_s: float) -> Course:
    """A cache that fills: throughput approaches its limit, by 1 - 1/e of the rest in `time_s`."""

    def shape(at: Floats, _: float) -> Floats:
        return np.asarray(1.0 - (1.0 - from_share) * np.exp(-at / time_s))

    name = f"a cache that warms from {from_share:.0%} in {time_s:g} s".replace("%", " %")
    return Course(name, shape, PER_S)


def even() -> Course:
    """Nothing but noise."""
    return Course("nothing but noise", lambda at, _: np.ones_like(at), PER_S)
