"""How a throughput goes over the levels of a numeric factor: its peak, its knee, and how far limits
on latencies hold.

*Peak.* The level with the highest mean of logarithms, and all levels that cannot be told from the
best: level j is left out if some other level is higher, by a one-sided paired t test at
5 % / (levels - 1). The truly best level is left out with a chance of 5 % at most (Bonferroni over
its rivals; no adjustment over the candidates, since only the best one counts), so that the set
holds it with 95 % confidence, as the subset selection of Gupta (1965, "On some multiple decision
(selection and ranking) rules") does. A flat top gives many levels.

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
from dbdyno.analysis.headlines.summary_text import metric_words
from dbdyno.analysis.sweeps.knee import Growth, growth, knee
from dbdyno.analysis.types import (
    REFUTED,
    SUPPORTED,
    UNDECIDED,
    VALUE,
    ClaimResult,
    Limit,
    Sweep,
)
from dbdyno.plan import level_text
from dbdyno.plan.types import Factor, Plan
from dbdyno.wording import numbers

LEVELS_MIN = 3
LOADS = ("sessions", "rate")  # factors of which a knee can be told
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
    """Index of the best of some levels by its mean, and of all that cannot be told from the best.

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
    told = _Told(measured.plan, line, metric)
    if problem:
        peak = max(known)[1]
        text = f"{told.noun} has its highest mean at {told.at(peak)}; not judged: {problem}"
        sentence = told.sentence([text, note])
        made = _made(line, metric, peak, line.levels, NO_KNEE, limits, sentence)
        return replace(made, problem=problem)
    logs = [[math.log(series[cell][block]) for block in blocks] for cell in line.cells]
    best, alike = best_levels(logs)
    found, of_knee = NO_KNEE, ""
    if told.is_load and line.levels[0] > 0:
        found, of_knee = _knee(told, line, logs, best, alike)
    levels = tuple(line.levels[level] for level in alike)
    said = [*told.peak(best, alike), of_knee, note]
    sentence = told.sentence(said)
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
        return "runs that are not passes over all levels do not tell which one is best"
    if blocks < BLOCKS_MIN:
        is_ = "is" if blocks == 1 else "are"
        with_all = f"{numbers.counted(blocks, 'block')} with all levels"
        return f"{with_all} {is_} too few ({BLOCKS_MIN} at least)"
    zero = [
        level
        for level, cell in zip(line.levels, line.cells, strict=True)
        if min(series[cell].values()) <= 0
    ]
    levels = numbers.listed([f"{level:g}" for level in zero])
    return f"{metric} is zero in some block at level {levels}" if zero else ""


def _mean(measured: Measured, cell: int, metric: str) -> float:
    """Mean over blocks; below zero where there is none."""
    values = measured.series(cell, metric).values()
    return mean(metric, values) if values else -1.0


def _knee(
    told: _Told,
    line: Line,
    logs: Sequence[Sequence[float]],
    best: int,
    alike: tuple[int, ...],
) -> tuple[Knee, str]:
    """The knee, or a lower bound of it, or neither; and what is said of it."""
    first, last = told.at(line.levels[0]), line.levels[-1]
    if 0 in alike:
        return NO_KNEE, f"no knee is seen, since already {first} cannot be told from the best"
    found = knee(logs, line.levels, best)
    added = growth(logs, line.levels)
    if found is None or (added.is_flat and found[1] > line.levels[best]):
        up_to = told.at(line.levels[best])
        return NO_KNEE, f"no knee is seen: up to {up_to} it grows by more than the load"
    if added.is_flat:
        return found, told.knee(*found)
    least = min(found[1], last)
    return (None, least, None), told.no_knee(added, least)


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
    told = _Told(measured.plan, line, metric)
    sentence = told.limit(f"{metric} {operator} {threshold:g}", holds, breaks)
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


