"""How the latency curve moved, in words."""

from __future__ import annotations

from dbdyno.analysis.types import LatencyShift
from dbdyno.wording.numbers import listed

PLAIN = {
    "needs_transactions": "needs {needed:,} transactions a trial, and one has {least:,}",
    "zero_in_trial": "is zero in a trial",
    "lower_bounds": "is only a lower bound on both sides",
}


def of_quantile(q: float, why: str) -> str:
    """A percentile that is not compared."""
    return f"{name(q)}: {why}"


def sentence(shift: LatencyShift) -> str:
    """What the chart shows, in words: which percentiles moved for certain."""
    longer = [name(one.quantile) for one in shift.moved if one.ci_low and one.ci_low > 1]
    shorter = [name(one.quantile) for one in shift.moved if one.ci_high and one.ci_high < 1]
    said = [
        f"{listed(names)} {word}"
        for names, word in ((longer, "longer"), (shorter, "shorter"))
        if names
    ]
    return "; ".join(said) or "no percentile is shown to differ"


def name(q: float) -> str:
    """`p99.9` of 0.999."""
    return f"p{100 * q:.4g}"
