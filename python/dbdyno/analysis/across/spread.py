"""One more run held against the runs before it: a prediction interval for a single observation.

With x_1..x_n the logarithms of a metric in n runs and y that in the new one, all from one normal
distribution, y - mean(x) has the standard deviation sigma sqrt(1 + 1/n), so that

    y - mean(x)  +-  t(1 - alpha/2; n - 1) s sqrt(1 + 1/n)

is an interval for the change of the true level. The same as the two-sample t test with samples of
n and of 1, whose pooled standard deviation is s. Source: Hahn (1969), "Factors for calculating
two-sided prediction intervals for samples from a normal distribution", JASA 64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from dbdyno.analysis.contrast import Interval


@dataclass(frozen=True)
class Prediction:
    """The ratio of a new run to the geometric mean of those before; a `contrast.Contrast`.

    `before`: their logarithms, shape (n,), n >= 2, not all the same; `now`: the new one's.
    """

    before: tuple[float, ...]
    now: float
    threshold: float = 1.0

    def __post_init__(self) -> None:
        if len(self.before) < 2 or not all(map(math.isfinite, (*self.before, self.now))):
            raise ValueError("needs at least 2 runs before, all finite")

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
        """Two-sided p of "the new run's level is the others'"."""
        away = abs(self._difference - math.log(self.threshold))
        if self._error == 0.0:
            return 1.0 if away == 0.0 else 0.0
        return float(2 * special.stdtr(self.n - 1, -away / self._error))

    def interval(self, confidence: float) -> Interval:
        """Of the ratio; an end that a float cannot hold is open."""
        half = float(special.stdtrit(self.n - 1, 0.5 + confidence / 2)) * self._error
        return _exp(self._difference - half), _exp(self._difference + half)

    @property
    def _difference(self) -> float:
        return self.now - math.fsum(self.before) / self.n

    @property
    def _error(self) -> float:
        return deviation(self.before) * math.sqrt(1 + 1 / self.n)


def deviation(logs: Sequence[float]) -> float:
    """Standard deviation of logarithms, shape (n,), n >= 2, divisor n - 1; exactly 0 for equal
    ones."""
    return 0.0 if np.ptp(logs) == 0.0 else float(np.std(logs, ddof=1))


def _exp(value: float) -> float | None:
    try:
        return math.exp(value)
    except OverflowError:
        return None
