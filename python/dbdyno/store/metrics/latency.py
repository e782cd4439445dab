"""Times of transactions, some of which were given up or left: those count with their age.

What did not commit would have taken longer than its age: a lower bound, and a percentile that it
could move is one too. A quantile of `n` values is known where it lies in the same bucket of the
histogram, or the next, whether the ages are taken as they are or for endless; else it is a bound.
A mean is one as soon as one value is. docs/decisions/lower-bounds.md says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dbdyno.experiment.claims.metrics import values_needed
from dbdyno.experiment.values.bounds import AT_LEAST
from dbdyno.store.metrics.histogram import Histogram, merge

QUANTILES = (("p50", 0.50), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999))


class Times(NamedTuple):
    """Metrics by name, and which of them are bounds."""

    metrics: dict[str, float]
    bounds: dict[str, str]


def times(kind: str, latency: Mapping[str, Any] | None, from_ns: int | None = None) -> Times:
    """The metrics `service_ms_...` or `response_ms_...` of a summary as the engine writes it.

    Engines before `censored` named one age, `from_ns`, from which on values were bounds.
    """
    if not latency or not latency["count"]:
        return Times({}, {})
    bounded = set(latency.get("at_least", ()))
    if from_ns is not None:
        bounded |= {"mean_ns", *(f"{q}_ns" for q, _ in QUANTILES if _reaches(latency, q, from_ns))}
    metrics, bounds = {}, {}
    for short in ("mean", *(q for q, _ in QUANTILES)):
        name, value = f"{kind}_ms_{short}", latency.get(f"{short}_ns")
        if value is None or latency["count"] < values_needed(name):
            continue
        metrics[name] = value / 1e6
        if f"{short}_ns" in bounded:
            bounds[name] = AT_LEAST
    return Times(metrics, bounds)


def _reaches(latency: Mapping[str, Any], short: str, from_ns: int) -> bool:
    value = latency.get(f"{short}_ns")
    return value is not None and value >= from_ns


@dataclass(frozen=True)
class Censored:
    """Times of what committed, and ages of what did not."""

    known: Histogram
    ages: Histogram = field(default_factory=Histogram.empty)

    @property
    def all(self) -> Histogram:
        """Both together."""
        return merge((self.known, self.ages))

    def is_bound(self, shares: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether the quantiles at `shares` (0 to 1) are lower bounds; shape of `shares`."""
        count = self.known.count + self.ages.count
        ranks = np.maximum(1, np.ceil(shares * count - 1e-9))
        low = np.searchsorted(np.cumsum(self.known.counts + self.ages.counts), ranks)
        high = np.searchsorted(np.cumsum(self.known.counts), ranks)
        return np.asarray(high > low + 1)

    def ecdf(self, points: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """`Histogram.ecdf` of all values, without the points that are bounds."""
        values, shares = self.all.ecdf(points)
        known = ~self.is_bound(shares)
        return values[known], shares[known]

    def summary(self) -> dict[str, Any] | None:
        """As the engine summarises it, with the mean of the buckets; None without a value."""
        both = self.all
        if not both.count:
            return None
        shares = np.array([q for _, q in QUANTILES])
        bounded = [
            f"{short}_ns"
            for (short, _), is_bound in zip(QUANTILES, self.is_bound(shares).tolist(), strict=True)
            if is_bound
        ]
        return {
            "count": both.count,
            "mean_ns": both.mean_ns(),
            **{f"{short}_ns": both.quantile_ns(q) for short, q in QUANTILES},
            "max_ns": both.quantile_ns(1.0),
            "censored": self.ages.count,
            "at_least": ["mean_ns", *bounded] if self.ages.count else [],
        }
