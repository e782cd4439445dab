"""Rates of rare events (stalls, errors) of which none was seen.

Zero in every block has no spread, so that a t interval would shrink to a point and call it certain
that there are none. But the fewer blocks and the shorter their trials, the more often events may
come and yet not be seen. Of events that come independently of each other, with none in a time T the
rate is at most

    -ln((1 - confidence) / 2) / T

(Garwood 1936, "Fiducial limits for the Poisson distribution": the exact interval; for none in three
times the mean distance, the "rule of three"). Once one was seen, values differ, and Student's t
takes over.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dbdyno.analysis.contrast import Interval

# Metrics that count events: seconds of the time that they are told for.
_EVENTS = {
    "stalls_per_min": 60.0,
    "errors_per_s": 1.0,
    "retries_per_s": 1.0,
    "failed_per_s": 1.0,
}


@dataclass(frozen=True)
class NoEvents:
    """No event in n blocks and a time of `exposure` > 0, in the metric's unit of time; held against
    a rate. A `contrast.Contrast`."""

    n: int
    exposure: float
    threshold: float

    @property
    def centre(self) -> float:
        return 0.0

    @property
    def p(self) -> float:
        if self.threshold < 0:  # which no rate can be
            return 0.0
        return min(1.0, 2 * math.exp(-self.threshold * self.exposure))

    def interval(self, confidence: float) -> Interval:
        return 0.0, self.at_most(1 - confidence)

    def at_most(self, alpha: float) -> float:
        """The upper end of the interval at confidence 1 - alpha, 0 < alpha < 1."""
        return -math.log(alpha / 2) / self.exposure

    def blocks_needed(self, alpha: float) -> int | None:
        """How many more blocks without an event would show that it is below the threshold; None if
        no number would."""
        if self.threshold <= 0:
            return None
        times = self.at_most(alpha) / self.threshold
        return max(1, math.ceil(self.n * times) - self.n) if times < 1e6 else None


def none_seen(
    metric: str, values: Sequence[float], lengths_s: Sequence[float], threshold: float
) -> NoEvents | None:
    """The contrast of a metric that counts events, if `values`, one a block, shape (n,), are all
    zero; `lengths_s`: how long each block's trial measured. None for all else."""
    unit_s = _EVENTS.get(metric.rpartition(".")[2])
    exposed_s = math.fsum(lengths_s)
    if unit_s is None or not values or any(values) or not exposed_s > 0:
        return None
    return NoEvents(len(values), exposed_s / unit_s, threshold)
