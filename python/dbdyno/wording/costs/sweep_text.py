"""A sweep in words: where a metric peaks, its knee, how far a limit holds."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.analysis.sweeps.sweep import is_load
from dbdyno.plan import level_text
from dbdyno.plan.types import Plan
from dbdyno.wording import numbers
from dbdyno.wording.headlines.summary_text import metric_words

PLAIN = {
    "sweep_unpaired": "runs that are not passes over all levels do not tell which one is best",
    "sweep_too_few": "{blocks:count block} with all levels {blocks:be} too few ({least} at least)",
    "zero_at": "{metric} is zero in some block at level {levels:list}",
    "knee": "the knee is at {centre:ratio} ({low:ratio} to {high:ratio})",
    "knee_below": "no knee is seen: already {first:levels} may be the best",
    "knee_beyond": "no knee is seen: up to {up_to:levels} it grows by more than the load",
    "knee_at_least": "{grows:either still growing|not shown to be flat} at {last:levels} (a"
    " doubling added {low:percent} to {high:percent}), so no knee is seen; it is at"
    " {least:ratio} at least",
}


def sweep_unjudged(
    plan: Plan, factor: str, metric: str, note: str, peak: float, problem: str
) -> str:
    """A sweep by its means alone."""
    highest = f"{_noun(plan, metric)} has its highest mean at {_at(plan, factor, peak)}"
    return _sentence([f"{highest}; not judged: {problem}", note])


def sweep(
    plan: Plan,
    factor: str,
    metric: str,
    note: str,
    levels: Sequence[float],
    best: int,
    alike: Sequence[int],
    knee: str,
) -> str:
    """The `levels` of a factor, of which one is `best` and some are `alike`."""
    return _sentence([*_peak(plan, factor, metric, levels, best, alike), knee, note])


def _peak(
    plan: Plan,
    factor: str,
    metric: str,
    levels: Sequence[float],
    best: int,
    alike: Sequence[int],
) -> list[str]:
    """Where the metric is highest, and which levels do not differ significantly from that."""
    noun, last = _noun(plan, metric), len(levels) - 1
    highest = _at(plan, factor, levels[best])
    if len(alike) == len(levels):
        ends = f"from {_at(plan, factor, levels[0])} to {_at(plan, factor, levels[-1])}"
        return [f"{noun} does not differ significantly between the {len(levels)} levels {ends}"]
    together = tuple(alike) == tuple(range(alike[0], alike[-1] + 1))
    if together and alike[-1] == last and len(alike) > 1:
        nothing = _nothing(plan, factor, metric)
        return [
            f"{noun} grows to {highest}",
            f"from {levels[alike[0]]:g} on {nothing} significant",
        ]
    said = f"{noun} is highest at {highest}"
    if best == last:
        said += ", the highest level tested, so that it may be higher beyond"
    others = [f"{levels[level]:g}" for level in alike if level != best]
    alone = [f"no significant difference at {numbers.listed(others)}"] if others else []
    falls = [f"above {levels[alike[-1]]:g} it is lower"] if alike[-1] < last else []
    return [said, *alone, *falls]


def limit(
    plan: Plan,
    metric: str,
    operator: str,
    threshold: float,
    factor: str,
    levels: Sequence[float],
    holds: float | None,
    breaks: float | None,
) -> str:
    """Up to which level a limit is shown to hold, and from which on it is broken."""
    asked = f"{metric} {operator} {threshold:g}"
    if holds == levels[-1]:
        return f"`{asked}` holds at every level, up to {_at(plan, factor, holds)}"
    if breaks == levels[0]:
        return f"`{asked}` is broken at every level, from {_at(plan, factor, breaks)} on"
    open_ = [
        f"{level:g}"
        for level in levels
        if (holds is None or level > holds) and (breaks is None or level < breaks)
    ]
    said = [
        f"holds up to {_at(plan, factor, holds)}" if holds is not None else "",
        f"is broken from {_at(plan, factor, breaks)} on" if breaks is not None else "",
        f"is open at {numbers.listed(open_)}" if open_ else "",
    ]
    return f"`{asked}` {numbers.listed([one for one in said if one])}"


def _noun(plan: Plan, metric: str) -> str:
    """`throughput`, `throughput of readers`."""
    return metric_words(metric, plan)[0]


def _at(plan: Plan, factor: str, value: float) -> str:
    """`16 sessions`, `rows=1000`."""
    found = next(one for one in plan.factors if one.name == factor)
    assert found.values is not None
    return level_text.level(plan, factor, found.levels[found.values.index(value)])


def _nothing(plan: Plan, factor: str, metric: str) -> str:
    if not is_load(plan, factor, metric):
        return "higher levels add nothing"
    last = factor.rpartition(".")[2]
    return "more sessions add nothing" if last == "sessions" else "a higher rate adds nothing"


def _sentence(parts: Sequence[str]) -> str:
    """Parts that are not empty, as one sentence."""
    text = "; ".join(filter(None, parts))
    return f"{text[:1].upper()}{text[1:]}."
