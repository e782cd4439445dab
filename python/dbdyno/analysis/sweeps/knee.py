"""The knee of a load: where growth in proportion would reach the ceiling.

Throughput can neither grow faster than in proportion to the load nor beyond what the busiest device
gives; both lines, the ray through the lowest level and the ceiling, meet at

    N* = X(ceiling) / (X(first) / N(first))

(asymptotic bounds of operational analysis: Denning and Buzen 1978, "The operational analysis of
queueing network models"; Lazowska et al. 1984, Quantitative System Performance, chapter 5). One
number a block, on the logarithmic scale, with a t interval at 95 %. If the first level already
queues, N* is too high: it is an upper estimate, exact where the lowest level is one session.

There is a ceiling only where the top is flat or falls. The highest mean of a curve that still grows
is no ceiling: taking it for one would give every line a knee at its end. So a knee wants it shown
that from half of the highest load on (two levels at least) the throughput grows by less than
`FLAT` a doubling: the upper 95 % limit of the slope of ln X over ln N, least squares in each block.
Otherwise the lower end of N* is what is known: the ceiling is no lower than what was measured.

Where the top is shown neither to grow nor to fall, the ceiling is the mean of its levels, not the
highest of them, which noise would lift. Else it is the best level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dbdyno.analysis.estimates.estimate import CONFIDENCE, t_interval

FLAT = 0.1  # a growth a doubling of the load, below which the top is flat
_BEYOND = math.log(1e12)

Logs = Sequence[Sequence[float]]  # ln of the throughput by level and block, shape (levels, n)


@dataclass(frozen=True)
class Growth:
    """How much a doubling of the load adds at the top, as a ratio minus one: 90 % interval, each
    end of which holds at 95 %."""

    low: float
    high: float

    @property
    def is_flat(self) -> bool:
        """Whether it is shown to be flat, or to fall."""
        return self.high < FLAT


def growth(logs: Logs, loads: Sequence[float]) -> Growth:
    """Of throughput over the top of rising `loads` > 0; at least two, each with n >= 2 blocks."""
    top = _top(loads)
    x = np.log([loads[level] for level in top])
    y = np.asarray([logs[level] for level in top])
    slopes = (x - x.mean()) @ y / float(((x - x.mean()) ** 2).sum())
    _, low, high = t_interval(slopes, 2 * CONFIDENCE - 1)
    return Growth(*(math.expm1(min(math.log(2) * end, _BEYOND)) for end in (low, high)))


def knee(logs: Logs, loads: Sequence[float], best: int) -> tuple[float, float, float] | None:
    """N* with its 95 % interval; None where that is beyond all bounds. `best`: the level with the
    highest mean."""
    added = growth(logs, loads)
    top = _top(loads) if added.low <= 0 <= added.high else [best]
    ceiling = np.mean([logs[level] for level in top], axis=0)
    centre, low, high = t_interval(ceiling - np.asarray(logs[0]) + math.log(loads[0]), CONFIDENCE)
    if high > _BEYOND:
        return None
    return math.exp(centre), math.exp(low), math.exp(high)


def _top(loads: Sequence[float]) -> range:
    """The levels from half of the highest load on, the last two at least."""
    first = next(level for level, load in enumerate(loads) if load >= loads[-1] / 2)
    return range(min(first, len(loads) - 2), len(loads))
