"""Ratios of two cells within blocks: the basis of both claims and the table of comparisons.

d_b = ln(left_b) - ln(right_b) for each block b in which both were measured. Whatever a block has in
common (the machine's condition, the data set, a noisy neighbour) cancels; on the log scale "twice"
and "half" are equally far from 1, and a ratio of ratios is a difference.
docs/decisions/paired-t-on-log-ratios.md says what was refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dbdyno.analysis.claims.contrast import LogRatio, Welch
from dbdyno.analysis.estimates.estimate import BLOCKS_MIN, CONFIDENCE
from dbdyno.analysis.estimates.events import RateRatio, ratio_alike
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.message import Message, joined
from dbdyno.analysis.types import Ratio
from dbdyno.experiment.claims.metrics import grain, why_absent
from dbdyno.experiment.values.bounds import NEITHER, of_inverse, together

# Planned blocks from which on the position in the block is a covariate. Fewer cannot spare its
# degree of freedom: 5 blocks would find a difference of 5 % at 2 % noise in 71 % of runs instead of
# 82 %. Balanced orders keep the error rate without it, too.
POSITION_BLOCKS = 6


@dataclass(frozen=True)
class Pairs:
    """Values of two cells by block, shape (n,) each; or why they cannot be compared. Not `paired`:
    all values of either cell, shapes (n,) and (m,), since nothing says which belong together."""

    left: tuple[float, ...]
    right: tuple[float, ...]
    blocks: tuple[int, ...]
    problem: str = ""  # not estimable: a zero, an outage
    note: str = ""  # blocks omitted, and why
    bound: str = ""  # AT_LEAST or AT_MOST: what the ratio is, where a side has bounds
    paired: bool = True
    grain: float = 0.0  # how far a log may be off by rounding
    positions: tuple[int, ...] = ()  # in the block, left less right; empty: they do not count
    alike: RateRatio | None = None  # of rates of events, whose ratio was the same in all blocks
    zero: bool = False  # whether a zero is all that the problem is

    def contrast(self, threshold: float) -> LogRatio | Welch | RateRatio:
        """The ratio, to be compared with a threshold. Only if there is no `problem`."""
        if self.alike:
            return replace(self.alike, threshold=threshold)
        if self.paired:
            return LogRatio(self.logs, threshold, self.grain, self.positions)
        sides = [tuple(map(math.log, side)) for side in (self.left, self.right)]
        return Welch(sides[0], sides[1], threshold)

    @property
    def logs(self) -> tuple[float, ...]:
        """ln(left / right), shape (n,). Only if there is no `problem`."""
        return tuple(math.log(a) - math.log(b) for a, b in zip(self.left, self.right, strict=True))


def pairs(measured: Measured, left: tuple[int, str], right: tuple[int, str]) -> Pairs:
    """Pairs of (cell, metric) and (cell, metric).

    One block with a zero (or less), an outage, or too few operations for a percentile that others
    have makes the whole ratio not estimable: leaving such blocks out would judge a system by its
    good days.
    """
    if not measured.plan.paired:
        return _samples(measured, left, right)
    blocks = measured.blocks((left[0], right[0]))
    problem = disturbed(measured, (left[0], right[0]), blocks)
    series = [measured.series(*side) for side in (left, right)]
    used = tuple(block for block in blocks if all(block in one for one in series))
    thin, note = absent([left[1], right[1]], len(used), len(blocks))
    problem, has_zero = problem or thin, False
    for (cell, metric), one in zip((left, right), series, strict=True):
        zero = [block for block in used if one[block] <= 0]
        if zero and not problem:
            value, at, has_zero = one[zero[0]], _cell(measured, cell), True
            problem = Message("zero", metric=metric, value=value, cell=at, blocks=zero)
    values = [tuple(one[block] for block in used) for one in series]
    bound = together((measured.bound(*left), of_inverse(measured.bound(*right))))
    if bound == NEITHER and not problem:
        problem = _nothing_known(measured, left, right)
    rounded = math.log1p(max(grain(left[1]), grain(right[1])))
    positions = _positions(measured, left[0], right[0], used)
    found = Pairs(values[0], values[1], used, problem, note, bound, True, rounded, positions)
    found = replace(found, zero=has_zero)
    if problem or bound or not used:
        return found
    lengths_s = [tuple(measured.cells[cell][b].length_s for b in used) for cell, _ in (left, right)]
    names = (left[1], right[1])
    same = ratio_alike(names, (values[0], values[1]), (lengths_s[0], lengths_s[1]), 1.0)
    return replace(found, alike=same)


def _positions(measured: Measured, left: int, right: int, blocks: Sequence[int]) -> tuple[int, ...]:
    """The covariate of a comparison, by block: decided by the plan, never by what was measured."""
    plan = measured.plan
    planned = plan.looks.max if plan.looks else plan.blocks
    if planned < POSITION_BLOCKS or left == right:
        return ()
    return tuple(measured.position(left, one) - measured.position(right, one) for one in blocks)


def _samples(measured: Measured, left: tuple[int, str], right: tuple[int, str]) -> Pairs:
    """The same of runs that nothing pairs."""
    problem, notes, values = "", [], []
    for cell, metric in (left, right):
        series, runs = measured.series(cell, metric), measured.blocks((cell,))
        thin, note = absent([metric], len(series), len(runs))
        notes.append(note)
        problem = problem or disturbed(measured, (cell,), runs) or thin
        if not problem and any(value <= 0 for value in series.values()):
            problem = Message("zero_in_run", metric=metric, cell=_cell(measured, cell))
        values.append(tuple(series.values()))
    count = min(map(len, values))
    note = joined(*dict.fromkeys(notes))
    return Pairs(values[0], values[1], tuple(range(1, count + 1)), problem, note, paired=False)


def _nothing_known(measured: Measured, left: tuple[int, str], right: tuple[int, str]) -> str:
    """Why two bounds say nothing about a ratio."""
    bounds = [measured.bound(*side) for side in (left, right)]
    if bounds[0] == bounds[1] != NEITHER:
        cell = _cell(measured, left[0])
        return Message("both_bounds", bound=bounds[0], metric=left[1], cell=cell)
    sides = [
        Message("bound_in", metric=metric, bound=bound, cell=_cell(measured, cell))
        for bound, (cell, metric) in zip(bounds, (left, right), strict=True)
        if bound
    ]
    return Message("different_bounds", sides=sides)


def absent(metrics: Sequence[str], used: int, blocks: int) -> tuple[str, str]:
    """A problem and a note (either may be empty) of `metrics` that only `used` of `blocks` have.

    A percentile is absent where a trial had few operations, which is where the system was slow:
    what the other blocks say of it would flatter. What a sampler missed is missing at random.
    """
    if used == blocks:
        return "", ""
    one_sided = bool(used) and any(map(why_absent, metrics))
    text = Message(
        "absent", metrics=metrics, missing=blocks - used, blocks=blocks, longer=one_sided
    )
    return (text, "") if one_sided else ("", text)


def disturbed(measured: Measured, cells: Sequence[int], blocks: Sequence[int]) -> str:
    """Says which of `cells` had an outage in `blocks` or failed altogether; empty if none."""
    for cell in dict.fromkeys(cells):
        if failed := measured.failures(cell):
            return Message("never_measured", cell=_cell(measured, cell), blocks=failed)
        if hit := measured.outages(cell, blocks):
            return Message("outage", cell=_cell(measured, cell), blocks=hit)
    return ""


def _cell(measured: Measured, cell: int) -> dict[str, str]:
    return dict(measured.cell(cell).levels)


def plain_ratio(compared: Pairs) -> Ratio | None:
    """The ratio with its 95 % interval, not adjusted for several comparisons.

    None if it cannot be estimated, or only bounded; no interval and no p below 3 blocks.
    """
    if compared.problem or compared.bound or not compared.blocks:
        return None
    contrast = compared.contrast(1.0)
    n = contrast.n
    if not math.isfinite(contrast.centre):
        return None
    if n < BLOCKS_MIN:
        return Ratio(contrast.centre, None, None, CONFIDENCE, n, None)
    low, high = contrast.interval(CONFIDENCE)
    return Ratio(contrast.centre, low, high, CONFIDENCE, n, contrast.p)
