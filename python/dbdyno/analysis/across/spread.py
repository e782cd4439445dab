"""The ratio of two runs, held against how much runs of the same plan differ anyway.

With x_1..x_n the logarithms of a metric in n earlier runs, in the order of time, a the one of them
that is run A, and y that of the new run B, an interval for the change of the true level is

    y - a  +-  t(1 - alpha/2; n - 1) e.

If A is the run just before B, e^2 = sum (x_(i+1) - x_i)^2 / (n - 1), the mean square successive
difference: two neighbours in time differ by as much as two neighbours did before. Source: von
Neumann, Kent, Bellinson and Hart (1941), "The mean square successive difference", Annals of
Mathematical Statistics 12. What drifts slowly, as machines do, does not disturb it.

If A is older, e^2 = 2 s^2, with s the standard deviation between the runs: Student's two-sample
interval for samples of one and one, whose pooled variance is s^2. Drift over all the time between A
and B is in s only in part; docs/decisions/comparing-runs.md has the figures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from dbdyno.analysis.contrast import Interval, bounded_exp


@dataclass(frozen=True)
class RunRatio:
    """B / A; a `contrast.Contrast`. `before`: logarithms of the runs before B, oldest first, shape
    (n,), n >= 2; `a`: which of them is A; `now`: the logarithm of B."""

    before: tuple[float, ...]
    a: int
    now: float
    threshold: float = 1.0

    def __post_init__(self) -> None:
        if len(self.before) < 2 or not all(map(math.isfinite, (*self.before, self.now))):
            raise ValueError("needs at least 2 runs before, all finite")
        if not 0 <= self.a < len(self.before):
            raise ValueError(f"A is none of the {len(self.before)} runs before: {self.a}")

    @property
    def n(self) -> int:
        """Runs before."""
        return len(self.before)

    @property
    def centre(self) -> float:
        """The ratio."""
        return math.exp(self._difference)

    @property
    def p(self) -> float:
        """Two-sided p of "both runs have the same true level"."""
        away = abs(self._difference - math.log(self.threshold))
        if self.error == 0.0:
            return 1.0 if away == 0.0 else 0.0
        return float(2 * special.stdtr(self.n - 1, -away / self.error))

    def interval(self, confidence: float) -> Interval:
        """Of the ratio; an end that a float cannot hold is open."""
        half = float(special.stdtrit(self.n - 1, 0.5 + confidence / 2)) * self.error
        return bounded_exp(self._difference - half), bounded_exp(self._difference + half)

    @property
    def error(self) -> float:
        """Standard error of the logarithm of the ratio."""
        if self.a < self.n - 1:
            return math.sqrt(2) * deviation(self.before)
        steps = np.diff(self.before)
        return math.sqrt(float(steps @ steps) / (self.n - 1))

    @property
    def _difference(self) -> float:
        return self.now - self.before[self.a]


def deviation(logs: Sequence[float]) -> float:
    """Standard deviation of logarithms, shape (n,), n >= 2, divisor n - 1; exactly 0 for equal
    ones."""
    return 0.0 if np.ptp(logs) == 0.0 else float(np.std(logs, ddof=1))
