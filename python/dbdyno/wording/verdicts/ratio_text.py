"""A ratio's verdict in a word or two, where no claim asked for one."""

from __future__ import annotations

from dbdyno.analysis.types import SAME, UNDECIDED, Ratio
from dbdyno.experiment.claims import known_metrics, metrics

NOT_JUDGED = "not judged"


def verdict(metric: str, ratio: Ratio, matters: float) -> str:
    """`faster` or `slower` of a throughput, `lower` or `higher` of any other metric, if all of the
    interval lies on that side of 1; `no difference that matters` if all of it is within `matters`
    (a ratio minus one) of 1; else `undecided`. `not judged` without an interval."""
    low, high = ratio.ci_low, ratio.ci_high
    if low is None or high is None:
        return NOT_JUDGED
    if matters and 1 / (1 + matters) <= low and high <= 1 + matters:
        return SAME
    if low <= 1 <= high:
        return UNDECIDED
    higher, lower = (
        ("higher", "lower")
        if metrics.info(metric).direction == known_metrics.LOWER
        else ("faster", "slower")
    )
    return higher if low > 1 else lower
