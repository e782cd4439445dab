"""How a throughput goes over the levels of a numeric factor: its peak, its knee, and how far limits
on latencies hold.

*Peak.* The level with the highest mean of logarithms, and all levels that do not differ
significantly from the best: level j is omitted if some other level is higher, by a one-sided paired
t test at 5 % / (levels - 1). The truly best level is omitted with a chance of 5 % at most
(Bonferroni over its rivals; no adjustment over the candidates, since only the best one counts), so
that the set holds it with 95 % confidence, as the subset selection of Gupta (1965, "On some
multiple decision (selection and ranking) rules") does. A flat top gives many levels.

*Knee.* Of a load (sessions, rate): `knee`.

*Limits.* For a claim like `p95 <= 20` at some level of the factor: the levels in rising order, each
with the 95 % interval of its mean, up to the first that is not shown to meet the limit; and
in falling order, down to the first that is not shown to break it. A sequence fixed beforehand that
stops there needs no adjustment (Maurer, Hothorn and Lehmacher 1995, "Multiple comparisons in drug
clinical trials and preclinical assays: a-priori ordered hypotheses").
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dbdyno.analysis import single_values
from dbdyno.analysis.claims.bounded import Bounded
from dbdyno.analysis.claims.cases import level_series
from dbdyno.analysis.claims.verdict import read
from dbdyno.analysis.estimates.estimate import BLOCKS_MIN, CONFIDENCE, mean, t_test
from dbdyno.analysis.estimates.measured import Measured
from dbdyno.analysis.message import Message
from dbdyno.analysis.sweeps.knee import growth, knee
from dbdyno.analysis.types import (
    REFUTED,
    SUPPORTED,
    UNDECIDED,
    VALUE,
    ClaimResult,
    Limit,
    Sweep,
)
from dbdyno.plan.types import Factor, Plan

LEVELS_MIN = 3
LOADS = ("sessions", "rate")  # factors that can have a knee
_ERROR = 1 - CONFIDENCE

Knee = tuple[float | None, float | None, float | None]  # with its interval, as in `Sweep`
NO_KNEE: Knee = (None, None, None)


@dataclass(frozen=True)
class Line:
    """The cells of a sweep, by rising level; at least one."""

    factor: Factor
    at: Mapping[str, str]  # all other factors' levels
    levels: tuple[float, ...]
    cells: tuple[int, ...]

    def at_value(self, value: float) -> dict[str, str]:
        """The level of the factor that is this number."""
        assert self.factor.values is not None
        return {self.factor.name: self.factor.levels[self.factor.values.index(value)]}


def sweeps(measured: Measured, claims: Sequence[ClaimResult], metric: str) -> tuple[Sweep, ...]:
    """Sweeps of `metric`, a throughput, over each numeric factor with three levels or more, at each
    combination of the others' levels. None of a quick run, nor where nothing was measured."""
    if measured.plan.quick:
        return ()
    found = (_sweep(measured, line, claims, metric) for line in _lines(measured.plan))
    return tuple(sweep for sweep in found if sweep is not None)


def lines_of(plan: Plan, factor: Factor) -> Iterator[Line]:
    """The sweeps that a factor with numbers makes, of the cells that there are."""
    assert factor.values is not None
    number = dict(zip(factor.levels, factor.values, strict=True))
    lines: dict[tuple[tuple[str, str], ...], list[tuple[float, int]]] = {}
    for cell in plan.cells:
        at = tuple((name, level) for name, level in cell.levels.items() if name != factor.name)
        lines.setdefault(at, []).append((number[cell.levels[factor.name]], cell.index))
    for at, points in lines.items():
        values, cells = zip(*sorted(points), strict=True)
        yield Line(factor, dict(at), values, cells)


def best_levels(logs: Sequence[Sequence[float]]) -> tuple[int, tuple[int, ...]]:
    """Index of the best of some levels by its mean, and of all that do not differ significantly
    from it.

    `logs`: ln of the metric by level and block, shape (levels, n), n >= 2.
    """
    peak = max(range(len(logs)), key=lambda level: math.fsum(logs[level]))
    error = _ERROR / max(1, len(logs) - 1)
    beaten = [
        any(_p_above(rival, one) <= error for rival in logs if rival is not one) for one in logs
    ]
    return peak, tuple(level for level in range(len(logs)) if level == peak or not beaten[level])


def _p_above(upper: Sequence[float], lower: Sequence[float]) -> float:
    """One-sided p of "`upper` is not above `lower`", paired."""
    differences = [a - b for a, b in zip(upper, lower, strict=True)]
    half = t_test(differences, 0.0) / 2
    return half if math.fsum(differences) > 0 else 1 - half


def _lines(plan: Plan) -> Iterator[Line]:
    for factor in plan.factors:
        if factor.values is not None:
            for line in lines_of(plan, factor):
                if len(line.cells) >= LEVELS_MIN:
                    yield line


