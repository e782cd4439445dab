"""Evidence from a trial over time: stalls against the rest, after a step against before it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dbdyno.analysis.causes import evidence, names
from dbdyno.analysis.causes.evidence import Evidence, Moved
from dbdyno.analysis.types import Stall, Step
from dbdyno.plan.types import Cell
from dbdyno.spec import server_url
from dbdyno.store.trace import Floats, Samples, Trace

LAG_MAX_S = 2.0  # a metric may move so long before or after
LAG_COST = 0.25  # of its score, a second: what moves just then comes first
EDGE_S = 0.1  # of a stall: its ticks are so long
SAMPLES_MIN = 3  # otherwise
HUGE = 1e100
STEP_EDGE_S = 1.0  # of a step, on either side

Window = tuple[float, float]
Mask = NDArray[np.bool_]


def of_stalls(
    looked: Sequence[tuple[Trace, Sequence[Stall], Sequence[Stall]]], cell: Cell
) -> Evidence:
    """Of trials of one cell: each a trace, the stalls in question, and all stalls of that trace
    (what is not in any of them is otherwise). Values are medians over the stalls."""
    found: dict[str, list[Moved]] = {}
    lost, lengths, shares = 0, [], []
    for trace, stalls, everyone in looked:
        series = sane(trace)
        windows = [(stall.start_s, stall.start_s + stall.length_s) for stall in everyone]
        calm = {name: _outside(one, windows, trace) for name, one in series.items()}
        for stall in stalls:
            window = stall.start_s, stall.start_s + stall.length_s
            lengths.append(stall.length_s)
            shares.append(1.0 - stall.depth)
            lost += sum(1 for outage in trace.outages if _touches(outage, window))
            for name, samples in series.items():
                moved = _in_window(name, samples, window, calm[name])
                if moved is not None:
                    found.setdefault(name, []).append(moved)
    return Evidence(
        evidence.STALL,
        {name: pooled(each) for name, each in found.items() if 2 * len(each) >= len(lengths)},
        **facts(cell, found),
        share=float(np.median(shares)) if shares else 1.0,
        length_s=float(np.median(lengths)) if lengths else 0.0,
        outages=lost,
    )


def of_step(trace: Trace, step: Step, steps: Sequence[Step], cell: Cell) -> Evidence:
    """After a step against before it, each side as far as the next step; rates per operation
    (transaction), since more of everything comes with more throughput."""
    others = [one.at_s for one in steps if one.at_s != step.at_s]
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
        if names.is_rate(name):
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
        here="on the slower side of the step",
        there="on the other",
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


def pooled(each: Sequence[Moved]) -> Moved:
    """The same metric in several stalls: medians of all that is known of it."""
    if len(each) == 1:
        return each[0]
    columns = ("during", "otherwise", "peak", "low", "score", "lag_s", "gained", "expected")
    values = {name: float(np.median([getattr(one, name) for one in each])) for name in columns}
    return Moved(each[0].metric, **values)


def _outside(samples: Samples, windows: Sequence[Window], trace: Trace) -> Mask:
    """Samples of the measured phase that touch no stall, nor what a stall left behind."""
    begin = samples.t_s - samples.length_s
    calm = (samples.t_s > 0.0) & (begin < trace.measured_s)
    for start_s, end_s in windows:
        calm &= (samples.t_s <= start_s - EDGE_S) | (begin >= end_s + EDGE_S)
    return calm


def _in_window(name: str, samples: Samples, window: Window, calm: Mask) -> Moved | None:
    """A metric in one stall, at the lag at which it moved most; None where too little is known."""
    usual = samples.values[calm]
    if len(usual) < SAMPLES_MIN:
        return None
    otherwise = float(np.median(usual))
    step_s = float(np.median(samples.length_s)) or 1.0
    reach = max(1, math.floor(LAG_MAX_S / step_s))
    best: tuple[float, float, float, Floats] | None = None
    for number in range(-reach, reach + 1):
        lag_s = number * step_s
        inside, weights = _inside(samples, (window[0] + lag_s, window[1] + lag_s))
        if not len(inside):
            continue
        during = float(np.average(inside, weights=weights))
        found = evidence.score(during, usual)
        rank = found * max(0.0, 1.0 - LAG_COST * abs(lag_s))
        if best is None or rank > best[0] or (rank == best[0] and abs(lag_s) < abs(best[1])):
            best = rank, lag_s, during, inside
    now, now_weights = _inside(samples, window)
    if best is None:
        return None
    rank, lag_s, during, inside = best
    if len(now):  # what it was just then is what rules ask for; the lag says where it was most
        during, inside = float(np.average(now, weights=now_weights)), now
    gain = _amount if names.is_rate(name) else _gain
    gained, expected = gain(samples, window, usual, samples.t_s[calm])
    return Moved(
        name,
        during,
        otherwise,
        float(inside.max()),
        float(inside.min()),
        rank,
        lag_s,
        gained,
        expected,
    )


def _inside(samples: Samples, window: Window) -> tuple[Floats, Floats]:
    """Values of a window and the time that each speaks for: of samples mostly inside, else of the
    one that has most of it."""
    begin = samples.t_s - samples.length_s
    shared = np.minimum(samples.t_s, window[1]) - np.maximum(begin, window[0])
    mostly = shared >= 0.5 * samples.length_s
    if not mostly.any():
        if not len(shared) or shared.max() <= 0.0:
            return np.zeros(0), np.zeros(0)
        mostly = shared == shared.max()
    return samples.values[mostly], np.maximum(shared[mostly], 1e-9)


def _gain(
    samples: Samples, window: Window, usual: Floats, usual_t_s: Floats
) -> tuple[float, float]:
    """How far a level went from the last look before a window to the first one after it, and how
    far it goes in such a time otherwise (between looks next to each other)."""
    before = np.flatnonzero(samples.t_s <= window[0])
    after = np.flatnonzero(samples.t_s >= window[1] - EDGE_S)
    if not len(before) or not len(after):
        return 0.0, 0.0
    first, last = before[-1], after[0]
    took_s = float(samples.t_s[last] - samples.t_s[first])
    near = np.diff(usual_t_s) <= 1.5 * float(np.median(samples.length_s))
    rises, spans = np.diff(usual)[near], np.diff(usual_t_s)[near]
    rate = float(rises.sum() / spans.sum()) if spans.sum() > 0.0 else 0.0
    return float(samples.values[last] - samples.values[first]), rate * took_s


def _amount(
    samples: Samples, window: Window, usual: Floats, _usual_t_s: Floats
) -> tuple[float, float]:
    """How much was counted from the look before a window to the first one after it: what ends a
    wait is often counted when it is over."""
    after = np.flatnonzero(samples.t_s >= window[1] - EDGE_S)
    last = after[0] if len(after) else len(samples.t_s) - 1
    asked = np.flatnonzero(samples.t_s > window[0])
    asked = asked[asked <= last]
    took_s = samples.length_s[asked]
    counted = float((samples.values[asked] * took_s).sum())
    return counted, float(np.median(usual)) * float(took_s.sum())


def _within(samples: Samples, window: Window) -> Mask:
    return (samples.t_s - samples.length_s >= window[0]) & (samples.t_s <= window[1])


def _touches(outage: Mapping[str, object], window: Window) -> bool:
    start, end = outage.get("start_s"), outage.get("end_s")
    begun = float(start) if isinstance(start, int | float) else -math.inf
    ended = float(end) if isinstance(end, int | float) else math.inf
    return begun <= window[1] and ended >= window[0]
