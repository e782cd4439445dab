"""Inside trials: whether they were warm and steady, and where they stalled.

Warm-up and steps are judged from about `POINTS` sums of neighbouring ticks, in which stalls are
filled with what is usual: a stall is no step. Open loops commit what arrives, so that only
closed-loop groups show them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dbdyno.analysis import causes
from dbdyno.analysis.message import Message, joined
from dbdyno.analysis.types import Cause, CellStalls, Inside, Stall, Step
from dbdyno.analysis.within_trial import stalls, warmup
from dbdyno.analysis.within_trial.autocorrelation import effective
from dbdyno.analysis.within_trial.changepoints import SECONDS, changes
from dbdyno.analysis.within_trial.trend import trend
from dbdyno.errors import DynoError
from dbdyno.plan.types import Cell, Plan
from dbdyno.store.metrics import spread
from dbdyno.store.metrics.stalls import usual
from dbdyno.store.metrics.timeseries import TICK_S, Floats, Trace
from dbdyno.store.record import COMPLETE, TrialRecord

POINTS = 300
SECONDS_MIN = 5.0  # of a trial that may be called warming up, or not steady
P = 0.01
STEP_MIN = 0.05  # of the throughput: smaller changes come and go on any machine
STRETCH_MIN = 15  # points, between two steps
ABRUPT = 0.5  # of a change, within so many points on either side: else it is a slope
LATE = 1.5 * TICK_S  # between the ends of two ticks: longer, and one is missing


@dataclass(frozen=True)
class Trials:
    """What was found inside a run's trials."""

    inside: tuple[Inside, ...] = ()
    stalls: tuple[CellStalls, ...] = ()  # of cells that had some


def look(
    plan: Plan, records: Sequence[TrialRecord], trace: Callable[[str], Trace | None]
) -> Trials:
    """Analyses each complete trial of a run, in the plan's order, one trace after the other."""
    complete = {record.id: record for record in records if record.status == COMPLETE}
    found: list[Inside] = []
    explained: dict[int, list[causes.Explained]] = {}
    for trial in plan.trials:
        record = complete.get(trial.id)
        if record is None:
            continue
        try:
            one = trace(record.id)
        except (DynoError, KeyError, TypeError, ValueError) as error:
            why = error.what if isinstance(error, DynoError) else Message("events_unreadable")
            found.append(_unknown(record.id, record.cell, record.block, why))
            continue
        if one is not None:
            seen = inside(one, record.cell, record.block)
            why_stalled = causes.explain_stalls(one, seen.stalls, plan.cells[record.cell])
            explained.setdefault(record.cell, []).extend(why_stalled)
            found.append(_with_causes(one, seen, why_stalled, plan.cells[record.cell]))
    cells = [
        cell_stalls(
            cell.index,
            [one for one in found if one.cell == cell.index],
            causes.explain_cell(explained.get(cell.index, [])),
        )
        for cell in plan.cells
    ]
    return Trials(tuple(found), tuple(one for one in cells if one is not None))


def inside(trace: Trace, cell: int, block: int) -> Inside:
    """How one trial went. What is unknown keeps its harmless value, and `problem` says why."""
    measured = trace.measured()
    problem = joined(*_problems(trace, measured))
    per_s = spread.seconds(measured)
    if not np.any(measured.total):
        return _unknown(trace.trial, cell, block, problem, trace.measured_s)
    found = stalls.stalls(trace)
    warm_s, steps, steady = _course(measured, found)
    return Inside(
        trial=trace.trial,
        cell=cell,
        block=block,
        measured_s=trace.measured_s,
        usual_per_s=float(np.median(per_s if len(per_s) >= 3 else measured.total / TICK_S)),
        warm_s=warm_s,
        steady=steady,
        independent_s=effective(per_s),
        spread=spread.spread(per_s) or 0.0,
        steps=steps,
        stalls=found,
        problem=problem,
    )


def _with_causes(
    trace: Trace, seen: Inside, explained: Sequence[causes.Explained], cell: Cell
) -> Inside:
    """The same, its stalls and steps with their causes."""
    why = {one.stall: one.cause for one in explained}
    return replace(
        seen,
        stalls=tuple(replace(stall, cause=why.get(stall)) for stall in seen.stalls),
        steps=tuple(
            replace(step, cause=causes.explain_step(trace, step, seen.steps, cell))
            for step in seen.steps
        ),
    )


