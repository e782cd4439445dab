"""Contrasts of values that are known on one side only."""

from __future__ import annotations

from dataclasses import dataclass

from dbdyno.analysis.claims.contrast import Around, Interval, LogRatio, Mean, Welch
from dbdyno.analysis.single_values.skewed import SkewedMean
from dbdyno.experiment.values.bounds import AT_LEAST


@dataclass(frozen=True)
class Bounded(Around):
    """A contrast made of bounds on one side: of values L_b <= X_b (AT_LEAST), or >= (AT_MOST).

    What is below all of L's interval is below X's mean, too: E X >= E L >= the interval's lower
    end, with its confidence. Nothing bounds X from above, so that side is open, and bounds that lie
    on the wrong side of the threshold say nothing: p is 1.
    """

    inner: LogRatio | Welch | Mean | SkewedMean
    bound: str

    @property
    def p(self) -> float:
        above = self.centre > self.threshold
        return self.inner.p if above == (self.bound == AT_LEAST) else 1.0

    def interval(self, confidence: float) -> Interval:
        low, high = self.inner.interval(confidence)
        return (low, None) if self.bound == AT_LEAST else (None, high)
