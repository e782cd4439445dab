"""How the whole latency curve of the leading comparison moved: a ratio for each percentile.

The definition is that of claims on one percentile: the percentile of each trial, its ratio within
each block, their geometric mean and its t interval on the log scale. Several percentiles are read
from one chart, so their intervals hold together (Bonferroni: of k percentiles each has confidence
1 - (1 - level) / k), and are wider than a claim's on one of them.
docs/decisions/latency-curves.md says why.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dbdyno.analysis.claims.contrast import LogRatio
from dbdyno.analysis.estimates.estimate import BLOCKS_MIN, CONFIDENCE
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.estimates.ratios import disturbed
from dbdyno.analysis.headlines.lead import Lead
from dbdyno.analysis.message import Message, joined
from dbdyno.analysis.types import LatencyShift, Moved
from dbdyno.experiment.values.bounds import AT_LEAST, NEITHER, of_inverse, together
from dbdyno.plan.types import Cell
from dbdyno.store.metrics.histogram import Histogram, Tagged, merge
from dbdyno.store.metrics.latency import Censored

QUANTILES = (0.5, 0.75, 0.9, 0.95, 0.99, 0.999)
_GRAIN = math.log1p(0.01)  # a bucket

Log = Callable[[str], Sequence[Tagged]]


@dataclass(frozen=True)
class _Trial:
    """What a trial says of a percentile: its value in ns, and which side it bounds, if any."""

    value_ns: int
    bound: str = ""


def find_shift(measured: Measured, lead: Lead | None, log: Log) -> LatencyShift | None:
    """The shift between the two cells of `lead`, from the histograms that `log` gives by trial;
    None where nothing can be compared: fewer than 3 blocks that have both, an outage, trials that
    nothing pairs, several groups and a metric of none."""
    group = _group(lead) if lead else None
    if lead is None or group is None or not measured.plan.paired:
        return None
    cells = (lead.left.index, lead.right.index)
    blocks = measured.blocks(cells)
    if len(blocks) < BLOCKS_MIN or disturbed(measured, cells, blocks):
        return None
    kind = (
        "response" if all(_is_open(cell, group) for cell in (lead.left, lead.right)) else "service"
    )
    read = partial(_latencies, measured, group, kind, log)
    sides = [[read(cell, block) for block in blocks] for cell in cells]
    if not all(one.all.count for side in sides for one in side):
        return None
    possible = {q: _problem(q, sides) for q in QUANTILES}
    wanted = [q for q, problem in possible.items() if not problem]
    if not wanted:
        return None
    each = 1.0 - (1.0 - CONFIDENCE) / len(wanted)
    moved = tuple(_moved(q, sides[0], sides[1], each) for q in wanted)
    missing = joined(*(Message("of_quantile", q=q, why=why) for q, why in possible.items() if why))
    return LatencyShift(
        kind, group, cells[0], cells[1], CONFIDENCE, each, len(blocks), moved, missing
    )


def _group(lead: Lead) -> str | None:
    names = [group.name for group in lead.left.groups]
    if names != [group.name for group in lead.right.groups]:
        return None
    if len(names) == 1:
        return names[0]
    head = lead.metric.partition(".")[0]
    return head if head in names else None


def _is_open(cell: Cell, group: str) -> bool:
    found = next(one for one in cell.groups if one.name == group)
    return found.arrivals is not None or found.find is not None


def _latencies(
    measured: Measured, group: str, kind: str, log: Log, cell: int, block: int
) -> Censored:
    """Those of a trial that its percentiles are of: of one that ended when steady, of that part."""
    one = measured.cells[cell][block]
    lines = log(one.trial)
    if kind == "response":
        tags = (f"{group}/!response", f"{group}/!response_censored")
        return Censored(*(_merged(lines, tag, -math.inf) for tag in tags))
    begins_s = min((line.start_s for line in lines if line.tag == group), default=0.0)
    # Half a tick: an interval that was read late begins a little after its place.
    from_s = begins_s + one.from_s - 0.05
    return Censored(*(_merged(lines, tag, from_s) for tag in (group, f"{group}/!censored")))


def _merged(lines: Sequence[Tagged], tag: str, from_s: float) -> Histogram:
    return merge(line.histogram for line in lines if line.tag == tag and line.start_s >= from_s)


def _problem(q: float, sides: Sequence[Sequence[Censored]]) -> str:
    """Why a percentile is not compared; empty if it is."""
    needed = round(10 / (1 - q))
    least = min(one.all.count for side in sides for one in side)
    if least < needed:
        return Message("needs_transactions", needed=needed, least=least)
    if any(_value(one, q).value_ns <= 0 for side in sides for one in side):
        return Message("zero_in_trial")
    left, right = ({_value(one, q).bound for one in side} - {""} for side in sides)
    if left and right:
        return Message("lower_bounds")
    return ""


def _value(one: Censored, q: float) -> _Trial:
    value_ns = one.all.quantile_ns(q)
    assert value_ns is not None
    return _Trial(value_ns, AT_LEAST if bool(one.is_bound(np.array([q]))[0]) else "")


def _moved(q: float, left: Sequence[Censored], right: Sequence[Censored], level: float) -> Moved:
    sides = [[_value(one, q) for one in side] for side in (left, right)]
    logs = tuple(math.log(a.value_ns / b.value_ns) for a, b in zip(*sides, strict=True))
    contrast = LogRatio(logs, 1.0, _GRAIN)
    bound = together((*(a.bound for a in sides[0]), *(of_inverse(b.bound) for b in sides[1])))
    assert bound != NEITHER
    low, high = contrast.interval(level)
    open_up, open_down = bound == AT_LEAST, bool(bound) and bound != AT_LEAST
    return Moved(
        q,
        contrast.centre,
        None if open_down else low,
        None if open_up else high,
        bound,
    )
