"""The answer in two sentences of plain English, made of effect sizes, never of adjectives."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from dbdyno.analysis import describe, overload
from dbdyno.analysis.estimate import BLOCKS_MIN, estimate
from dbdyno.analysis.headline import headline_metric
from dbdyno.analysis.lead import Lead, clear, elsewhere
from dbdyno.analysis.measured import Measured
from dbdyno.analysis.ranking import ranking
from dbdyno.analysis.types import ClaimResult, Ratio
from dbdyno.plan.types import Plan
from dbdyno.spec.bounds import AT_LEAST, AT_MOST, NEITHER

# base name -> (noun, unit)
_WORDS = {
    "transactions_per_s": ("throughput", "transactions a second"),
    "operations_per_s": ("throughput", "operations a second"),
    "service_ms_mean": ("mean service time", "ms"),
    "service_ms_p50": ("median service time", "ms"),
    "service_ms_p95": ("95th percentile service time", "ms"),
    "service_ms_p99": ("99th percentile service time", "ms"),
    "service_ms_p999": ("99.9th percentile service time", "ms"),
    "response_ms_mean": ("mean response time", "ms"),
    "response_ms_p50": ("median response time", "ms"),
    "response_ms_p95": ("95th percentile response time", "ms"),
    "response_ms_p99": ("99th percentile response time", "ms"),
    "response_ms_p999": ("99.9th percentile response time", "ms"),
    "rate_max_per_s": ("the highest rate", "transactions a second"),
    "backlog_max": ("the largest backlog", "arrivals"),
    "errors_per_s": ("the error rate", "a second"),
    "retries_per_s": ("the rate of retries", "a second"),
    "failed_per_s": ("the rate of failed transactions", "a second"),
    "server_cpu_us_per_op": ("server CPU per operation", "µs"),
    "generator_cpu_us_per_op": ("generator CPU per operation", "µs"),
    "cost_per_billion_operations": ("the cost of a billion operations", ""),
    "cost_per_billion_transactions": ("the cost of a billion transactions", ""),
}


def answer(measured: Measured, lead: Lead | None, claims: Sequence[ClaimResult]) -> str:
    """Two sentences: what the comparison that the run leads with came to, and how far that holds
    over the other levels (or how the claims stand). Before them, which rates were not held."""
    plan = measured.plan
    trials = sum(map(len, measured.cells.values()))
    if not trials:
        return "Nothing was measured: no trial is complete. There is no answer yet."
    if plan.quick:
        seen = f" What it saw: {_comparison(measured, lead)}." if lead else ""
        was = f"This was a quick run of {describe.counted(trials, 'trial')} to see that it works"
        return f"{was}, so nothing is judged.{seen}"
    over = overload.sentence(measured)
    if lead is None:
        first, second = _capital(_single(measured, claims)), _standing(claims, trials)
    else:
        first = _capital(_comparison(measured, lead))
        second = ranking(measured, lead) or _span(measured, lead) or _standing(claims, trials)
    return f"{over} {first}. {second}".lstrip()


def metric_words(metric: str, plan: Plan) -> tuple[str, str]:
    """A metric's noun phrase (with its group, if there are several) and its unit."""
    groups = {group.name for cell in plan.cells for group in cell.groups}
    head, dot, rest = metric.partition(".")
    if dot and head in groups and rest in _WORDS:
        noun, unit = _WORDS[rest]
        return f"{noun} of {head}", unit
    return _WORDS.get(metric, (metric, ""))


def _comparison(measured: Measured, lead: Lead) -> str:
    """`throughput with cache off is 2.91x (2.70-3.12) that with cache on, at 20 sessions: ...`."""
    plan, ratio = measured.plan, lead.ratio
    noun, unit = metric_words(lead.metric, plan)
    left, right = (_with(plan, levels) for levels in (lead.left_levels, lead.right_levels))
    at = f", at {describe.levels(plan, lead.common)}" if lead.common else ""
    span = f" ({describe.interval(ratio.ci_low, ratio.ci_high, 1.0)})" if ratio.ci_low else ""
    size = f"{describe.ratio(ratio.ratio, *([] if _holds_one(ratio) else [1.0]))}x{span}"
    values = [
        describe.number(_mean(measured, cell.index, lead.metric))
        for cell in (lead.left, lead.right)
    ]
    against = " ".join(filter(None, [f"{values[0]} against {values[1]}", unit]))
    if span and _holds_one(ratio):
        assert ratio.ci_low is not None
        assert ratio.ci_high is not None
        margin = max(plan.matters, lead.margin)
        if max(1 / ratio.ci_low, ratio.ci_high) <= 1 + margin:
            most = describe.percent(margin)
            return f"{noun} {left} is within {most} of that {right}{at}: {size}, {against}"
        fits = f"{describe.bound(ratio.ci_low, 1.0)}x to {describe.bound(ratio.ci_high, 1.0)}x"
        return (
            f"it is not known whether {noun} {left} differs from that {right}{at}: anything from"
            f" {fits} fits the {describe.counted(ratio.n, 'block')} measured"
        )
    small = ", real but too small to matter" if lead.small else ""
    return f"{noun} {left} is {size} that {right}{at}{small}: {against}"


