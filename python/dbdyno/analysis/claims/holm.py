"""One error budget for all claims: Holm's step-down procedure, with intervals that agree with it.

Holm (1979), "A simple sequentially rejective multiple test procedure": order the m two-sided p
values; the one of rank k (from 1) is tested at a_k = alpha / (m - k + 1), and testing stops at the
first that fails. The chance of any wrong decision is then at most alpha, however the tests depend
on each other (for wrong *directions* that is proved for independent tests, Shaffer 1980, and a
working assumption otherwise).

Intervals. All are at one level, 1 - alpha / m (Bonferroni), so that together they hold what is true
with confidence 1 - alpha, and whichever of them is picked out, the largest say, still does. Only
what is decided by a later step and not yet at that level has its interval at its step's, 1 - a_k.
An undecided part's holds the threshold: its p is no smaller than the first failure's, which exceeds
a_K >= alpha / m. So a printed interval excludes the threshold exactly if the part is decided. The
verdict is read off the interval itself (`verdict.read`), not off p, so that rounding cannot part
them either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dbdyno.analysis.claims.contrast import Contrast, Interval
from dbdyno.experiment.claims.types import ALPHA


@dataclass(frozen=True)
class Adjusted:
    """A contrast's interval at its adjusted confidence `level`, and the level of its test."""

    level: float
    interval: Interval
    p: float
    alpha: float  # that p was, or would have to be, no larger than


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
        step = alpha / (m - decided)
        stopped = stopped or not decides(index, contrasts[index].interval(1 - step))
        adjusted[index] = _shown(index, contrasts[index], step, alpha / m, decides, not stopped)
        if not stopped:
            decided += 1
    return [adjusted[index] for index in range(m)]


def _shown(
    index: int,
    contrast: Contrast,
    step: float,
    least: float,
    decides: Callable[[int, Interval], bool],
    decided: bool,
) -> Adjusted:
    """The interval at the level of all, or at that of the step which alone decides."""
    interval = contrast.interval(1 - least)
    if not decided or decides(index, interval):
        return Adjusted(1 - least, interval, contrast.p, step)
    return Adjusted(1 - step, contrast.interval(1 - step), contrast.p, step)
