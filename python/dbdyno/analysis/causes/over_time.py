"""Evidence from a trial over time: stalls against the rest, after a step against before it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdyno.analysis.causes import evidence, names
from dbdyno.analysis.causes.curve import SAMPLES_MIN, Curve, Window
from dbdyno.analysis.causes.evidence import Evidence, Moved
from dbdyno.analysis.message import Message
from dbdyno.analysis.types import Stall, Step
from dbdyno.experiment.targets import server_url
from dbdyno.plan.types import Cell
from dbdyno.store.metrics.timeseries import Samples, Trace

LAG_MAX_S = 2.0  # a metric may move so long before or after
BEFORE_S = 0.2  # a stall may seem to begin so long before its fault: ticks are 0.1 s
LAG_COST = 0.25  # of its score, a second: what moves just then comes first
HUGE = 1e100
STEP_EDGE_S = 1.0  # of a step, on either side
MINOR = 0.5  # of a step: so small others do not bound its sides

Mask = NDArray[np.bool_]


class Calm:
    """A trial with its stalls: what is usual for each metric is worked out once for all of them."""

    def __init__(self, trace: Trace, stalls: Sequence[Stall], cell: Cell) -> None:
        windows = [_window(stall) for stall in stalls]
        curves = (Curve(name, one, windows, trace.measured_s) for name, one in sane(trace).items())
        self.trace = trace
        self._cell = cell
        self._curves = [curve for curve in curves if curve.known]
        self._facts = facts(cell, trace.samples)

    def of(self, stall: Stall) -> Evidence:
        """What moved in one of the stalls."""
        window = _window(stall)
        moved = (_in_window(curve, window) for curve in self._curves)
        return Evidence(
            evidence.STALL,
            {one.metric: one for one in moved if one is not None},
            **self._facts,
            share=1.0 - stall.depth,
            length_s=stall.length_s,
            outages=sum(1 for outage in self.trace.outages if _touches(outage, window)),
            faults=_struck(self._cell, window),
        )


def pooled(each: Sequence[Evidence]) -> Evidence:
    """Several stalls of a cell as one: medians over them, of what was sampled in half or more."""
    assert each
    moved: dict[str, list[Moved]] = {}
    for one in each:
        for name, found in one.moved.items():
            moved.setdefault(name, []).append(found)
    return replace(
        each[0],
        moved={
            name: _middle(found) for name, found in moved.items() if 2 * len(found) >= len(each)
        },
        share=float(np.median([one.share for one in each])),
        length_s=float(np.median([one.length_s for one in each])),
        outages=sum(one.outages for one in each),
        faults=tuple(dict.fromkeys(name for one in each for name in one.faults)),
    )


def of_step(trace: Trace, step: Step, steps: Sequence[Step], cell: Cell) -> Evidence:
    """After a step against before it, each side as far as the next step that is not minor; rates
    per operation (transaction), since more of everything comes with more throughput."""
    least = MINOR * abs(step.after_per_s - step.before_per_s)
    large = [one for one in steps if abs(one.after_per_s - one.before_per_s) >= least]
    others = [one.at_s for one in large if one.at_s != step.at_s]
    begin_s = max([0.0, *(at for at in others if at < step.at_s)])
    end_s = min([trace.measured_s, *(at for at in others if at > step.at_s)])
    before = begin_s, step.at_s - STEP_EDGE_S
    after = step.at_s + STEP_EDGE_S, end_s
    # A rise is explained by the slow side too: what is in question is always the slower one.
    slower, faster = (after, before) if step.after_per_s <= step.before_per_s else (before, after)
    slow_per_s, fast_per_s = (
        min(step.before_per_s, step.after_per_s),
        max(step.before_per_s, step.after_per_s),
    )
    found = {}
    for name, samples in sane(trace).items():
        now, usual = (samples.values[_within(samples, side)] for side in (slower, faster))
        if len(now) < SAMPLES_MIN or len(usual) < SAMPLES_MIN:
            continue
        if names.per_operation(name):
            if slow_per_s <= 0.0:
                continue
            now, usual = now / slow_per_s, usual / fast_per_s
        during = float(np.median(now))
        found[name] = Moved(
            name,
            during,
            float(np.median(usual)),
            float(now.max()),
            float(now.min()),
            evidence.score(during, usual),
        )
    window = min(slower[0], step.at_s), step.at_s + STEP_EDGE_S
    return Evidence(
        evidence.STEP,
        found,
        **facts(cell, found),
        share=slow_per_s / fast_per_s if fast_per_s > 0.0 else 1.0,
        length_s=max(0.0, slower[1] - slower[0]),
        outages=sum(1 for outage in trace.outages if _touches(outage, window)),
        here=Message("on_slower_side"),
        there=Message("on_the_other"),
    )


def sane(trace: Trace) -> dict[str, Samples]:
    """A trace's samples without values so large that squares and sums overflow."""
    found = {}
    for name, samples in trace.samples.items():
        known = (np.abs(samples.values) < HUGE) & (samples.length_s > 0.0)
        if known.all():
            found[name] = samples
        elif known.any():
            columns = (samples.t_s, samples.length_s, samples.values)
            found[name] = Samples(*(column[known] for column in columns))
    return found