def _span(measured: Measured, lead: Lead) -> str:
    """How the ratio moves over the other levels; empty if there are none."""
    plan = measured.plan
    found = [(at, ratio) for at, ratio in elsewhere(measured, lead) if at]
    if len(found) < 2:
        return ""
    open_ones = sum(not clear(ratio) for _, ratio in found)
    if not clear(lead.ratio):
        how = "none" if open_ones == len(found) else f"{len(found) - open_ones}"
        shows = "show" if len(found) - open_ones > 1 else "shows"
        said = f"{_over(measured, lead, found, 'Of')}, {how} {shows} a clear difference"
        if open_ones < len(found):
            known = [item for item in found if clear(item[1])]
            at, ratio = max(known, key=lambda item: abs(math.log(item[1].ratio)))
            most = "the largest " if len(known) > 1 else ""
            said += f": {most}{describe.ratio(ratio.ratio)}x at {describe.levels(plan, at)}"
        return f"{said}."
    lowest = min(found, key=lambda item: item[1].ratio)
    highest = max(found, key=lambda item: item[1].ratio)
    over = _over(measured, lead, found, "Over")
    ends = [
        f"{describe.ratio(ratio.ratio)}x at {describe.levels(plan, at)}"
        for at, ratio in (lowest, highest)
    ]
    said = f"{over} the ratio lies between {ends[0]} and {ends[1]}"
    if open_ones:
        said += f"; at {open_ones} of them it is not known which way it goes"
    return f"{said}."


def _over(
    measured: Measured, lead: Lead, found: Sequence[tuple[dict[str, str], Ratio]], word: str
) -> str:
    """`Over the 4 levels of sessions`, `Of the 8 combinations of id_range and sessions`."""
    names = [
        describe.factor_word(name, measured.plan.factors)
        for name in lead.common
        if len({at[name] for at, _ in found}) > 1
    ]
    what = (
        f"levels of {names[0]}" if len(names) == 1 else f"combinations of {describe.listed(names)}"
    )
    return f"{word} the {len(found)} {what}"


def _standing(claims: Sequence[ClaimResult], trials: int) -> str:
    """How the claims stand."""
    if not claims:
        return f"It rests on {describe.counted(trials, 'trial')}; no claim was made."
    if len(claims) == 1:
        return f"The claim is {claims[0].verdict}."
    counts = Counter(claim.verdict for claim in claims)
    if len(counts) == 1:
        return f"All {len(claims)} claims are {claims[0].verdict}."
    parts = [f"{count} {verdict}" for verdict, count in counts.most_common()]
    return f"Of {len(claims)} claims, {describe.listed(parts)}."


_ONE_SIDED = {"": "", AT_LEAST: "at least ", AT_MOST: "below "}


def _single(measured: Measured, claims: Sequence[ClaimResult]) -> str:
    """The headline metric of the first cell that has it, where there is nothing to compare."""
    metric = headline_metric(measured, claims)
    for index in measured.cells:
        series = measured.series(index, metric)
        if series and measured.bound(index, metric) != NEITHER:
            noun, unit = metric_words(metric, measured.plan)
            bound = measured.bound(index, metric)
            one = estimate(list(series.values()), list(series), bound=bound)
            least = _ONE_SIDED[bound]
            text = f"{noun} is {least}{describe.number(one.mean)} {unit}".rstrip()
            if one.ci_low is not None and one.ci_high is not None:
                text += f" ({describe.number(one.ci_low)} to {describe.number(one.ci_high)})"
            at = describe.levels(measured.plan, measured.cell(index).levels)
            return f"{text}, at {at}" if at else text
    return f"{metric} was not measured"


def _mean(measured: Measured, cell: int, metric: str) -> float:
    values = list(measured.series(cell, metric).values())
    return sum(values) / len(values)


def _with(plan: Plan, levels: dict[str, str]) -> str:
    """`with cache off`, `at 16 sessions`, `on mariadb`."""
    words = describe.levels(plan, levels)
    if all(describe.factor_word(name, plan.factors) in describe.ENGINES for name in levels):
        return f"on {words}"
    return f"at {words}" if "session" in words and len(levels) == 1 else f"with {words}"


def _holds_one(ratio: Ratio) -> bool:
    low, high = ratio.ci_low, ratio.ci_high
    return ratio.n >= BLOCKS_MIN and low is not None and high is not None and low <= 1 <= high


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