def _sweep(
    measured: Measured, line: Line, claims: Sequence[ClaimResult], metric: str
) -> Sweep | None:
    means = [_mean(measured, cell, metric) for cell in line.cells]
    known = [(mean, level) for mean, level in zip(means, line.levels, strict=True) if mean >= 0]
    if not known:
        return None
    blocks, series, problem, note = level_series(measured, metric, line.cells)
    problem = problem or _unusable(measured, line, metric, len(blocks), series)
    limits = _limits(measured, line, claims)
    told = {"factor": line.factor.name, "metric": metric, "note": note}
    if problem:
        peak = max(known)[1]
        sentence = Message("sweep_unjudged", **told, peak=peak, problem=problem)
        made = _made(line, metric, peak, line.levels, NO_KNEE, limits, sentence)
        return replace(made, problem=problem)
    logs = [[math.log(series[cell][block]) for block in blocks] for cell in line.cells]
    best, alike = best_levels(logs)
    found: Knee = NO_KNEE
    of_knee: str = ""
    if is_load(measured.plan, line.factor.name, metric) and line.levels[0] > 0:
        found, of_knee = _knee(line, logs, best, alike)
    levels = tuple(line.levels[level] for level in alike)
    of_peak = {"levels": line.levels, "best": best, "alike": alike}
    sentence = Message("sweep", **told, **of_peak, knee=of_knee)
    return _made(line, metric, line.levels[best], levels, found, limits, sentence)


def _made(
    line: Line,
    metric: str,
    peak: float,
    levels: tuple[float, ...],
    found: Knee,
    limits: tuple[Limit, ...],
    sentence: str,
) -> Sweep:
    name = line.factor.name
    return Sweep(name, metric, line.at, line.cells, peak, levels, *found, sentence, limits)


def _unusable(
    measured: Measured,
    line: Line,
    metric: str,
    blocks: int,
    series: Mapping[int, Mapping[int, float]],
) -> str:
    """Why levels cannot be compared; empty if they can."""
    if not measured.plan.paired:
        return Message("sweep_unpaired")
    if blocks < BLOCKS_MIN:
        return Message("sweep_too_few", blocks=blocks, least=BLOCKS_MIN)
    zero = [
        level
        for level, cell in zip(line.levels, line.cells, strict=True)
        if min(series[cell].values()) <= 0
    ]
    return Message("zero_at", metric=metric, levels=zero) if zero else ""


def is_load(plan: Plan, factor: str, metric: str) -> bool:
    """Whether a factor is the load of what a metric counts."""
    owner, _, last = factor.rpartition(".")
    groups = {group.name for cell in plan.cells for group in cell.groups}
    ours = len(groups) == 1 or metric.startswith(f"{owner}.")
    return last in LOADS and ours


def _mean(measured: Measured, cell: int, metric: str) -> float:
    """Mean over blocks; below zero if there is none."""
    values = measured.series(cell, metric).values()
    return mean(metric, values) if values else -1.0


def _knee(
    line: Line,
    logs: Sequence[Sequence[float]],
    best: int,
    alike: tuple[int, ...],
) -> tuple[Knee, str]:
    """The knee, or a lower bound of it, or neither; and its description."""
    levels = line.levels
    if 0 in alike:
        return NO_KNEE, Message("knee_below", first=line.at_value(levels[0]))
    found = knee(logs, line.levels, best)
    added = growth(logs, line.levels)
    if found is None or (added.is_flat and found[1] > line.levels[best]):
        return NO_KNEE, Message("knee_beyond", up_to=line.at_value(levels[best]))
    if added.is_flat:
        centre, low, high = found
        return found, Message("knee", centre=centre, low=low, high=high)
    least = min(found[1], levels[-1])
    ends = {"low": added.low, "high": added.high, "grows": added.low > 0}
    last = line.at_value(levels[-1])
    return (None, least, None), Message("knee_at_least", **ends, last=last, least=least)


# -- limits --------------------------------------------------------------------------------------


def _limits(measured: Measured, line: Line, claims: Sequence[ClaimResult]) -> tuple[Limit, ...]:
    asked = dict.fromkeys(
        (part.metric, part.operator, part.threshold)
        for claim in claims
        for part in claim.parts
        if part.kind == VALUE
        and part.left_cell in line.cells
        and part.operator in ("<", "<=")
        and _is_latency(part.metric)
    )
    return tuple(_limit(measured, line, *one) for one in asked)


def _is_latency(metric: str) -> bool:
    return "_ms_" in metric or metric.endswith("_ms")


def _limit(measured: Measured, line: Line, metric: str, operator: str, threshold: float) -> Limit:
    verdicts = [_meets(measured, cell, metric, operator, threshold) for cell in line.cells]
    holds = breaks = None
    for level, verdict in zip(line.levels, verdicts, strict=True):
        if verdict != SUPPORTED:
            break
        holds = level
    for level, verdict in zip(reversed(line.levels), reversed(verdicts), strict=True):
        if verdict != REFUTED:
            break
        breaks = level
    asked = {"metric": metric, "operator": operator, "threshold": threshold}
    along = {"factor": line.factor.name, "levels": line.levels, "holds": holds, "breaks": breaks}
    sentence = Message("limit", **asked, **along)
    return Limit(metric, operator, threshold, holds, breaks, sentence)


def _meets(measured: Measured, cell: int, metric: str, operator: str, threshold: float) -> str:
    """The verdict of one level on its own, at 95 %."""
    blocks, _, problem, _ = level_series(measured, metric, (cell,), one_sided=True)
    if problem or len(blocks) < BLOCKS_MIN:
        return UNDECIDED
    mean = single_values.contrast(measured, cell, metric, threshold)
    bound = measured.bound(cell, metric)
    contrast = Bounded(mean, bound) if bound else mean
    return read(contrast.interval(CONFIDENCE), operator, threshold)