def facts(cell: Cell, sampled: Mapping[str, object]) -> dict[str, Any]:
    """What a cell is, for `Evidence`; `sampled`: names of metrics."""
    elsewhere = any(
        target.url is not None and not server_url.parse(target.url).on_this_machine
        for target in cell.targets
    )
    of_host = any(".host." in f".{name}" for name in sampled)
    of_machine = any(names.family(name) in ("cpu", "disk") for name in sampled)
    return {
        "kinds": frozenset(target.kind for target in cell.targets),
        "sessions": sum(group.sessions for group in cell.groups),
        "seen": of_host if elsewhere else of_machine,
        "on_host": elsewhere,
        "config": {
            str(name): str(value)
            for target in cell.targets
            for name, value in target.config.items()
        },
    }


def _middle(each: Sequence[Moved]) -> Moved:
    if len(each) == 1:
        return each[0]
    columns = ("during", "otherwise", "peak", "low", "score", "lag_s", "gained", "expected")
    values = {name: float(np.median([getattr(one, name) for one in each])) for name in columns}
    shifted = [one.most for one in each] if any(one.lag_s for one in each) else None
    most = None if shifted is None else float(np.median(shifted))
    return Moved(each[0].metric, **values, shifted=most)


def _window(stall: Stall) -> Window:
    return stall.start_s, stall.start_s + stall.length_s


def _in_window(curve: Curve, window: Window) -> Moved | None:
    """A metric in one stall; None where it was not sampled. Its score is the best within
    `LAG_MAX_S` before and after, and the lag says where; the values are those of the stall."""
    now, weights = curve.inside(window)
    lag_s, during, shifted = 0.0, 0.0, None
    if len(now):
        during = float(np.average(now, weights=weights))
    score = curve.score(during) if len(now) else 0.0
    if curve.far((window[0] - LAG_MAX_S, window[1] + LAG_MAX_S)):
        reach = max(1, math.floor(LAG_MAX_S / max(curve.step_s, 0.1)))
        for number in (n for n in range(-reach, reach + 1) if n):
            shift_s = number * curve.step_s
            values, parts = curve.inside((window[0] + shift_s, window[1] + shift_s))
            if not len(values):
                continue
            there = float(np.average(values, weights=parts))
            rank = curve.score(there) * max(0.0, 1.0 - LAG_COST * abs(shift_s))
            if rank > score:
                score, lag_s, shifted = rank, shift_s, there
                if not len(now):  # no sample then
                    now, during = values, there
    if not len(now):
        return None
    gained, expected = curve.gain(window)
    ends = float(now.max()), float(now.min())
    return Moved(
        curve.name, during, curve.otherwise, *ends, score, lag_s, gained, expected, shifted
    )


def _within(samples: Samples, window: Window) -> Mask:
    return (samples.t_s - samples.length_s >= window[0]) & (samples.t_s <= window[1])


def _struck(cell: Cell, window: Window) -> tuple[str, ...]:
    """The faults that were in force in a stall, or had just begun or ended."""
    found = {
        fault.do: None
        for fault in cell.faults
        if fault.at_s - BEFORE_S <= window[1]
        and window[0] <= fault.at_s + (fault.for_s or 0.0) + LAG_MAX_S
    }
    return tuple(found)


def _touches(outage: Mapping[str, object], window: Window) -> bool:
    start, end = outage.get("start_s"), outage.get("end_s")
    begun = float(start) if isinstance(start, int | float) else -math.inf
    ended = float(end) if isinstance(end, int | float) else math.inf
    return begun <= window[1] and ended >= window[0]
