"""Checks the blocks of some ratios, in one budget of false alarms."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from dbdyno.analysis.between_blocks.statistics import neighbours, outlier, trend
from dbdyno.analysis.claims.contrast import Interval, LogRatio
from dbdyno.analysis.estimates.ratios import Pairs
from dbdyno.analysis.message import Message

# With fewer blocks one of them is half of what is known about the noise.
BLOCKS_LOOK_MIN = 5
ALPHA = 0.05  # of a false warning in a run whose blocks are independent and alike
# Shares of the tests. With 3/5 one block of six that is 20 % off at 2 % noise is found in 95 of 100
# runs, with 1/3 in 87.
OUTLIER_SHARE, TREND_SHARE, NEIGHBOURS_SHARE = 0.6, 0.2, 0.2


@dataclass(frozen=True)
class Uneven:
    """Unusual blocks of a ratio; nothing: no place, and no sentence."""

    pairs: Pairs
    outlier: int | None  # its place among `pairs.blocks`
    trend: float | None  # slope a block, of the log ratio
    alike: float | None  # lag-1 autocorrelation, where blocks next to each other are alike

    @property
    def block(self) -> int:
        """The outlier, by its number."""
        assert self.outlier is not None
        return self.pairs.blocks[self.outlier]

    def without(self, threshold: float, confidence: float) -> Interval:
        """The interval of the ratio without its outlier."""
        assert self.outlier is not None
        at, known = self.outlier, self.pairs.contrast(threshold)
        assert isinstance(known, LogRatio)
        logs = known.logs[:at] + known.logs[at + 1 :]
        positions = known.positions[:at] + known.positions[at + 1 :]
        return replace(known, logs=logs, positions=positions).interval(confidence)

    def messages(self, where: str = "") -> list[Message]:
        """Unusual blocks of the ratio `where` (" at 4 sessions"; empty: no need to say)."""
        logs, blocks = self.pairs.logs, self.pairs.blocks
        said = []
        at = {"first": blocks[0], "last": blocks[-1], "where": where}
        if self.outlier is not None:
            one = logs[self.outlier]
            others = (math.fsum(logs) - one) / (len(logs) - 1)
            far = {"one": math.exp(one), "others": math.exp(others), "where": where}
            said.append(Message("outlier", block=self.block, **far))
        if self.trend is not None:
            middle, mean = float(np.mean(blocks)), float(np.mean(logs))
            ends = [
                math.exp(mean + self.trend * (block - middle)) for block in (blocks[0], blocks[-1])
            ]
            said.append(Message("block_trend", **at, ends=ends, rises=self.trend > 0))
        if self.alike is not None:
            said.append(Message("blocks_alike", **at, r=self.alike))
        return said


def look(ratios: Mapping[Hashable, Pairs]) -> dict[Hashable, Uneven]:
    """Unusual blocks of each ratio; ratios without any are omitted.

    Ratios within blocks that have `BLOCKS_LOOK_MIN` of them at least. Each test of each ratio gets
    its share of `ALPHA` over their count (Bonferroni), so that independent normal noise gives any
    warning in at most 5 % of runs. Neighbours are alike along a trend: then only that is reported.
    """
    tried = {key: pairs for key, pairs in ratios.items() if _testable(pairs)}
    found = {key: _uneven(pairs, ALPHA / len(tried)) for key, pairs in tried.items()}
    return {key: one for key, one in found.items() if one.messages()}


def _testable(pairs: Pairs) -> bool:
    """Whether there is one log ratio a block, in enough blocks, which differ by more than
    rounding."""
    if not pairs.paired or pairs.problem or pairs.bound or pairs.alike:
        return False
    return len(pairs.blocks) >= BLOCKS_LOOK_MIN and np.ptp(pairs.logs) > 2 * pairs.grain


def _uneven(pairs: Pairs, alpha: float) -> Uneven:
    at, p_outlier = outlier(pairs.logs, pairs.grain)
    slope, p_trend = trend(pairs.blocks, pairs.logs)
    r, p_alike = neighbours(pairs.blocks, pairs.logs)
    drifts = p_trend <= TREND_SHARE * alpha
    return Uneven(
        pairs,
        at if p_outlier <= OUTLIER_SHARE * alpha else None,
        slope if drifts else None,
        r if p_alike <= NEIGHBOURS_SHARE * alpha and not drifts else None,
    )
