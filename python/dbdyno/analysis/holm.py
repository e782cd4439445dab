"""One error budget for all claims: Holm's step-down procedure, with intervals that agree with it.

Holm (1979), "A simple sequentially rejective multiple test procedure": order the m two-sided p
values; the one of rank k (from 1) is tested at a_k = alpha / (m - k + 1), and testing stops at the
first that fails. The chance of any wrong decision is then at most alpha, however the tests depend
on each other (for wrong *directions* that is proved for independent tests, Shaffer 1980, and a
working assumption otherwise).

Intervals. A decided part of rank k gets its interval at confidence 1 - a_k. Every undecided part
gets it at the level of the first failure, 1 - a_K, K = decided + 1: since its p is no smaller than
the first failure's, which exceeds a_K, its interval holds the threshold. So a printed interval
excludes the threshold exactly if the part is decided. The verdict is read off the interval itself
(`verdict.read`), not off p, so that rounding cannot part them either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dbdyno.analysis.contrast import Contrast, Interval

ALPHA = 0.05


@dataclass(frozen=True)
class Adjusted:
    """A contrast's interval at its adjusted confidence `level`."""

    level: float
    interval: Interval
    p: float


def holm(
    contrasts: Sequence[Contrast],
    decides: Callable[[int, Interval], bool],
    alpha: float = ALPHA,
) -> list[Adjusted]:
    """Adjusted intervals, in the order of `contrasts`.

    `decides(i, interval)` says whether an interval of contrast i settles its claim part. Ties in p
    keep their order.
    """
    m = len(contrasts)
    ps = [contrast.p for contrast in contrasts]
    order = sorted(range(m), key=ps.__getitem__)
    adjusted: dict[int, Adjusted] = {}
    decided = 0
    stopped = False
    for index in order:
        level = 1 - alpha / (m - decided)
        interval = contrasts[index].interval(level)
        adjusted[index] = Adjusted(level, interval, ps[index])
        stopped = stopped or not decides(index, interval)
        if not stopped:
            decided += 1
    return [adjusted[index] for index in range(m)]