# -- words ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Told:
    """A sweep in words."""

    plan: Plan
    line: Line
    metric: str

    @property
    def noun(self) -> str:
        """`throughput`, `throughput of readers`."""
        return metric_words(self.metric, self.plan)[0]

    @property
    def is_load(self) -> bool:
        """Whether the factor is the load of what the metric counts."""
        owner, _, last = self.line.factor.name.rpartition(".")
        groups = {group.name for cell in self.plan.cells for group in cell.groups}
        ours = len(groups) == 1 or self.metric.startswith(f"{owner}.")
        return last in LOADS and ours

    def at(self, value: float) -> str:
        """`16 sessions`, `rows=1000`."""
        factor = self.line.factor
        assert factor.values is not None
        level = factor.levels[factor.values.index(value)]
        return level_text.level(self.plan, factor.name, level)

    def peak(self, best: int, alike: tuple[int, ...]) -> list[str]:
        """Where the metric is highest, and what cannot be told from that."""
        levels, last = self.line.levels, len(self.line.levels) - 1
        if len(alike) == len(levels):
            ends = f"from {self.at(levels[0])} to {self.at(levels[-1])}"
            return [f"{self.noun} cannot be told apart at the {len(levels)} levels {ends}"]
        joined = alike == tuple(range(alike[0], alike[-1] + 1))
        if joined and alike[-1] == last and len(alike) > 1:
            return [
                f"{self.noun} grows to {self.at(levels[best])}",
                f"from {levels[alike[0]]:g} on {self._nothing} that can be told apart",
            ]
        said = f"{self.noun} is highest at {self.at(levels[best])}"
        if best == last:
            said += ", the highest level tested, so that it may be higher beyond"
        others = [f"{levels[level]:g}" for level in alike if level != best]
        alone = [f"{numbers.listed(others)} cannot be told from it"] if others else []
        falls = [f"above {levels[alike[-1]]:g} it is lower"] if alike[-1] < last else []
        return [said, *alone, *falls]

    def knee(self, centre: float, low: float, high: float) -> str:
        """`the knee is at 9.4 (8.1 to 10.9)`."""
        ends = f"{numbers.ratio(low)} to {numbers.ratio(high)}"
        return f"the knee is at {numbers.ratio(centre)} ({ends})"

    def no_knee(self, added: Growth, least: float) -> str:
        """Why there is none, and where it is at least."""
        levels = self.line.levels
        ends = f"{numbers.percent(added.low)} to {numbers.percent(added.high)}"
        if added.low > 0:
            seen = f"still growing at {self.at(levels[-1])} (a doubling added {ends})"
        else:
            seen = f"not shown to be flat at {self.at(levels[-1])} (a doubling added {ends})"
        return f"{seen}, so no knee is seen; it is at {numbers.ratio(least)} at least"

    def limit(self, asked: str, holds: float | None, breaks: float | None) -> str:
        """Up to which level a limit is shown to hold, and from which on it is broken."""
        levels = self.line.levels
        if holds == levels[-1]:
            return f"`{asked}` holds at every level, up to {self.at(holds)}"
        if breaks == levels[0]:
            return f"`{asked}` is broken at every level, from {self.at(breaks)} on"
        open_ = [
            f"{level:g}"
            for level in levels
            if (holds is None or level > holds) and (breaks is None or level < breaks)
        ]
        said = [
            f"holds up to {self.at(holds)}" if holds is not None else "",
            f"is broken from {self.at(breaks)} on" if breaks is not None else "",
            f"is open at {numbers.listed(open_)}" if open_ else "",
        ]
        return f"`{asked}` {numbers.listed([one for one in said if one])}"

    @property
    def _nothing(self) -> str:
        last = self.line.factor.name.rpartition(".")[2]
        if not self.is_load:
            return "higher levels add nothing"
        return "more sessions add nothing" if last == "sessions" else "a higher rate adds nothing"

    @staticmethod
    def sentence(parts: Sequence[str]) -> str:
        """Parts that are not empty, as one sentence."""
        text = "; ".join(filter(None, parts))
        return f"{text[:1].upper()}{text[1:]}."