def cell_stalls(
    cell: int, trials: Sequence[Inside], cause: Cause | None = None
) -> CellStalls | None:
    """The stalls of a cell's trials together, with their `cause`; None if there are none. Trials of
    which nothing is known, or that committed nothing, are not among them."""
    trials = [one for one in trials if one.usual_per_s > 0.0 or one.stalls]
    found = [stall for one in trials for stall in one.stalls]
    if not found:
        return None
    measured_s = sum(one.measured_s for one in trials)
    regular = stalls.period([[stall.start_s for stall in one.stalls] for one in trials])
    together = CellStalls(
        cell=cell,
        trials=len(trials),
        stalls=len(found),
        measured_s=measured_s,
        per_min=60.0 * len(found) / measured_s,
        share=min(1.0, sum(stall.length_s for stall in found) / measured_s),
        length_s=float(np.median([stall.length_s for stall in found])),
        depth=float(np.median([stall.depth for stall in found])),
        period_s=regular.period_s if regular else None,
        period_n=regular.distances if regular else 0,
        cause=cause,
    )
    first = next(one.stalls[0] for one in trials if one.stalls)
    distances = sum(len(one.stalls) - 1 for one in trials if one.stalls)
    return replace(
        together, sentence=Message("cell_stalls", found=together, first=first, distances=distances)
    )


def _unknown(trial: str, cell: int, block: int, problem: str, measured_s: float = 0.0) -> Inside:
    return Inside(trial, cell, block, measured_s, 0.0, 0.0, False, 0.0, 0.0, problem=problem)


def _problems(trace: Trace, measured: Trace) -> Iterable[str]:
    """Why the ticks of a trial do not describe all of it."""
    yield from trace.unread
    ends = measured.ends_s
    if not len(ends):
        yield Message("no_counts")
        return
    if not np.any(measured.total):
        yield Message("nothing_committed")
    steps = np.diff(trace.ends_s)
    if np.any(steps <= 0.0):
        at_s = float(trace.ends_s[int(np.argmax(steps <= 0.0))])
        yield Message("clock_backwards", at_s=at_s)
    gaps = np.diff(ends, prepend=0.0, append=trace.measured_s + TICK_S) - TICK_S
    missing_s = max(trace.measured_s - TICK_S * len(ends), float(gaps[gaps > LATE - TICK_S].sum()))
    if missing_s > LATE:
        yield Message("counts_missing", missing_s=missing_s, measured_s=trace.measured_s)
    if trace.outages:
        yield Message("had_outages", n=len(trace.outages))
    if trace.due and set(trace.due) == set(trace.commits):
        yield Message("all_open_loops")
    elif trace.measured_s < SECONDS_MIN:
        yield Message("too_short", measured_s=trace.measured_s)


def _course(measured: Trace, found: tuple[Stall, ...]) -> tuple[float, tuple[Step, ...], bool]:
    """Where it was warm, the steps after that, and whether it was steady from there on."""
    closed = [counts for name, counts in measured.commits.items() if name not in measured.due]
    if not closed or measured.measured_s < SECONDS_MIN:
        return 0.0, (), True
    counts = np.asarray(np.sum(closed, axis=0), dtype=np.float64)
    width = max(1, math.ceil(len(counts) / POINTS))
    whole = len(counts) // width
    points = _filled(measured, counts, found)[: whole * width].reshape(whole, width).sum(axis=1)
    step_s = width * TICK_S
    warm = warmup.end(points, step_s)
    if warm is None or warm >= len(points) // 2 - warmup.BATCH:  # as late as it may be
        at = _abrupt(points)
        if at is not None:  # what comes after need not have settled, nor what comes before
            warm = warmup.end(points[:at], step_s)
        elif warm is None:
            return measured.measured_s, (), False
    begin = warm or 0
    rest = points[begin:]
    begins = measured.ends_s[::width] - TICK_S  # where points begin; ticks may be missing
    steps = tuple(
        Step(float(begins[begin + one.index]), one.before / step_s, one.after / step_s, one.p)
        for one in changes(rest, SECONDS, P, STRETCH_MIN)
        if abs(one.after - one.before) > STEP_MIN * abs(one.before)
    )
    drift = trend(rest)
    drifts = drift.p <= P and abs(drift.share) > STEP_MIN
    if warm is None:
        return measured.measured_s, steps, False
    return float(begins[warm]) if warm else 0.0, steps, not steps and not drifts


def _abrupt(points: Floats) -> int | None:
    """Where something first changed at once and not along a slope; None if nothing did."""
    for one in changes(points, SECONDS, P, STRETCH_MIN):
        near = [points[one.index - STRETCH_MIN : one.index], points[one.index :][:STRETCH_MIN]]
        moved = abs(float(near[1].mean() - near[0].mean()))
        if moved >= ABRUPT * abs(one.after - one.before) > ABRUPT * STEP_MIN * abs(one.before):
            return one.index
    return None


def _filled(measured: Trace, counts: Floats, found: tuple[Stall, ...]) -> Floats:
    """Commits of each tick, with the usual ones where it stalled."""
    usually = usual(counts)
    filled = counts.copy()
    for stall in found:
        begun = measured.ends_s > stall.start_s
        over = measured.ends_s >= stall.start_s + stall.length_s + TICK_S
        filled[begun & ~over] = usually[begun & ~over]
    return filled
